"""The worked examples of Week 2: programs in C++ that time themselves.

They are in `src/worked_examples`. Each prints what it has timed, where the numbers
were, and the nanoseconds.
"""

import os
import platform
import subprocess
from collections.abc import Iterable, Sequence

from matplotlib.figure import Figure

from tiny_llm_course.errors import CourseError
from tiny_llm_course.extension.programs import COMPILER, Program
from tiny_llm_course.places import SHARED_KERNELS, WORKED_EXAMPLES
from tiny_llm_course.solution import Solution
from tiny_llm_lab.experiments.experiment import Lab
from tiny_llm_lab.records import Row

HEADERS = (WORKED_EXAMPLES.parent, SHARED_KERNELS)
PLAIN, NATIVE, KERNEL = "plain", "native", "kernel"
"""For any processor of this kind, for the one that compiles, and as the kernels are."""

AVX2 = "avx2"
"""For any processor once more, but told to use no registers of 64 bytes."""

ANY = ("-std=c++20", "-O3", "-pthread", "-ffp-contract=fast")
ON_ARM = platform.machine() in {"arm64", "aarch64"}
FOR_THIS_ONE = "-mcpu=native" if ON_ARM else "-march=native"
NO_TRAPS = ("-fno-trapping-math", "-fno-math-errno")
OPTIONS = {PLAIN: ANY, NATIVE: (*ANY, FOR_THIS_ONE), KERNEL: (*ANY, *NO_TRAPS)}
TOLD = {AVX2: {"TINY_LLM_INSTRUCTIONS": "avx2"}}

CASES = (
    ("three_loops", PLAIN),
    ("three_loops", NATIVE),
    ("byte_matrix", PLAIN),
    ("byte_product", PLAIN),
    ("byte_product", AVX2),
    ("passes", PLAIN),
    ("passes", KERNEL),
    ("log_sum_exp", PLAIN),
)


def program(name: str, built_for: str) -> Program:
    """Return an example, to be compiled for one kind of processor."""
    if COMPILER is None:
        raise CourseError("there is no compiler for C++; `pdm run doctor` says more")
    source = WORKED_EXAMPLES / f"{name}.cpp"
    return Program(source, HEADERS, f"worked-{built_for}", OPTIONS[built_for])


def cases(quick: bool) -> list[Row]:
    """Return the programs, and what they are compiled for."""
    chosen = CASES[: 1 if quick else None]
    return [{"program": name, "built_for": kind} for name, kind in chosen]


def measure(case: Row, solution: Solution) -> Iterable[Row]:
    """Run one program, and read what it prints."""
    del solution
    kind = str(case["built_for"])
    example = program(str(case["program"]), kind if kind in OPTIONS else PLAIN)
    told = os.environ | TOLD.get(kind, {})
    ran = subprocess.run(
        [example.compiled()], env=told, stdout=subprocess.PIPE, text=True, check=True
    )
    return rows_of(ran.stdout)


def rows_of(printed: str) -> list[Row]:
    """Read the lines of a program: two names in fixed columns, and a number."""
    _, *lines = printed.splitlines()
    return [
        {
            "what": line[:26].strip(),
            "numbers_in": line[27:39].strip(),
            "time_ns": float(line[39:]),
        }
        for line in lines
    ]


def summary(rows: Sequence[Row]) -> Sequence[Row]:
    """Return all rows: there are few."""
    return rows


def draw(rows: Sequence[Row]) -> Figure:
    """Draw the times on a logarithmic axis."""
    figure = Figure(figsize=(6, 0.8 + 0.2 * len(rows)), layout="constrained")
    axes = figure.subplots()
    places = range(len(rows))[::-1]
    names = [f"{row['what']}, {row['numbers_in']} ({row['built_for']})" for row in rows]
    axes.barh(places, [float(row["time_ns"]) for row in rows])
    axes.set_yticks(places, names)
    axes.set(xscale="log", xlabel="nanoseconds")
    return figure


LAB = Lab(
    "worked-examples",
    ("program", "built_for"),
    ("what", "numbers_in", "time_ns"),
    cases,
    measure,
    summary,
    draw,
)
