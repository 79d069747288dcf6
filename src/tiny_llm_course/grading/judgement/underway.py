"""The call that is running, written where it outlives the process that runs it."""

import os
from pathlib import Path

from tiny_llm_course.grading.judgement.call import Call


class Underway:
    """Notes each call while it runs, in a file if there is one.

    Args:
        path: The file. It holds one call, so that noting costs two writes.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.last: Call | None = None
        self._file = path and os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)

    def begin(self, call: Call) -> None:
        """Note that a call is running."""
        self.last = call
        if self._file is not None:
            os.pwrite(self._file, f"{call.symbol}\n{call}\0".encode(), 0)

    def end(self) -> None:
        """Note that it has come back."""
        if self._file is not None:
            os.pwrite(self._file, b"\0", 0)
