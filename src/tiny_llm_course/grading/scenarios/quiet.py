"""Threads of a solution that end with an error, which is the solution's own."""

import contextlib
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


def _ignore(_: object, /) -> None:
    """Take no notice."""
