"""`pdm run serve-bench`: how fast the server of a solution is, under load."""

from dataclasses import asdict
from datetime import date
from pathlib import Path

import click
from rich.console import Console

from tiny_llm_course.catalogue import say
from tiny_llm_course.commands.terminal import CourseCommand, need
from tiny_llm_lab.promise_table import table_of_promises

NUM_ROUNDS = 5


@click.command("serve-bench", cls=CourseCommand)
@click.option(
    "--solution",
    default="ref",
    show_default=True,
)
@click.option("--rounds", type=click.IntRange(1, 100), default=NUM_ROUNDS)
@click.option(
    "--llama-server",
    "llama",
    metavar="PROGRAM:FILE",
)
@click.option("--without-mlx-lm", is_flag=True)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs/serve-bench"),
)
def command(
    *, solution: str, rounds: int, llama: str | None, without_mlx_lm: bool, out: Path
) -> int:
    """Load the server with streams, over real sockets, and print what it reaches."""
    need("httpx")
    from tiny_llm_course.doctor.system import describe_cpu
    from tiny_llm_lab.bench import results
    from tiny_llm_lab.bench.interleaved import NUM_THREADS
    from tiny_llm_lab.commands.lab import new_bars
    from tiny_llm_lab.serving.whole_run import Plan, promises, rows_of, run

    plan = Plan(solution, rounds, llama, not without_mlx_lm)
    with new_bars() as bars:
        bar = bars.add_task("serve-bench", total=None)
        figures = run(plan, lambda told: bars.update(bar, description=told))
        found = promises(figures)
    Console().print(table_of_promises(found))
    kept = {
        "machine": describe_cpu(),
        "threads": NUM_THREADS,
        "command": plan.command,
        "date": date.today().isoformat(),
        "rows": rows_of(figures),
        "promises": [asdict(one) for one in found],
    }
    results.write(out / "serve.json", kept)
    click.echo(say("lab.rows", file=out / "serve.json"))
    return 0 if all(one.holds is not False for one in found) else 1
