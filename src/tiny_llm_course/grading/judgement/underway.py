"""Records the call that is running, in a file that survives a crash."""

import os
from pathlib import Path

from tiny_llm_course.grading.judgement.call import Call


class Underway:
    """Records each call while it runs, in a file if one is given.

    Args:
        path: The file. It holds one call, so recording costs two writes.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.last: Call | None = None
        self._file = path and os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)

    def begin(self, call: Call) -> None:
        """Record that a call is running."""
        self.last = call
        if self._file is not None:
            os.pwrite(self._file, f"{call.symbol}\n{call}\0".encode(), 0)

    def end(self) -> None:
        """Record that it has returned."""
        if self._file is not None:
            os.pwrite(self._file, b"\0", 0)
