"""`pdm run reset`: start a task again."""

import click

from tiny_llm_course.catalogue import say
from tiny_llm_course.commands.learning import (
    echo_copies,
    echo_symbol,
    task_options,
)
from tiny_llm_course.commands.terminal import CourseCommand
from tiny_llm_course.editing.lookup import is_untouched
from tiny_llm_course.editing.plans import plan
from tiny_llm_course.editing.saving import write
from tiny_llm_course.errors import CourseError
from tiny_llm_course.places import here
from tiny_llm_course.syllabus import Task, name_of, select_tasks, tasks_of


@click.command("reset", cls=CourseCommand)
@task_options
def command(week: int | None, day: int | None, task: int | None) -> int:
    """Put back the stubs of a task, or of a whole day, to start again."""
    chosen = select_tasks(week, day, task)
    if day is None:
        raise CourseError(say("commands.reset.how_much"))
    symbols = list(dict.fromkeys(part for one in chosen for part in one.parts))
    changes = plan(here(), symbols, to_stub=True)
    if not changes:
        click.echo(say("commands.reset.nothing"))
        return 0
    touched = [symbol for symbol in symbols if not is_untouched(here(), symbol)]
    copies = write(changes, here().copies)
    for symbol in touched or symbols:
        echo_symbol("commands.reset.done", symbol)
        _report_others(symbol, chosen)
    echo_copies(copies)
    return 0


def _report_others(symbol: str, chosen: list[Task]) -> None:
    """Name the tasks that start again because they share a symbol."""
    name = name_of(symbol)
    for task in tasks_of(symbol):
        if task not in chosen:
            named = {"address": task.address.named, "title": task.title}
            click.echo(say("commands.reset.shared", name=name, **named))
