"""`pdm run next`: what to do next."""

import click

from tiny_llm_course import progress
from tiny_llm_course.catalogue import say
from tiny_llm_course.commands.learning import (
    echo_symbol,
    echo_total,
    load_progress,
    task_options,
)
from tiny_llm_course.commands.terminal import CourseCommand
from tiny_llm_course.layout import fitted
from tiny_llm_course.places import here
from tiny_llm_course.progress import CHANGED, CLOSED, SKIPPED
from tiny_llm_course.syllabus import Task, select_tasks


@click.command("next", cls=CourseCommand)
@task_options
def command(week: int | None, day: int | None, task: int | None) -> int:
    """Say where you are and what to do next: chapter, file and line, commands."""
    chosen = select_tasks(week, day, task)
    standing = progress.statuses(here(), load_progress())
    echo_total(standing)
    num_changed = list(standing.values()).count(CHANGED)
    if num_changed > 1:
        click.echo(say("commands.next.changed", number=num_changed))
    click.echo()
    found = progress.first_open(standing, chosen if week else None)
    if not found and week is not None:
        click.echo(say("commands.next.selection_done"))
        found = progress.first_open(standing)
    if found:
        _echo_task(found, standing[found])
    else:
        _echo_all_done(standing)
    return 0


def _echo_task(task: Task, status: str) -> None:
    """Print what a task is about, and the file to work in."""
    status = say(f"commands.status.{status}")
    named = {"address": task.address.named, "title": task.title}
    click.echo(fitted(say("commands.next.task", **named, status=status)))
    click.echo(say("commands.next.chapter", command=task.chapter_command()))
    for symbol in task.parts:
        echo_symbol("commands.next.place", symbol)
    click.echo(say("commands.next.test", command=task.test_command))
    click.echo(say("commands.next.hint", command=task.hint_command))


def _echo_all_done(standing: dict[Task, str]) -> None:
    """Print that no task is open, and which ones were skipped."""
    click.echo(say("commands.next.all_done"))
    for task, status in standing.items():
        named = {"address": task.address.named, "title": task.title}
        if task.optional and status not in CLOSED:
            click.echo(say("commands.next.optional", **named))
        if status == SKIPPED:
            options = task.address.options
            click.echo(say("commands.next.skipped", **named, options=options))
