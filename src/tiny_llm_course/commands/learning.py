"""Shared by the learner's commands: options that select tasks, and progress."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from tiny_llm_course import progress
from tiny_llm_course.catalogue import say
from tiny_llm_course.commands.terminal import DAY, with_options
from tiny_llm_course.editing.lookup import link_to
from tiny_llm_course.editing.saving import sweep
from tiny_llm_course.extension.sources import KERNELS
from tiny_llm_course.grading.report.standing import DONE, TaskReport
from tiny_llm_course.places import here
from tiny_llm_course.progress import SKIPPED, Progress
from tiny_llm_course.syllabus import Address, Task, name_of

task_options = with_options(
    click.option("--week", type=int),
    click.option("--day", type=DAY),
    click.option("--task", type=int),
)
"""Adds the options that select tasks."""


def load_progress() -> Progress:
    """Read the learner's progress. Print a note if the file is damaged."""
    _sweep()
    found, copy = progress.load(here())
    _report_damage(copy)
    return found


def remember(
    reports: Sequence[TaskReport],
    graded: dict[Address, str],
    pytest_args: Sequence[str] = (),
) -> None:
    """Save the results of a run on the learner's package.

    Args:
        reports: The results of the tasks.
        graded: What `progress.before` returned before the run.
        pytest_args: The arguments that were passed on to pytest.
    """
    _sweep()
    _report_damage(progress.record(here(), reports, graded, pytest_args))


def with_skipped(reports: Sequence[TaskReport]) -> list[TaskReport]:
    """Mark the tasks of the learner's package whose code `pdm run skip` put in."""
    known = load_progress()
    return [
        replace(one, is_skipped=progress.is_skipped(here(), known, one.task))
        for one in reports
    ]


def echo_total(standing: dict[Task, str]) -> None:
    """Print how many tasks are done."""
    found = [status for task, status in standing.items() if not task.optional]
    done, skipped, total = found.count(DONE), found.count(SKIPPED), len(found)
    key = "commands.total_skipped" if skipped else "commands.total"
    click.echo(say(key, done=done, skipped=skipped, total=total))


def echo_symbol(key: str, symbol: str) -> None:
    """Print a message about a symbol, with its location."""
    name = name_of(symbol)
    click.echo(say(key, place=link_to(here(), symbol), name=name))


def echo_copies(folder: Path | None) -> None:
    """Print where the copies of replaced files are, if any were replaced."""
    if folder:
        click.echo(say("commands.copies", folder=here().link(folder)))


def _sweep() -> None:
    """Remove half-written files of commands that were killed."""
    checkout = here()
    sweep(checkout.root, checkout.starter, checkout.kernels / KERNELS)


def _report_damage(copy: Path | None) -> None:
    """Print a note if the progress file was damaged."""
    if copy:
        click.echo(say("commands.damaged", copy=here().link(copy)), err=True)
