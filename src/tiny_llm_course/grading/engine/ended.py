"""Reports a test that crashed or hung: the call that was running, and its line."""

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
"""Characters of stderr that are shown: enough for the C++ library's last message."""


@dataclass(frozen=True)
class Ended:
    """How a process ended in the middle of a test.

    Attributes:
        how: The signal, or the exit code. None if we stopped it because it hung.
        complaint: The end of its stderr.
        after_s: The least time that the test had been running.
    """

    how: str | None
    complaint: str
    after_s: float

    @property
    def by_signal(self) -> bool:
        """Whether a signal of the system ended it."""
        return self.how is not None and self.how.startswith("SIG")


def how_it_ended(code: int) -> str:
    """Name the signal or the exit code with which a process ended."""
    return (
        signal.Signals(-code).name if code < 0 else say("grading.no_reason", code=code)
    )


def tell(running: Result, ended: Ended, trace: Trace, folder: Path) -> str:
    """Return the message for a test that did not finish.

    Args:
        running: The test.
        ended: How its process ended.
        trace: The trace files of the process.
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
    """Describe how a process ended.

    Args:
        ended: How it ended.
        seconds: How long the call had been running, if there was one.
    """
    if ended.how is not None:
        return say("grading.killed", how=ended.how)
    if seconds is None:
        return say("grading.no_time", seconds=ended.after_s)
    return say("grading.no_time_in_call", seconds=seconds)


def _own_lines(trace: Trace, folder: Path) -> Iterator[str]:
    """Yield the solution's lines on the stack of a process, the innermost first."""
    for found in _FRAME.finditer(trace.stack()):
        file, line, name = Path(found[1]), int(found[2]), found[3]
        if file.is_relative_to(folder):
            code = getline(str(file), line).strip()
            yield say("grading.frame", file=file.name, line=line, name=name, code=code)
