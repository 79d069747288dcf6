"""`pdm run hint`: help with a task, a step at a time."""

import click

from tiny_llm_course import progress
from tiny_llm_course.catalogue import lines, say
from tiny_llm_course.commands.learning import load_progress, task_options
from tiny_llm_course.commands.terminal import CourseCommand
from tiny_llm_course.errors import CourseError
from tiny_llm_course.layout import fitted
from tiny_llm_course.places import here
from tiny_llm_course.progress import Progress
from tiny_llm_course.syllabus import Task, select_task

LEVELS = 3


@click.command("hint", cls=CourseCommand)
@task_options
@click.option(
    "--level",
    type=click.IntRange(1, LEVELS),
)
def command(
    week: int | None, day: int | None, task: int | None, level: int | None
) -> int:
    """Help with a task. There are three hints, and the last is nearly the answer."""
    known = load_progress()
    chosen = (
        _next(known) if week is day is task is None else select_task(week, day, task)
    )
    address = chosen.address
    level = level or min(known.hints.get(str(address), 0) + 1, LEVELS)
    texts = lines(f"{chosen.files}.hints.task_{address.task}")
    named = {"address": address.named, "title": chosen.title}
    click.echo(say("commands.hint.heading", **named, level=level, levels=LEVELS))
    click.echo(f"\n{fitted(texts[level - 1].strip())}\n")
    click.echo(say("commands.hint.chapter", command=chosen.chapter_command()))
    if level < LEVELS:
        further = f"{chosen.hint_command} --level {level + 1}"
        click.echo(say("commands.hint.further", command=further))
    else:
        click.echo(say("commands.hint.last", options=address.options))
    progress.save(here(), known.with_hint(chosen, level))
    return 0


def _next(known: Progress) -> Task:
    found = progress.first_open(progress.statuses(here(), known))
    if found is None:
        raise CourseError(say("commands.hint.all_done"))
    return found
