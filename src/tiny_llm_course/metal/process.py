"""Runs a compiled kernel in a process of its own.

A kernel that crashes or never ends takes only that process along. Starting it takes a
few milliseconds, since it is no Python.
"""

import json
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiny_llm_course.catalogue import say
from tiny_llm_course.errors import CourseError
from tiny_llm_course.metal.program import simulator

Size = tuple[int, int, int]

PATIENCE_S = 90.0
"""How long a process may take at least, however short its limit: that is of time that
it computes, and ends it by itself, but other processes may leave it little of that."""

MISUSED = 2
"""The exit status for a job that is none."""

NO_ROOM = {3, -signal.SIGKILL}
"""The exit status for more memory than there is: the simulator's, or the system's."""

Report = dict[str, Any]
"""A line of the answer. What it holds is written by `faults.cpp` and `costs.cpp`."""


@dataclass(frozen=True)
class Buffer:
    """Memory that a kernel is called with.

    Args:
        name: Of the kernel's argument.
        space: `device` or `constant`.
        is_output: Whether the kernel may write it, and its bytes are in the answer.
        element_size: In bytes.
        num_elements: How many of them there are.
        values: The bytes it holds at first. None if nobody has written it.
    """

    name: str
    space: str
    is_output: bool
    element_size: int
    num_elements: int
    values: bytes | None

    def described(self) -> str:
        """Write it as `job.cpp` reads it."""
        role = "output" if self.is_output else "input"
        sizes = f"{self.element_size} {self.num_elements}"
        return f"{self.name} {self.space} {role} {sizes} {int(self.values is not None)}"


@dataclass(frozen=True)
class Job:
    """What is to be run.

    Args:
        library: The compiled kernel.
        grid: Its size in threads.
        threadgroup: Its size in threads.
        buffers: In the order of the kernel's arguments.
        seeds: One for each order of the threads that is tried.
        limit_s: For all of them together.
        compares_orders: Whether outputs that depend on the order are a fault.
        counts_costs: Whether what the kernel costs is counted.
    """

    library: Path
    grid: Size
    threadgroup: Size
    buffers: Sequence[Buffer]
    seeds: Sequence[int]
    limit_s: float
    compares_orders: bool
    counts_costs: bool

    def written(self) -> bytes:
        """Write it as `job.cpp` reads it."""
        lines = [
            f"library {self.library}",
            f"grid {' '.join(map(str, self.grid))}",
            f"threadgroup {' '.join(map(str, self.threadgroup))}",
            f"limit_s {self.limit_s}",
            f"counts_costs {int(self.counts_costs)}",
            f"compares_orders {int(self.compares_orders)}",
            f"seeds {len(self.seeds)} {' '.join(map(str, self.seeds))}",
            f"buffers {len(self.buffers)}",
            *(buffer.described() for buffer in self.buffers),
            "values\n",
        ]
        return "\n".join(lines).encode() + b"".join(
            buffer.values for buffer in self.buffers if buffer.values is not None
        )


@dataclass(frozen=True)
class Answer:
    """What came of a job.

    Args:
        faults: What is wrong with the kernel.
        costs: What its instructions have cost, if that was counted; the last is the
            rest.
        outputs: The bytes of each output. None if the process did not come so far.
    """

    faults: list[Report]
    costs: list[Report]
    outputs: list[bytes] | None


def run(job: Job) -> Answer:
    """Run a kernel, and wait for it.

    Raises:
        CourseError: Its buffers do not fit into memory.
    """
    try:
        ran = subprocess.run(
            [simulator()],
            input=job.written(),
            capture_output=True,
            timeout=max(job.limit_s * 10, PATIENCE_S),
            check=False,
        )
    except subprocess.TimeoutExpired:
        return _died("endless", "time")
    if ran.returncode in NO_ROOM:
        raise CourseError(say("metal.misuse.memory"))
    assert ran.returncode != MISUSED, ran.stderr.decode(errors="replace")
    if ran.returncode != 0:
        return _died("crash", _cause(ran.returncode))
    return _read(job, ran.stdout)


def _died(kind: str, details: str) -> Answer:
    return Answer([{"kind": kind, "details": details}], [], None)


def _cause(status: int) -> str:
    """Name what ended a process: the signal, as the simulator itself does."""
    number = -status if status < 0 else status - 128
    return "division" if number == signal.SIGFPE else "memory"


def _read(job: Job, said: bytes) -> Answer:
    text, _, rest = said.partition(b"outputs\n")
    reports: list[Report] = [json.loads(line) for line in text.splitlines()]
    outputs: list[bytes] = []
    for buffer in job.buffers:
        if buffer.is_output:
            size = buffer.element_size * buffer.num_elements
            outputs.append(rest[:size])
            rest = rest[size:]
    faults = [one for one in reports if "kind" in one]
    return Answer(faults, [one for one in reports if "kind" not in one], outputs)
