"""`pdm run reset`: begin a task anew."""

import click

from tiny_llm_course.catalogue import say
from tiny_llm_course.commands.learning import (
    echo_copies,
    echo_symbol,
    task_options,
)
from tiny_llm_course.commands.terminal import CourseCommand
from tiny_llm_course.errors import CourseError
from tiny_llm_course.places import here
from tiny_llm_course.syllabus import select_tasks, tasks_of
from tiny_llm_course.workbook.plans import plan_reset
from tiny_llm_course.workbook.saving import write


@click.command("reset", cls=CourseCommand)
@task_options
def command(week: int | None, day: int | None, task: int | None) -> int:
    """Put back the stubs of a task, or of a whole day, to begin anew.

    All else in your files stays, and what is replaced is copied first.
    """
    chosen = select_tasks(week, day, task)
    if day is None:
        raise CourseError(say("commands.reset.how_much"))
    symbols = list(dict.fromkeys(symbol for one in chosen for symbol in one.symbols))
    changes = plan_reset(here(), symbols)
    if not changes:
        click.echo(say("commands.reset.nothing"))
        return 0
    copies = write(changes, here().copies)
    for symbol in symbols:
        echo_symbol("commands.reset.done", symbol)
        for other in tasks_of(symbol):
            if other not in chosen:
                name = symbol.partition(".")[2]
                named = {"address": other.address, "title": other.title}
                click.echo(say("commands.reset.shared", name=name, **named))
    echo_copies(copies)
    return 0
