"""`pdm run doctor`: check this machine."""

import click

from tiny_llm_course.commands.terminal import CourseCommand
from tiny_llm_course.doctor import Finding, examine
from tiny_llm_course.extension.checkup import check_kernels

COLOURS = {"ok": "green", "note": "yellow", "fail": "red"}


@click.command(name="doctor", cls=CourseCommand)
def command() -> int:
    """Check this machine: what is here, what it means, and what to do."""
    failures: list[str] = []
    for finding in (*examine(), check_kernels()):
        show(finding)
        if finding.state == "fail":
            failures.append(finding.subject)
    if failures:
        click.echo(f"\nWeek 1 cannot be done yet: see {', '.join(failures)}.")
        return 1
    click.echo("\nWeek 1 can be done on this machine.")
    return 0


def show(finding: Finding) -> None:
    """Print a finding, with its meaning and remedy below it."""
    state = click.style(f"{finding.state:<5}", fg=COLOURS[finding.state], bold=True)
    click.echo(f"{state} {finding.subject:<9} {finding.found}")
    click.echo(f"{'':15} {finding.meaning}")
    if finding.remedy:
        click.echo(f"{'':15} -> {finding.remedy}")
