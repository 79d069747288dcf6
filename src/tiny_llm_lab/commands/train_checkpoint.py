"""`pdm run train-checkpoint`: train the embedded model again."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from tiny_llm_course.commands.terminal import SEEDS, CourseCommand, need

if TYPE_CHECKING:
    from tiny_llm_lab.training.train_checkpoint import Progress, Show


@click.command(name="train-checkpoint", cls=CourseCommand)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs/checkpoint"),
    show_default=True,
    help="Folder to work in. A run that was stopped continues from there.",
)
@click.option(
    "--steps",
    type=click.IntRange(1, 10**6),
    help="Steps to train. The default takes up to an hour on two CPU cores.",
)
@click.option("--seed", type=SEEDS, help="Seed of text, weights and samples.")
@click.option("--quick", is_flag=True, help="A toy of seconds, to see that it works.")
@click.option(
    "--install",
    "to_install",
    is_flag=True,
    help="Put the result in the place of the embedded checkpoint.",
)
def command(
    out: Path, steps: int | None, seed: int | None, quick: bool, to_install: bool
) -> int:
    """Train the embedded model again: text, tokenizer, weights and model card.

    Ctrl-C stops the training; the same command continues it. Where PyTorch sees a
    GPU it is used.
    """
    need("torch", "transformers")
    from tiny_llm_course.checkpoint import EMBEDDED
    from tiny_llm_lab.training.checkpoint_files import install
    from tiny_llm_lab.training.recipe import QUICK, Recipe
    from tiny_llm_lab.training.train_checkpoint import train_checkpoint

    recipe = QUICK if quick else Recipe()
    recipe = replace(recipe, steps=steps or recipe.steps)
    recipe = replace(recipe, seed=recipe.seed if seed is None else seed)
    with new_bars() as bars:
        folder = train_checkpoint(recipe, out, show_on(bars), 2 if quick else 200)
    if to_install:
        install(folder, EMBEDDED)
        folder = EMBEDDED
    click.echo(folder)
    return 0


def new_bars() -> Bars:
    """Make the progress bars, which go to stderr."""
    return Bars(
        TextColumn("{task.description:16}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=Console(stderr=True),
    )


def show_on(bars: Bars) -> "Show":
    """Return a function that shows the progress of each stage on its own bar."""
    tasks = {}

    def show(progress: "Progress") -> None:
        if progress.stage not in tasks:
            tasks[progress.stage] = bars.add_task(progress.stage, note="")
        bars.update(
            tasks[progress.stage],
            completed=progress.done,
            total=progress.total,
            note=progress.note,
        )

    return show
