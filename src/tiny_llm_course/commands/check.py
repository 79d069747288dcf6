"""`pdm run check`: check the whole course."""

from collections.abc import Sequence

import click

from tiny_llm_course import checks
from tiny_llm_course.commands.terminal import CourseCommand


@click.command(name="check", cls=CourseCommand)
def command() -> int:
    """Check the whole course, as it is before you have solved anything.

    Format, lint, types, the generated starter, the kernels in C++, the tests of the
    course itself, every task on the reference solution, no task on the starter, every
    known mistake, the book, and its pages in a browser if there is one. Stops at the
    first step that fails, shows what it printed, and ends with exit code 1.

    To grade your own solution: pdm run test.
    """
    return run_all(checks.STEPS)


def run_all(steps: Sequence[checks.Step]) -> int:
    """Run the steps in order, a line each, and return the exit code."""
    for step in steps:
        click.echo(f"{step.name:<28}", nl=False)
        outcome = checks.run(step)
        verdict = "ok" if outcome.succeeded else "FAILED"
        click.echo(f"{verdict} {outcome.duration_s:5.1f} s  {outcome.last_line}")
        if not outcome.succeeded:
            click.echo(f"\n{outcome.output}")
            return 1
    return 0
