"""Reading documents whose sections are known: rows of data sets, and files that have headings.

.. code-block:: python

    for document in read_documents(["handbook/", "more/*.jsonl"]):
        ...
"""

from segmenter.reading.sources import SkippedRow, read_documents

__all__ = ["SkippedRow", "read_documents"]
