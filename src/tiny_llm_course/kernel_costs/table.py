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
TIME = "time"
"""A column more, where a GPU has run the kernels."""

Row = dict[str, float]
Rows = dict[str, list[Row | None]]
"""For each kernel what yours costs, and ours, and how long MLX's own takes.

There is no row for yours where the solution is ours.
"""


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
    every = [row for rows in found.values() for row in rows if row]
    is_timed = any(TIME in row for row in every)
    columns = (*COLUMNS, TIME) if is_timed else COLUMNS
    body = [
        one for symbol, rows in found.items() for one in _rows(symbol, rows, columns)
    ]
    head = ["", "", *(say(f"kernel_costs.columns.{one}") for one in columns)]
    widths = [widest(cells) for cells in zip(head, *body, strict=True)]
    table = [
        "  ".join(
            pad(cell, width) if at < 2 else pad("", width - widest([cell])) + cell
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in (head, *body)
    ]
    legend = [say("kernel_costs.legend"), *([say("kernel_costs.timed")] * is_timed)]
    return [say("kernel_costs.heading"), *table, *map(fitted, legend)]


def _rows(
    symbol: str, rows: Sequence[Row | None], columns: Sequence[str]
) -> Iterator[list[str]]:
    """Yield the costs of a kernel: yours and ours, or one row where they are equal."""
    who = ["yours", "ours", "mlx"][-len(rows) :]
    shown = {
        one: [_written(row.get(column)) for column in columns]
        for one, row in zip(who, rows, strict=True)
        if row
    }
    if shown.get("yours") == shown.get("ours"):
        shown = {"both": shown.pop("yours"), **shown}
        del shown["ours"]
    for at, (one, cells) in enumerate(shown.items()):
        yield ["" if at else name_of(symbol), say(f"kernel_costs.{one}"), *cells]


def _written(number: float | None) -> str:
    """Write a number with as many digits as tell something."""
    if number is None:
        return ""
    return f"{number:.0f}" if number >= 100 or number % 1 == 0 else f"{number:.1f}"
