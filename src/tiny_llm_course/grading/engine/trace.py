"""Trace files of a grading process, for the process that waits for it."""

import faulthandler
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

SHOW_STACK = signal.SIGUSR1
"""The signal that asks a process for its stack."""

STACK_WAIT_S = 1.0


@dataclass(frozen=True)
class Noted:
    """A call that has not returned.

    Attributes:
        symbol: The called name, as "file.name".
        text: The call, as code.
        seconds: How long it has been running.
    """

    symbol: str
    text: str
    seconds: float

    @property
    def is_of_a_kernel(self) -> bool:
        """Whether it calls a C++ kernel."""
        return self.symbol.startswith("kernels.")


@dataclass(frozen=True)
class Trace:
    """The trace files of a grading process, beside the file with its results.

    Attributes:
        results: The file with the results.
    """

    results: Path

    @property
    def note(self) -> Path:
        """The file with the call that is running."""
        return self.results.with_suffix(".call")

    @property
    def _stack(self) -> Path:
        return self.results.with_suffix(".stack")

    def clear(self) -> None:
        """Remove the files of the last process."""
        self.note.unlink(missing_ok=True)
        self._stack.unlink(missing_ok=True)

    def leave_stack(self) -> None:
        """Make this process write its stack when it crashes, and on request.

        The file stays open until the process ends, as `faulthandler` requires.
        """
        file = os.open(self._stack, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        faulthandler.enable(file)
        faulthandler.register(SHOW_STACK, file)

    def ask_for_stack(self, pid: int) -> None:
        """Make a process write its stack, and wait until it has."""
        if not self._stack.exists():
            return
        os.kill(pid, SHOW_STACK)
        end_s, size = time.monotonic() + STACK_WAIT_S, 0
        while time.monotonic() < end_s:
            time.sleep(0.05)
            before, size = size, self._stack.stat().st_size
            if 0 < before == size:
                return

    def stack(self) -> str:
        """Return the stack that a process has written, if any."""
        if not self._stack.exists():
            return ""
        return self._stack.read_text("utf-8", errors="replace")

    def call(self) -> Noted | None:
        """Return the call that was running, if one was."""
        if not self.note.exists():
            return None
        seconds = time.time() - self.note.stat().st_mtime
        text = self.note.read_bytes().partition(b"\0")[0].decode(errors="replace")
        symbol, _, call = text.partition("\n")
        return Noted(symbol, call, seconds) if call else None
