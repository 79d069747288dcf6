"""What a solution says beside its results: errors of its threads, and its log."""

import contextlib
import logging
import sys
import threading
from collections.abc import Generator


@contextlib.contextmanager
def own_errors() -> Generator[None]:
    """Let errors that nobody can catch go by: pytest would fail the whole run.

    They come from threads, and from iterators that are cleaned up. What they do to
    clients is what the tests see.
    """
    usual = threading.excepthook, sys.unraisablehook
    threading.excepthook = sys.unraisablehook = _ignore
    try:
        yield
    finally:
        threading.excepthook, sys.unraisablehook = usual


@contextlib.contextmanager
def logged(texts: list[str]) -> Generator[None]:
    """Add whatever is logged to a list, each record with its traceback."""
    handler = _Texts(texts)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)


class _Texts(logging.Handler):
    """Puts records into a list, as they would stand in a log."""

    def __init__(self, texts: list[str]) -> None:
        super().__init__()
        self._texts = texts

    def emit(self, record: logging.LogRecord) -> None:
        """Add a record."""
        self._texts.append(self.format(record))


def _ignore(_: object, /) -> None:
    """Take no notice."""
