"""`pdm run doctor`: check this machine."""

import click

from tiny_llm_course.catalogue import say
from tiny_llm_course.commands.terminal import CourseCommand
from tiny_llm_course.doctor import Finding, examine
from tiny_llm_course.extension.checkup import check_kernels
from tiny_llm_course.layout import fitted, pad, widest

SUBJECTS = ("model", "compiler", "kernels")
"""What is called otherwise in other languages."""
LONGEST_NAME = "PyTorch"
"""Of what has the same name in all of them."""

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
        click.echo("\n" + say("doctor.not_yet", names=", ".join(failures)))
        return 1
    click.echo("\n" + say("doctor.ready"))
    return 0


def show(finding: Finding) -> None:
    """Print a finding, with its meaning and remedy below it."""
    words = {one: say(f"doctor.states.{one}") for one in COLOURS}
    subjects = (say(f"doctor.subjects.{one}") for one in SUBJECTS)
    width, width_of_subject = (
        widest(words.values()) + 1,
        widest([*subjects, LONGEST_NAME]) + 1,
    )
    state = pad(words[finding.state], width)
    state = click.style(state, fg=COLOURS[finding.state], bold=True)
    below = " " * (width + width_of_subject + 2)
    found, *more = fitted(f"{below}{finding.found}").strip().split("\n")
    click.echo(f"{state} {pad(finding.subject, width_of_subject)} {found}")
    for line in more:
        click.echo(line)
    click.echo(fitted(f"{below}{finding.meaning}"))
    if finding.remedy:
        click.echo(fitted(f"{below}-> {finding.remedy}"))
