"""The costs of a solution's kernels beside those of ours, in lines for the terminal."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.engine import fence
from tiny_llm_course.layout import fitted, pad, widest
from tiny_llm_course.places import REFERENCE
from tiny_llm_course.syllabus import Task, name_of

LIMIT_S = 60

COUNTED = "tiny_llm_course.kernel_costs.counted"
"""Not imported here, since it imports MLX."""

COLUMNS = ("read", "written", "lines", "conflicts", "barriers", "flops")

Rows = dict[str, list[dict[str, float] | None]]


def costs(tasks: Sequence[Task], folder: Path) -> list[str]:
    """Return a table of what kernels cost. Nothing if there are none that run.

    Args:
        tasks: Those that are done.
        folder: The solution.
    """
    symbols = [one for task in tasks for one in task.symbols if one[:6] == "metal_"]
    found = _counted(list(dict.fromkeys(symbols)), folder) if symbols else {}
    run = {symbol: rows for symbol, rows in found.items() if rows[0]}
    return _lines(run) if run else []


def _counted(symbols: Sequence[str], folder: Path) -> Rows:
    """Run the kernels of a solution, and ours, in another process."""
    folders = "\n".join(dict.fromkeys(map(str, (folder, REFERENCE))))
    with tempfile.TemporaryDirectory() as scratch:
        is_strangers = fence.is_strangers(folder)
        prefix = fence.without_network() if is_strangers else ()
        given = [scratch if is_strangers else "", folders, *symbols]
        try:
            ran = subprocess.run(
                [*prefix, sys.executable, "-m", COUNTED, *given],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {}
    return json.loads(ran.stdout.splitlines()[-1]) if ran.returncode == 0 else {}


def _lines(found: Rows) -> list[str]:
    """Write the table, below a heading, and what its columns are."""
    body = [row for symbol, rows in found.items() for row in _rows(symbol, rows)]
    head = ["", "", *(say(f"kernel_costs.columns.{one}") for one in COLUMNS)]
    widths = [widest(cells) for cells in zip(head, *body, strict=True)]
    table = [
        "  ".join(
            pad(cell, width) if at < 2 else pad("", width - widest([cell])) + cell
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in (head, *body)
    ]
    return [say("kernel_costs.heading"), *table, fitted(say("kernel_costs.legend"))]


def _rows(symbol: str, rows: list[dict[str, float] | None]) -> Iterator[list[str]]:
    """Yield the costs of a kernel: yours and ours, or one row where they are equal."""
    name = name_of(symbol)
    shown = [[_written(row[one]) for one in COLUMNS] for row in rows if row]
    who = ["ours"] if len(rows) == 1 else ["yours", "ours"][: len(shown)]
    if len(shown) == 2 and shown[0] == shown[1]:
        who = ["both"]
    for one, cells in zip(who, shown, strict=False):
        yield [name if one == who[0] else "", say(f"kernel_costs.{one}"), *cells]


def _written(number: float) -> str:
    """Write a number with as many digits as tell something."""
    return f"{number:.0f}" if number >= 100 or number % 1 == 0 else f"{number:.1f}"
