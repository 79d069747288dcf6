"""From what the simulator reports to faults in the learner's words and lines."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tiny_llm_course.metal.faults import NOBODY, NOTHING, Fault, Side, Target, fault_of
from tiny_llm_course.metal.lines import Line, lines_of
from tiny_llm_course.metal.process import Report, Size
from tiny_llm_course.metal.shared_variables import shared_variables
from tiny_llm_course.metal.signature import HEADER_FILE, SOURCE_FILE


@dataclass(frozen=True)
class Reporter:
    """Knows of a run what its reports leave out.

    Args:
        library: The compiled kernel.
        source: The body of the kernel.
        header: What stands before it.
        grid: Its size in threads.
        threadgroup: Its size in threads.
    """

    library: Path
    source: str
    header: str
    grid: Size
    threadgroup: Size

    def faults(self, reports: Sequence[Report]) -> tuple[Fault, ...]:
        """Put reports into words: one for each mistake."""
        sides = [one[key] for one in reports for key in ("side", "other") if key in one]
        lines = lines_of(self.library, [side["place"] for side in sides])
        faults = [self._fault(one, lines) for one in reports]
        return tuple(_distinct(faults))

    def _fault(self, report: Report, lines: dict[int, Line]) -> Fault:
        kind, details = report["kind"], report["details"]
        here = self._side(report["side"], lines) if "side" in report else NOBODY
        there = self._side(report["other"], lines) if "other" in report else None
        target = Target(**_target(report["target"])) if "target" in report else NOTHING
        if here.action == "index":
            kind, target = _of_array(here.text, int(details), target)
            if target.buffer in self._shared():
                target = replace(target, space="threadgroup")
        return fault_of(kind, here, there, target, details)

    def _shared(self) -> set[str]:
        """Return the names of the arrays in threadgroup memory."""
        groups = shared_variables(self.source)
        return {variable.name for group in groups for variable in group}

    def _side(self, side: dict[str, Any], lines: dict[int, Line]) -> Side:
        line = lines.get(side["place"])
        file = line.file if line else SOURCE_FILE
        text = self.header if file == HEADER_FILE else self.source
        groups = [
            -(-n // size) for n, size in zip(self.grid, self.threadgroup, strict=True)
        ]
        group = _nth(side["group"], groups)
        own = [
            min(size, n - size * at)
            for n, size, at in zip(self.grid, self.threadgroup, group, strict=True)
        ]
        return Side(
            file=file,
            line=line.number if line else None,
            text=_line_of(text, line.number) if line else "",
            thread=_nth(side["thread"], own),
            threadgroup=group,
            action=side["action"],
        )


def _distinct(faults: Sequence[Fault]) -> Iterator[Fault]:
    """Leave out what is known of the same lines: a line is many instructions."""
    known: set[tuple[str, frozenset[object]]] = set()
    for one in faults:
        sides = [(side.file, side.line) for side in (one.here, one.there) if side]
        key = (one.kind, frozenset(sides or [(one.target.buffer, None)]))
        if key not in known:
            yield one
        known.add(key)


def _of_array(text: str, column: int, target: Target) -> tuple[str, Target]:
    """Return what is done to an array whose size the compiler knows, and which it is.

    Args:
        text: The line.
        column: Where the index stands in it, from 1 on.
        target: The index and the size.
    """
    before, after = text[: column - 1], text[column - 1 :]
    names = re.findall(r"[A-Za-z_]\w*", re.sub(r"\[[^\[\]]*\]", "", before))
    is_written = re.match(r"[^\]]*\](\[[^\]]*\])*\s*([-+*/%&|^]|<<|>>)?=(?!=)", after)
    kind = "out_of_bounds_write" if is_written else "out_of_bounds_read"
    name = names[-1] if names else ""
    return kind, Target(target.space, name, target.index, target.size)


def _target(target: dict[str, Any]) -> dict[str, Any]:
    return {
        **{k: target[k] for k in ("space", "buffer", "index")},
        "size": target["num_elements"],
    }


def _nth(number: int, box: Sequence[int]) -> Size:
    """Return the position of a number in a box, x running fastest."""
    x, y, _ = box
    return number % x, number // x % y, number // x // y


def _line_of(text: str, number: int) -> str:
    lines = text.splitlines()
    return lines[number - 1] if number <= len(lines) else ""
