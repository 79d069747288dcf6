"""What the compiler makes of the inner loops of the worked examples."""

import itertools
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from tiny_llm_course.errors import CourseError
from tiny_llm_course.solution import Solution
from tiny_llm_lab.experiments.experiment import Lab
from tiny_llm_lab.experiments.worked_examples import KERNEL, PLAIN, program
from tiny_llm_lab.records import Row

FUNCTIONS = {
    "byte_matrix": (
        "rows_plain",
        "rows_of_four",
        "rows_converted",
        "rows_in_lanes",
        "rows_in_wide_lanes",
        "rows_in_bytes",
        "rows_with_vnni",
    ),
    "byte_product": (
        "panel_in_loops",
        "panel_in_lanes",
        "float_tile_avx512<12>",
        "byte_tile",
        "byte_tile_vnni",
    ),
    "passes": ("blend_wide", "bell_called", "bell_inlined", "bell_wide"),
    "log_sum_exp": (
        "rows_online",
        "rows_with_polynomial",
        "scores_in_4_lanes",
        "rows_in_4_lanes",
        "scores_in_16_lanes",
        "rows_in_16_lanes",
    ),
}
"""The functions of each program, in the order in which its chapter climbs them.

No two have the same name.
"""

AS_KERNELS = {"blend_wide", "bell_wide"}
"""Functions that are shown as compiled with the options of the kernels."""

_LINE = re.compile(
    r"^[ \t]*([0-9a-f]+):\s+(\S+)[ \t]*([^#<\n]*)(?:<(\w+)@plt>)?", re.MULTILINE
)


@dataclass(frozen=True)
class Instruction:
    """A line of a disassembled function.

    Attributes:
        address: Where it is.
        name: What it does, such as "vpdpbusd".
        operands: What it does it with. Of a call to a library, the function.
    """

    address: int
    name: str
    operands: str

    @property
    def target(self) -> int | None:
        """Where it jumps to. None if it does not jump."""
        is_jump = self.name.startswith("j") and self.operands
        return int(self.operands, 16) if is_jump else None


def cases(quick: bool) -> list[Row]:
    """Return the functions."""
    names = [name for own in FUNCTIONS.values() for name in own]
    return [{"function": name} for name in names[: 1 if quick else None]]


def program_of(function: str) -> str:
    """Return the program that a function is in."""
    return next(name for name, own in FUNCTIONS.items() if function in own)


def measure(case: Row, solution: Solution) -> Iterable[Row]:
    """Return the instructions of the inner loop of one function."""
    del solution
    if not shutil.which("objdump"):
        raise CourseError("expected the program objdump; it comes with binutils")
    function = str(case["function"])
    built_for = KERNEL if function in AS_KERNELS else PLAIN
    compiled = program(program_of(function), built_for).compiled()
    command = ["objdump", "-d", "--no-show-raw-insn", "-C", str(compiled)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    for number, one in enumerate(inner_loop(ran.stdout, function), 1):
        text = f"{one.name} {one.operands}".strip()
        yield {"line": number, "instruction": text}


def inner_loop(disassembled: str, function: str) -> Sequence[Instruction]:
    """Return the longest loop of a function that has no other loop inside.

    Args:
        disassembled: What objdump prints of a program.
        function: Its name, without its namespace. Of one that `wide.h` compiles several
            times, the copy for the widest registers is taken.

    Raises:
        KeyError: There is no such function, or it has no loop.
    """
    # A template is listed with what it returns.
    starts = (
        re.search(
            rf"^[0-9a-f]+ <{before}worked::{re.escape(function)}\(", disassembled, re.M
        )
        for before in ("void tiny_llm::wide::run_avx512<", "(?:void )?")
    )
    start = next(filter(None, starts), None)
    if start is None:
        raise KeyError(function)
    text, *_ = disassembled[start.start() :].split("\n\n", 1)
    lines = [
        Instruction(int(at, 16), name, library or operands.strip())
        for at, name, operands, library in _LINE.findall(text)
    ]
    ends = [
        (lines.index(one), one.target)
        for one in lines
        if one.target is not None and one.target <= one.address
    ]
    loops = [
        lines[first : end + 1]
        for end, target in ends
        for first in (next(i for i, one in enumerate(lines) if one.address == target),)
        if not any(first <= other < end for other, _ in ends)
    ]
    if not loops:
        raise KeyError(function)
    return max(loops, key=len)


def summary(rows: Sequence[Row]) -> Sequence[Row]:
    """Return all rows: they are the listing."""
    return rows


def draw(rows: Sequence[Row]) -> Figure:
    """Draw how many instructions each inner loop has."""
    grouped = itertools.groupby(rows, key=lambda row: str(row["function"]))
    lengths = {name: len(list(own)) for name, own in grouped}
    figure = Figure(figsize=(5, 2.4), layout="constrained")
    axes = figure.subplots()
    axes.barh(list(lengths)[::-1], list(lengths.values())[::-1])
    axes.set(xlabel="instructions of the inner loop")
    return figure


LAB = Lab(
    "inner-loops",
    ("function",),
    ("line", "instruction"),
    cases,
    measure,
    summary,
    draw,
)
