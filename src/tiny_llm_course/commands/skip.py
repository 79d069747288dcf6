"""`pdm run skip`: go on without having solved a task."""

import click

from tiny_llm_course import progress
from tiny_llm_course.catalogue import say
from tiny_llm_course.commands.learning import (
    echo_copies,
    echo_symbol,
    load_progress,
    task_options,
)
from tiny_llm_course.commands.terminal import CourseCommand
from tiny_llm_course.editing.plans import plan
from tiny_llm_course.editing.saving import write
from tiny_llm_course.errors import CourseError
from tiny_llm_course.places import here
from tiny_llm_course.progress import CLOSED
from tiny_llm_course.syllabus import Task, select_tasks, task_at, tasks


@click.command("skip", cls=CourseCommand)
@task_options
def command(week: int | None, day: int | None, task: int | None) -> int:
    """Put in the course's solution of a task or of a day, so that later days work."""
    chosen = select_tasks(week, day, task)
    if day is None:
        raise CourseError(say("commands.skip.how_much"))
    for one in chosen:
        if task or one.shares_files or not one.optional:
            _skip(one)
    return 0


def _skip(chosen: Task) -> None:
    """Put in the solution of one task, unless it is done or skipped already."""
    known = load_progress()
    status = progress.status(here(), known, chosen)
    if status in CLOSED:
        click.echo(say(f"commands.skip.{status}", address=chosen.address.named))
        return
    changes = plan(here(), chosen.parts, to_stub=False)
    copies = write(changes, here().copies)
    solved = [one for one in tasks() if _is_solved_with(chosen, one)]
    progress.skip(here(), known, solved)
    _report(chosen, solved, [task_at(address) for address in chosen.builds_on])
    echo_copies(copies)


def _is_solved_with(chosen: Task, other: Task) -> bool:
    """Tell whether a task's solution also solves another task of the same day.

    A later day may return to the same code with more to learn, so it does not count.
    """
    own, its = chosen.address, other.address
    is_of_the_day = (own.week, own.day) == (its.week, its.day)
    return is_of_the_day and set(other.parts) <= set(chosen.parts)


def _report(chosen: Task, solved: list[Task], below: list[Task]) -> None:
    """Print what has been put in, and which tasks that still depends on."""
    for symbol in chosen.parts:
        echo_symbol("commands.skip.put_in", symbol)
    for task in solved:
        click.echo(
            say("commands.skip.marked", address=task.address.named, title=task.title)
        )
    standing = progress.statuses(here(), load_progress())
    for task in below:
        if standing[task] not in CLOSED:
            named = {"address": task.address.named, "title": task.title}
            click.echo(say("commands.skip.builds_on", **named))
