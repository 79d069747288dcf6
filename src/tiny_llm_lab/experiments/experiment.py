"""Shared by all labs: cases are measured one by one, and saved at once.

A lab that was stopped continues with the cases missing from its CSV file.
"""

import contextlib
import multiprocessing
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import mlx.core as mx

from tiny_llm_course.catalogue import has, lines, say
from tiny_llm_course.solution import Solution
from tiny_llm_lab.corpus.rows import leave_interrupts_to_parent
from tiny_llm_lab.records import Kept, Row, Value
from tiny_llm_lab.wording import cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Show = Callable[[int, int, str], None]


def _no_rows(rows: Sequence[Row]) -> Sequence[Row]:
    """Return no further cases."""
    del rows
    return ()


def _nothing(solution: Solution, quick: bool) -> Mapping[str, Value]:
    """Return nothing about the machine."""
    del solution, quick
    return {}


@dataclass(frozen=True)
class Lab:
    """An experiment.

    Attributes:
        name: As in `pdm run lab NAME`.
        keys: The columns that identify a case.
        columns: The columns that are measured.
        cases: Returns all cases, or a few for a quick run.
        measure: Returns the rows of one case, on the solution under test.
        summary: Summarises the rows in a table for the screen.
        draw: Makes the figure.
        about: Returns facts about this machine, which are stored beside the rows. Its
            argument says whether the run is a quick one.
        claims: Returns a second table: claims of others, compared with the rows.
        more: Returns further cases that depend on the measured ones, in a full run.
        in_parallel: Whether cases may run in parallel: not where time is measured.
    """

    name: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    cases: Callable[[bool], Sequence[Row]]
    measure: Callable[[Row, Solution], Iterable[Row]]
    summary: Callable[[Sequence[Row]], Sequence[Row]]
    draw: Callable[[Sequence[Row]], "Figure"]
    about: Callable[[Solution, bool], Mapping[str, Value]] = _nothing
    claims: Callable[[Sequence[Row]], Sequence[Row]] = _no_rows
    more: Callable[[Sequence[Row]], Sequence[Row]] = _no_rows
    in_parallel: bool = False

    @property
    def question(self) -> str:
        """The question that it answers, in a sentence."""
        return say(f"lab.questions.{self.name}")

    @property
    def notes(self) -> list[str]:
        """How to read the tables, in sentences."""
        key = f"lab.notes.{self.name}"
        return lines(key) if has(key) else []

    def kept(self, folder: Path) -> Kept:
        """Open the files of earlier runs of this lab in a folder."""
        return Kept(folder, self.name, self.keys, self.columns)

    def measured(self, case: Row, solution: Solution) -> list[Row]:
        """Measure a case, and add its keys to its rows."""
        return [{**case, **row} for row in self.measure(case, solution)]


def begin(
    lab: Lab, solution: Solution, folder: Path, command: str, *, quick: bool
) -> Mapping[str, Value]:
    """Check that a folder belongs to this run, and record where its rows come from.

    Args:
        lab: The experiment.
        solution: Whose code is measured.
        folder: Gets NAME.json: the command, the machine, the date, and `Lab.about`.
        command: The command as typed.
        quick: Only a few cases.

    Returns:
        The content of the file.

    Raises:
        CourseError: The folder holds measurements of another command.
    """
    kept = lab.kept(folder)
    return kept.about(command) or kept.describe(command, lab.about(solution, quick))


def run(
    lab: Lab, solution: Solution, folder: Path, show: Show, *, quick: bool
) -> list[Row]:
    """Measure the missing cases, and draw the figure of all.

    Args:
        lab: The experiment.
        solution: Whose code is measured.
        folder: Gets NAME.csv, NAME.svg and NAME.png.
        show: Called with the number of finished cases, their total, and the next one.
        quick: Only a few cases.

    Raises:
        CourseError: The folder holds a file of that name from something else.
    """
    kept = lab.kept(folder)
    while missing := _missing(lab, kept, quick):
        num_done = len({kept.key(row) for row in kept.read()})
        num_cases = num_done + len(missing)
        with _measuring(lab, solution, missing) as measured:
            for number, case in enumerate(missing):
                words = ", ".join(map(cell, case.values()))
                show(num_done + number, num_cases, words)
                kept.append(next(measured))
        show(num_cases, num_cases, "")
    rows = kept.read()
    figure = lab.draw(rows)
    for kind in ("svg", "png"):
        figure.savefig(folder / f"{lab.name}.{kind}", dpi=160)
    return rows


def _missing(lab: Lab, kept: Kept, quick: bool) -> list[Row]:
    """Return the cases that are not measured yet."""
    rows = kept.read()
    done = {kept.key(row) for row in rows}
    more = () if quick else lab.more(rows)
    return [case for case in (*lab.cases(quick), *more) if kept.key(case) not in done]


def num_processes(lab: Lab) -> int:
    """Return how many cases run in parallel: one per core, if there is no GPU."""
    is_on_cpu = mx.default_device() == mx.cpu
    return os.cpu_count() or 1 if lab.in_parallel and is_on_cpu else 1


@contextlib.contextmanager
def _measuring(
    lab: Lab, solution: Solution, cases: Sequence[Row]
) -> Generator[Iterator[list[Row]]]:
    """Yield the rows of cases, in the order of the cases."""
    if num_processes(lab) == 1:
        yield (lab.measured(case, solution) for case in cases)
        return
    context = multiprocessing.get_context("spawn")
    worker = (lab, solution.folder, solution.package)
    with (
        _environment(OPENBLAS_NUM_THREADS="1"),
        context.Pool(num_processes(lab), _become_worker, worker) as pool,
    ):
        yield pool.imap(_measured_by_worker, cases)


_work: tuple[Lab, Solution]
"""The lab and solution of a worker process."""


def _become_worker(lab: Lab, folder: Path, package: str) -> None:
    """Load the solution once per process."""
    global _work  # noqa: PLW0603
    leave_interrupts_to_parent()
    _work = (lab, Solution(folder, package))


def _measured_by_worker(case: Row) -> list[Row]:
    """Measure one case in a process of the pool."""
    lab, solution = _work
    return lab.measured(case, solution)


@contextlib.contextmanager
def _environment(**variables: str) -> Generator[None]:
    """Set environment variables for processes started inside the `with` block."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
