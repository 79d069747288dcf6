"""What is wrong with a kernel: which mistake, by which threads, in which lines."""

from dataclasses import dataclass
from typing import Any

from tiny_llm_course.catalogue import has, say

MOST_THREADS = 1024
"""In a threadgroup, on every GPU of Apple's."""

MOST_THREADGROUP_BYTES = 32768
"""The memory that a threadgroup has, on every GPU of Apple's."""

KINDS = (
    "language",
    "too_many_threads",
    "too_much_threadgroup_memory",
    "race",
    "divergent_barrier",
    "divergent_simd",
    "out_of_bounds_read",
    "out_of_bounds_write",
    "thread_beyond_array",
    "uninitialised_read",
    "unwritten_output",
    "misaligned",
    "write_to_constant",
    "absent_lane",
    "endless",
    "crash",
    "order_dependent",
)


@dataclass(frozen=True)
class Side:
    """One thread's part in a fault.

    Args:
        file: `kernel.metal` for the body, `header.metal` for the header.
        line: From 1 on. None where it is not known, or the thread has ended.
        text: The line.
        thread: Its position in the threadgroup.
        threadgroup: The position of the threadgroup in the grid.
        action: What it does there: an entry of the catalogue's table `metal.verbs` or
            `metal.elsewhere`.
    """

    file: str
    line: int | None
    text: str
    thread: tuple[int, int, int] | None = None
    threadgroup: tuple[int, int, int] | None = None
    action: str = ""

    def described(self) -> str:
        """Say who and where."""
        if self.thread is None or self.threadgroup is None:
            return say("metal.places.nobody")
        place = "nowhere" if self.line is None else "line"
        if self.line is not None and self.file != "kernel.metal":
            place = "header_line"
        return say(
            f"metal.places.{place}",
            thread=_shown(self.thread),
            group=_shown(self.threadgroup),
            line=self.line,
        )


@dataclass(frozen=True)
class Target:
    """What was accessed.

    Args:
        space: `device`, `constant`, `threadgroup` or `thread`.
        buffer: Its name. Empty for an array of a thread's own.
        index: In elements, which may be outside.
        size: The number of its elements.
    """

    space: str
    buffer: str
    index: int
    size: int


NOBODY = Side("kernel.metal", None, "")
NOTHING = Target("", "", 0, 0)


@dataclass(frozen=True)
class Fault:
    """A mistake of a kernel.

    Args:
        kind: One of `KINDS`.
        sentence: Explains it.
        here: Where it was noticed, and by whom.
        there: The other thread, if it takes two.
        target: What was accessed, if anything.
    """

    kind: str
    sentence: str
    here: Side = NOBODY
    there: Side | None = None
    target: Target = NOTHING

    @property
    def line(self) -> int | None:
        """The line of the source. None if there is none."""
        return self.here.line

    @property
    def text(self) -> str:
        """The text of that line."""
        return self.here.text

    @property
    def other_line(self) -> int | None:
        """The line of the other thread. None if there is none."""
        return self.there.line if self.there else None


def fault_of(
    kind: str, here: Side, there: Side | None, target: Target, details: str
) -> Fault:
    """Put a fault into words.

    Args:
        kind: One of `KINDS`.
        here: Where it was noticed.
        there: The other thread, if it takes two.
        target: What was accessed.
        details: What the simulator adds; its meaning depends on the kind.
    """
    other = there or NOBODY
    values: dict[str, Any] = {
        "here": here.described(),
        "there": other.described(),
        "details": details,
        "call": details or here.action,
        "what": _what(target),
        "buffer": target.buffer,
        "index": target.index,
        "size": target.size,
        "verb": _entry("verbs", here.action),
        "other_verb": _entry("verbs", other.action),
        "why": _why(here, other, target, details),
        "elsewhere": _elsewhere(kind, other, details),
        "circle": _entry("circles", here.action),
        "most": MOST_THREADGROUP_BYTES,
    }
    has_target = target.space or not has(f"metal.untargeted.{kind}")
    key = f"metal.{kind}" if has_target else f"metal.untargeted.{kind}"
    return Fault(kind, say(key, **values), here, there, target)


def _what(target: Target) -> str:
    if not target.space:
        return ""
    return say(
        f"metal.targets.{target.space}", buffer=target.buffer, index=target.index
    )


def _why(here: Side, there: Side, target: Target, details: str) -> str:
    """Say why nothing orders two accesses."""
    if here.threadgroup != there.threadgroup:
        return say("metal.why.other_group")
    return _entry("why", details or "no_barrier", space=target.space)


def _elsewhere(kind: str, there: Side, details: str) -> str:
    """Say what keeps a thread from coming, or what it crashed of."""
    if kind == "crash":
        return _entry("elsewhere", details)
    has_returned = there.action == "ended" and there.line is not None
    return _entry("elsewhere", "returned" if has_returned else there.action)


def _entry(table: str, name: str, **values: object) -> str:
    """Return a part of a sentence, empty where a fault has no such part."""
    key = f"metal.{table}.{name}"
    return say(key, **values) if name and has(key) else ""


def _shown(position: tuple[int, int, int]) -> str:
    """Write a position, without the axes that are not used."""
    x, y, z = position
    return str(x) if y == z == 0 else f"({x}, {y})" if z == 0 else f"({x}, {y}, {z})"
