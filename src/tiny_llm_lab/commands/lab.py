"""`pdm run lab`: run an experiment of the course on your own machine."""

import importlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bars
from rich.table import Table

from tiny_llm_course.catalogue import say
from tiny_llm_course.commands.terminal import CourseCommand, need
from tiny_llm_course.errors import CourseError
from tiny_llm_course.solution import BrokenFileError, load_solution
from tiny_llm_course.unsolved import Unsolved
from tiny_llm_lab.wording import cell, worded

if TYPE_CHECKING:  # takes a second
    from tiny_llm_lab.experiments.experiment import Lab, Row

LABS = {
    "norm-eps": "norm_eps",
    "norm-speed": "norm_speed.lab",
    "norm-activations": "norm_activations",
    "ablate": "ablate",
    "matvec-ladder": "matvec_ladder",
    "kernel-times": "kernel_times",
    "operation-costs": "operation_costs",
    "worked-examples": "worked_examples",
    "inner-loops": "inner_loops",
    "step-costs": "step_costs",
    "paged-times": "paged_times",
    "speculation": "speculation",
    "sum-costs": "sum_costs",
    "bilingual": "bilingual",
}
"""Experiments, and the module of each."""

WIDTH = 120
"""The width of a table in a file or a pipe, in characters."""


@click.command("lab", cls=CourseCommand)
@click.argument("name", type=click.Choice(list(LABS)))
@click.option("--quick", is_flag=True)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
)
@click.option(
    "--solution",
    default="ref",
    show_default=True,
)
def command(name: str, *, quick: bool, out: Path | None, solution: str) -> int:
    """Run an experiment: it prints a table, and saves CSV and a figure."""
    need("matplotlib", "torch", "transformers")
    from tiny_llm_lab.experiments.experiment import begin, run

    lab: Lab = importlib.import_module(f"tiny_llm_lab.experiments.{LABS[name]}").LAB
    folder = out or Path("runs/labs") / (f"{name}-quick" if quick else name)
    found = load_solution(solution)
    typed = as_typed(name, solution, quick=quick)
    try:
        about = begin(lab, found, folder, typed, quick=quick)
        for line in in_words(about):
            click.echo(line, err=True)
        with new_bars() as bars:
            bar = bars.add_task(name)

            def show(done: int, total: int, case: str) -> None:
                bars.update(bar, completed=done, total=total, description=case or name)

            rows = run(lab, found, folder, show, quick=quick)
    except (Unsolved, BrokenFileError) as error:
        raise CourseError(say("lab.broken", error=error)) from error
    _print(lab, rows, about)
    click.echo("\n" + say("lab.kept", folder=folder))
    return 0


def _print(lab: "Lab", rows: "Sequence[Row]", about: Mapping[str, object]) -> None:
    """Print what an experiment has measured, and how to read it."""
    click.echo(f"\n{lab.question}\n")
    width = None if sys.stdout.isatty() else WIDTH
    screen = Console(width=width)
    screen.print(table_of(lab.summary(rows), about))
    if claims := lab.claims(rows):
        click.echo("\n" + say("lab.claims") + "\n")
        screen.print(table_of(claims, {}))
    for note in lab.notes:
        screen.print(f"\n{note}", highlight=False)


def new_bars() -> Bars:
    """Make the progress bar, which goes to stderr."""
    return Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=Console(stderr=True),
    )


def as_typed(name: str, solution: str, *, quick: bool) -> str:
    """Write the command without its defaults, and without the folder."""
    words = ["pdm run lab", name]
    words += ["--quick"] if quick else []
    words += ["--solution", solution] if solution != "ref" else []
    return " ".join(words)


def in_words(about: Mapping[str, object]) -> list[str]:
    """Write what is stored beside the rows, one line each."""
    return [
        say("lab.fact", name=worded("columns", key.replace("_", " ")), value=value)
        for key, value in about.items()
    ]


def table_of(
    rows: Sequence[Mapping[str, object]], about: Mapping[str, object]
) -> Table:
    """Lay out rows of equal columns as a table, with their origin as caption."""
    caption = "\n".join(in_words(about))
    table = Table(box=None, pad_edge=False, caption=caption, caption_justify="left")
    names = list(rows[0]) if rows else []
    for name in names:
        table.add_column(worded("columns", name))
    for row in rows:
        table.add_row(*(cell(row[name]) for name in names))
    return table
