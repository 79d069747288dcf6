"""`pdm run solution`: compare your code with the course's."""

import click
from rich.console import Console
from rich.text import Text

from tiny_llm_course import progress
from tiny_llm_course.catalogue import say
from tiny_llm_course.commands.learning import echo_symbol, load_progress, task_options
from tiny_llm_course.commands.terminal import CourseCommand
from tiny_llm_course.editing.comparing import difference
from tiny_llm_course.errors import CourseError
from tiny_llm_course.places import here
from tiny_llm_course.progress import CLOSED
from tiny_llm_course.syllabus import select_task

STYLES = {"---": "bold", "+++": "bold", "@@": "cyan", "-": "red", "+": "green"}
"""Colours by how a line begins. The first match counts."""


@click.command("solution", cls=CourseCommand)
@task_options
@click.option("--spoil", is_flag=True)
def command(week: int | None, day: int | None, task: int | None, *, spoil: bool) -> int:
    """Show how the course solves a task, as a diff from your code to ours."""
    chosen = select_task(week, day, task)
    known = load_progress()
    if not spoil and progress.status(here(), known, chosen) not in CLOSED:
        raise CourseError(
            say("commands.solution.not_done", address=chosen.address.named)
        )
    found = list(difference(here(), chosen.parts))
    console = Console(highlight=False, soft_wrap=True)
    for line in found:
        styles = (style for start, style in STYLES.items() if line.startswith(start))
        console.print(Text(line, style=next(styles, "")))
    if not found:
        for symbol in chosen.parts:
            echo_symbol("commands.solution.same", symbol)
    return 0
