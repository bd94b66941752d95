"""Pictures of a segmentation: a page for the browser, a figure for papers, colours for the terminal.

.. code-block:: python

    from pathlib import Path

    from segmenter.view import page, plot

    Path("out.html").write_text(page(result, segmenter=segmenter), encoding="utf-8")
    plot(result).savefig("figure.pdf")
"""

from segmenter.view.figure import plot
from segmenter.view.pages import compare_page, labelled_page, page

__all__ = ["compare_page", "labelled_page", "page", "plot"]
