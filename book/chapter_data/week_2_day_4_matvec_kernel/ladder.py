"""What the lab of this day has measured, beside the memory as the bench measured it."""

from functools import cache
from typing import Any

from matplotlib.figure import Figure

from tiny_llm_course.book.drawing import Texts, relabel
from tiny_llm_lab import measured as runs
from tiny_llm_lab.experiments import matvec_ladder
from tiny_llm_lab.records import Row


@cache
def _rows() -> list[Row]:
    """Return the rows of the lab, set against the one bandwidth of all chapters."""
    read_gb_per_s = runs.machine().read_bytes_per_s / 1e9
    rows: list[Row] = []
    for row in runs.ladder():
        is_memory = row["rung"] == matvec_ladder.READING
        speed = read_gb_per_s if is_memory else float(row["gb_per_s"])
        share = {"gb_per_s": speed, "share_of_bandwidth": speed / read_gb_per_s}
        rows.append({**row, **share})
    return rows


def measured() -> dict[str, Any]:
    """Return the times of the first matrix, by variant, and how they compare."""
    first = matvec_ladder.SHAPES[0].name
    rows = {str(row["rung"]): row for row in _rows() if row["matrix"] == first}
    times = {name: float(row["time_us"]) for name, row in rows.items()}
    shares = {
        f"share_{number}": float(row["share_of_bandwidth"])
        for number, row in enumerate(
            row for row in _rows() if row["rung"] == "threaded"
        )
    }
    library = times[matvec_ladder.LIBRARY]
    cycle_ns = runs.example_ns("byte_matrix")["a thousand cycles", ""] / 1000
    return {
        **{variant: times[variant] for variant in matvec_ladder.VARIANTS},
        "naive_ns": times["naive"] * 1e3 / (4864 * 896),
        "blocked_times": times["naive"] / times["blocked"],
        "simd_times": times["blocked"] / times["simd"],
        "int8_times": times["simd"] / times["int8"],
        "threaded_times": times["int8"] / times["threaded"],
        "cycles": {
            variant: times[variant] * 1e3 / (4864 * 896) / cycle_ns
            for variant in matvec_ladder.VARIANTS
        },
        "library_ms": library / 1e3,
        "over_library": library / times["threaded"],
        "naive_ms": times["naive"] / 1e3,
        "blocked_ms": times["blocked"] / 1e3,
        "simd_ms": times["simd"] / 1e3,
        "int8_ms": times["int8"] / 1e3,
        "threaded_ms": times["threaded"] / 1e3,
        "bandwidth": float(rows[matvec_ladder.READING]["gb_per_s"]),
        "naive_share": float(rows["naive"]["share_of_bandwidth"]),
        "int8_share": float(rows["int8"]["share_of_bandwidth"]),
        **shares,
    }


def ladder_table() -> list[list[str]]:
    """Return the table of the lab, without the names of its columns."""
    return [
        [str(cell) for cell in row.values()] for row in matvec_ladder.summary(_rows())
    ]


def draw_ladder(text: Texts) -> Figure:
    """Draw the figure of the lab."""
    return relabel(matvec_ladder.draw(_rows()), text)
