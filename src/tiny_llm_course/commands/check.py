"""`pdm run check`: check the whole course."""

import time
from collections.abc import Iterator, Sequence

import click

from tiny_llm_course.checks.cache import Kept
from tiny_llm_course.checks.running import Runner
from tiny_llm_course.checks.steps import BOOK, FIRST, Outcome, Step, steps
from tiny_llm_course.commands.terminal import CourseCommand
from tiny_llm_course.places import ROOT


@click.command(name="check", cls=CourseCommand)
@click.option("--long", "with_long", is_flag=True)
@click.option("--all", "anew", is_flag=True)
def command(*, with_long: bool, anew: bool) -> int:
    """Check the whole course, as it is before you have solved anything."""
    start_s = time.perf_counter()
    outcomes: list[Outcome] = []
    others = steps()
    wanted = [step for step in others if with_long or anew or not step.is_long]
    for some in (FIRST, BOOK, wanted):
        if all(outcome.succeeded for outcome in outcomes):
            outcomes += report(Runner(Kept(ROOT), anew=anew), some)
    num_failed = sum(not outcome.succeeded for outcome in outcomes)
    num_kept = sum(outcome.was_kept for outcome in outcomes)
    took_s = time.perf_counter() - start_s
    click.echo(
        f"\n{took_s:.0f} s; {num_kept} of {len(outcomes)} are known to pass still"
    )
    click.echo(f"{len(outcomes) - num_failed} passed, {num_failed} failed")
    if num_left_out := len(others) - len(wanted):
        click.echo(f"{num_left_out} that take long were left out: pdm run check --long")
    return int(num_failed > 0)


def report(runner: Runner, wanted: Sequence[Step]) -> Iterator[Outcome]:
    """Run steps; print a line for each claim, and the output of a failed step."""
    outcomes: dict[str, list[Outcome]] = {}
    for step, outcome in runner.run(wanted):
        yield outcome
        parts = outcomes.setdefault(step.claim, [])
        parts.append(outcome)
        if not outcome.succeeded:
            click.echo(_line(step.claim, [outcome]))
            click.echo(f"\n{step.part}\n{outcome.output}".replace("\n\n", "\n", 1))
        elif len(parts) == sum(one.claim == step.claim for one in wanted):
            click.echo(_line(step.claim, parts))


def _line(claim: str, parts: Sequence[Outcome]) -> str:
    """Return the line of a claim: how its parts ended, and their total time."""
    verdict = "ok" if all(part.succeeded for part in parts) else "FAILED"
    took_s = sum(part.duration_s for part in parts)
    what = parts[0].last_line if len(parts) == 1 else f"{len(parts)} parts"
    return f"{claim:<32}{verdict} {took_s:6.1f} s  {what}"
