"""`pdm run starter`: generate the learner's files from the solutions."""

import click

from tiny_llm_course.catalogue import say
from tiny_llm_course.commands.terminal import CourseCommand
from tiny_llm_course.editing import saving, starter
from tiny_llm_course.language import ENGLISH, chosen
from tiny_llm_course.places import here


@click.command("starter", cls=CourseCommand)
@click.option("--check", is_flag=True)
def command(*, check: bool) -> int:
    """Generate the stubs in src/tiny_llm from the solutions in src/tiny_llm_ref."""
    pending = starter.changes(here(), chosen() or ENGLISH)
    if not pending:
        click.echo(say("commands.starter.nothing"))
        return 0
    names = ", ".join(change.path.name for change in pending)
    if check:
        click.echo(say("commands.starter.out_of_date", names=names))
        return 1
    copies = saving.write(pending, here().copies)
    click.echo(say("commands.starter.generated", names=names))
    if copies:
        click.echo(say("commands.starter.copies", folder=copies))
    return 0
