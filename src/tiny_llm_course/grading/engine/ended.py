"""Says of a test that did not come back what it was doing, and where."""

import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from linecache import getline
from pathlib import Path

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.engine.trace import Trace
from tiny_llm_course.grading.results import Result
from tiny_llm_course.untrusted import visible

_FRAME = re.compile(r'File "(.*)", line (\d+) in (.*)')

MAX_LAST_LINES = 3
"""Of what a process has complained of: as much as the C++ library says when it ends."""


@dataclass(frozen=True)
class Ended:
    """How a process ended in the middle of a test.

    Attributes:
        how: The signal, or the exit code. None if it was stopped, because it did not
            end.
        complaint: What it wrote to stderr last.
        after_s: How long the test had been running at least.
    """

    how: str | None
    complaint: str
    after_s: float

    @property
    def by_signal(self) -> bool:
        """Whether the system has ended it, for what it did."""
        return self.how is not None and self.how.startswith("SIG")


def how_it_ended(code: int) -> str:
    """Name the signal or the exit code with which a process ended."""
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def tell(running: Result, ended: Ended, trace: Trace, folder: Path) -> str:
    """Say why a test has no result.

    Args:
        running: The test.
        ended: How its process ended.
        trace: What the process has left behind.
        folder: The solution.
    """
    call = trace.call()
    lines = [call.text] if call else []
    lines.append(f"  {_reason(ended, call.seconds if call else None)}")
    own = list(_own_lines(trace, folder))
    lines += [f"  {line}" for line in own[:1]]
    if ended.complaint.strip():
        words = " ".join(ended.complaint.strip().splitlines()[-MAX_LAST_LINES:])
        lines.append("  " + say("grading.said_last", words=visible(words)))
    if call and call.is_of_a_kernel and ended.how is None:
        lines.append("  " + say("grading.hang"))
    if ended.by_signal and not own and not (call and call.is_of_a_kernel):
        lines.append("  " + say("grading.crash_in_mlx"))
    lines.append("  " + say("grading.in_test", test=running.test.rpartition("::")[2]))
    return "\n".join(lines)


def _reason(ended: Ended, seconds: float | None) -> str:
    """Say how a process ended.

    Args:
        ended: How it did.
        seconds: How long the call had been running, if there was one.
    """
    if ended.how is not None:
        return say("grading.killed", how=ended.how)
    if seconds is None:
        return say("grading.no_time", seconds=ended.after_s)
    return say("grading.no_time_in_call", seconds=seconds)


def _own_lines(trace: Trace, folder: Path) -> Iterator[str]:
    """Yield the lines of a solution that a process was at, the innermost first."""
    for found in _FRAME.finditer(trace.stack()):
        file, line, name = Path(found[1]), int(found[2]), found[3]
        if file.is_relative_to(folder):
            code = getline(str(file), line).strip()
            yield f"{file.name}, line {line}, in {name}: {code}"
