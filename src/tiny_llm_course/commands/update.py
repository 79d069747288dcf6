"""`pdm run update`: bring your files up to the version of the course."""

import click

from tiny_llm_course.catalogue import say
from tiny_llm_course.commands.learning import echo_copies, echo_symbol
from tiny_llm_course.commands.terminal import CourseCommand
from tiny_llm_course.editing.merging import half_merged, not_pulled
from tiny_llm_course.editing.plans import (
    GIVEN,
    NEW,
    RENEWED,
    TRANSLATED,
    FileUpdate,
    plan_update,
)
from tiny_llm_course.editing.saving import Change, write
from tiny_llm_course.errors import CourseError
from tiny_llm_course.places import here


@click.command("update", cls=CourseCommand)
def command() -> int:
    """Bring your files up to date, after a new version of the course was pulled."""
    if problem := half_merged(here()):
        raise CourseError(problem)
    updates = list(plan_update(here()))
    changes = [
        Change(update.path, update.text)
        for update in updates
        if any(what in {NEW, RENEWED, GIVEN, TRANSLATED} for what, _ in update.news)
    ]
    copies = write(changes, here().copies)
    for update in updates:
        _echo(update)
    warning = not_pulled(here())
    if warning:
        click.echo(warning, err=True)
    elif not any(update.news or update.problem for update in updates):
        click.echo(say("commands.update.nothing"))
    echo_copies(copies)
    return int(any(update.problem for update in updates) or warning is not None)


def _echo(update: FileUpdate) -> None:
    """Print what is new in one file, or what is wrong with it."""
    if update.problem:
        click.echo(update.problem, err=True)
    for what, name in update.news:
        if name:
            file = update.path
            part = (
                f"{file.name}:{name}" if file.suffix == ".h" else f"{file.stem}.{name}"
            )
            echo_symbol(f"commands.update.{what}", part)
        else:
            place = here().link(update.path)
            click.echo(say(f"commands.update.{what}_file", place=place))
