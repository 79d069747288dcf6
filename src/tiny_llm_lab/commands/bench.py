"""`pdm run bench`: how fast the models of the course are, next to others."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from tiny_llm_course.catalogue import say
from tiny_llm_course.commands.terminal import CourseCommand
from tiny_llm_course.solution import load_solution
from tiny_llm_lab.bench.engines import (
    ATTENTION,
    KINDS,
    MissingError,
    chosen,
    names_of,
)
from tiny_llm_lab.bench.models import EMBEDDED_MODEL, MODELS
from tiny_llm_lab.promise_table import table_of_promises
from tiny_llm_lab.wording import worded

NUM_ROUNDS = 5

QUICK = {"generate": (32,), "prefill": (32,)}


@click.command("bench", cls=CourseCommand)
@click.option("--quick", is_flag=True)
@click.option(
    "--model",
    "models",
    multiple=True,
    type=click.Choice(MODELS),
)
@click.option(
    "--engine",
    "engines",
    metavar="NAME",
    multiple=True,
    type=click.Choice(names_of((*KINDS, ATTENTION))),
)
@click.option("--rounds", type=click.IntRange(1, 1000))
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
)
@click.option(
    "--solution",
    default="ref",
    show_default=True,
)
def command(
    *,
    quick: bool,
    models: tuple[str, ...],
    engines: tuple[str, ...],
    rounds: int | None,
    out: Path | None,
    solution: str,
) -> int:
    """Time reading a prompt and writing an answer, in tokens per second."""
    from tiny_llm_lab.bench import results
    from tiny_llm_lab.bench import targets as promises
    from tiny_llm_lab.bench.whole_run import WORK, Plan, run
    from tiny_llm_lab.commands.lab import new_bars

    package = load_solution(solution).package
    plan = Plan(
        models or ((EMBEDDED_MODEL,) if quick else MODELS),
        chosen(engines),
        QUICK if quick else dict(WORK),
        rounds or (2 if quick else NUM_ROUNDS),
        solution,
    )
    folder = out or Path("runs") / ("bench-quick" if quick else "bench")
    with new_bars() as bars:
        bar = bars.add_task("bench")

        def show(done: int, total: int, case: str) -> None:
            bars.update(bar, completed=done, total=total, description=case)

        measured = run(plan, package, show, bars.console.print)
    is_whole = not quick and not engines
    probed = {
        probe: _asked(probe, plan.models, solution) if is_whole else {}
        for probe in ("accuracy", "memory")
    }
    found = promises.promises(measured, probed["accuracy"], probed["memory"], package)
    facts = results.about(_as_typed(), measured.machine)
    _print_table(measured.rows, facts)
    if is_whole:
        _print_promises(found)
    kept = {"rows": measured.rows, "promises": promises.kept(found), **probed}
    results.write(
        folder / "bench.json",
        {**facts, **kept} if is_whole else {**facts, "rows": measured.rows},
    )
    _draw(measured.rows, folder)
    click.echo("\n" + say("lab.kept", folder=folder))
    return 0


def _asked(probe: str, models: Sequence[str], solution: str) -> dict[str, Any]:
    """Measure accuracy or memory, model by model."""
    from tiny_llm_lab.bench.probing import ask

    found: dict[str, Any] = {}
    for model in models:
        try:
            found[model] = ask(probe, model, solution)
        except MissingError as error:
            why = worded("bench", str(error))
            told = {"model": model, "probe": worded("bench", probe), "error": why}
            click.echo(say("lab.left_out", **told), err=True)
    return found


def _as_typed() -> str:
    """Write the command, without the folder."""
    words = list(sys.argv[1:])
    while "--out" in words:
        at = words.index("--out")
        del words[at : at + 2]
    return shlex.join(["pdm", "run", "bench", *words])


def _print_table(rows: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]) -> None:
    """Print the rows in columns that are easy to read."""
    from tiny_llm_lab.commands.lab import WIDTH, table_of

    shown = [
        {
            "model": row["model"],
            "work": f"{worded('bench', row['work'])} {row['tokens']}",
            "engine": f"{row['engine']} {worded('bench', row['rung'])}".strip(),
            "weights": worded("bench", row["weights"]),
            "tokens/s": f"{row['tokens_per_s']:.4g}",
            "MB moved": f"{row['bytes_moved'] / 1e6:.4g}",
            "of bandwidth": f"{row['share_of_bandwidth']:.1%}",
            "roofline": f"{row['roofline_tokens_per_s']:.4g}",
            "steps": str(row["num_steps"]),
        }
        for row in rows
    ]
    width = None if sys.stdout.isatty() else WIDTH
    Console(width=width).print(table_of(shown, facts))


def _print_promises(found: Sequence[Any]) -> None:
    """Print the targets, and the reached figures."""
    from tiny_llm_lab.commands.lab import WIDTH

    table = table_of_promises(found)
    width = None if sys.stdout.isatty() else WIDTH
    Console(width=width).print(table)


def _draw(rows: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Save the figure, where matplotlib is installed."""
    try:
        from tiny_llm_lab.bench.figure import draw
    except ModuleNotFoundError:
        click.echo(say("lab.no_figure"), err=True)
        return
    if not rows:
        return
    figure = draw(rows)
    for kind in ("svg", "png"):
        figure.savefig(folder / f"bench.{kind}", dpi=160)
