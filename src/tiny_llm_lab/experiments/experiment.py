"""What every lab shares: cases that are measured one by one, and kept as they come.

A lab that was stopped goes on with the cases that its CSV file does not have yet.
"""

import contextlib
import multiprocessing
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import mlx.core as mx

from tiny_llm_course.solution import Solution
from tiny_llm_lab.corpus.rows import leave_interrupts_to_parent
from tiny_llm_lab.records import Kept, Row, Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Show = Callable[[int, int, str], None]


def _no_rows(rows: Sequence[Row]) -> Sequence[Row]:
    """Have nothing to add."""
    del rows
    return ()


def _nothing(solution: Solution, quick: bool) -> Mapping[str, Value]:
    """Have nothing to say before the first case."""
    del solution, quick
    return {}


@dataclass(frozen=True)
class Lab:
    """An experiment.

    Attributes:
        name: As in `pdm run lab NAME`.
        question: What it finds out, in a sentence.
        keys: The columns that tell the cases apart.
        columns: The columns that are measured.
        cases: Returns the cases, all of them or a few that show the same.
        measure: Returns the rows of one case, on the solution under test.
        summary: Boils the rows down to the table on the screen.
        draw: Makes the figure.
        about: Returns what is to be known of this machine, and is kept beside the rows.
            Is told whether the run is a quick one.
        claims: Returns a second table: what others say, beside what the rows say.
        more: Returns the cases that follow from what was measured, in a full run.
        notes: How to read the tables, in sentences.
        in_parallel: Whether cases may run side by side: not where time is measured.
    """

    name: str
    question: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    cases: Callable[[bool], Sequence[Row]]
    measure: Callable[[Row, Solution], Iterable[Row]]
    summary: Callable[[Sequence[Row]], Sequence[Row]]
    draw: Callable[[Sequence[Row]], "Figure"]
    about: Callable[[Solution, bool], Mapping[str, Value]] = _nothing
    claims: Callable[[Sequence[Row]], Sequence[Row]] = _no_rows
    more: Callable[[Sequence[Row]], Sequence[Row]] = _no_rows
    notes: tuple[str, ...] = ()
    in_parallel: bool = False

    def kept(self, folder: Path) -> Kept:
        """Open what runs of this lab have left in a folder."""
        return Kept(folder, self.name, self.keys, self.columns)

    def measured(self, case: Row, solution: Solution) -> list[Row]:
        """Measure a case, and put what it is into its rows."""
        return [{**case, **row} for row in self.measure(case, solution)]


def begin(
    lab: Lab, solution: Solution, folder: Path, command: str, *, quick: bool
) -> Mapping[str, Value]:
    """Make sure that a folder is one of this run, and write down what it is about.

    Args:
        lab: The experiment.
        solution: Whose code is measured.
        folder: Gets NAME.json: the command, the machine, the date, and `Lab.about`.
        command: What was typed.
        quick: Only a few cases.

    Returns:
        What the file says.

    Raises:
        CourseError: The folder holds what another command has measured.
    """
    kept = lab.kept(folder)
    return kept.about(command) or kept.describe(command, lab.about(solution, quick))


def run(
    lab: Lab, solution: Solution, folder: Path, show: Show, *, quick: bool
) -> list[Row]:
    """Measure what is not measured yet, and draw the figure of all there is.

    Args:
        lab: The experiment.
        solution: Whose code is measured.
        folder: Gets NAME.csv, NAME.svg and NAME.png.
        show: Is told how many cases are done, of how many, and what comes next.
        quick: Only a few cases.

    Raises:
        CourseError: The folder holds a file of that name that is not of this lab.
    """
    kept = lab.kept(folder)
    while missing := _missing(lab, kept, quick):
        num_done = len({kept.key(row) for row in kept.read()})
        num_cases = num_done + len(missing)
        with _measuring(lab, solution, missing) as measured:
            for number, case in enumerate(missing):
                words = ", ".join(map(str, case.values()))
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
    """Return how many cases run side by side: one per core, if there is no GPU."""
    is_on_cpu = mx.default_device() == mx.cpu
    return os.cpu_count() or 1 if lab.in_parallel and is_on_cpu else 1


@contextlib.contextmanager
def _measuring(
    lab: Lab, solution: Solution, cases: Sequence[Row]
) -> Generator[Iterator[list[Row]]]:
    """Measure cases, in their order."""
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
"""What a process of the pool works on."""


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
    """Set environment variables for the processes that are started meanwhile."""
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
