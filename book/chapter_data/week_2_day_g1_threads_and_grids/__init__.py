"""Week 2, day G1: threads of a group, lines of memory, and what kernels cost."""

from collections.abc import Mapping
from typing import Any

from tiny_llm_course.metal.costs import LINE_BYTES

from .counted import COLUMNS, ROWS, WIDTH, costs, table

NUMBERS = (3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3)
"""Of the threads in the first figure: digits of pi."""

LANES, LANES_DRAWN, THREADS = 32, 4, 256


def numbers() -> dict[str, Any]:
    """Return the numbers of the text."""
    found = costs()
    simd_groups = THREADS // LANES
    steps = -(-COLUMNS // THREADS)
    return {
        "cost": found,
        "rows": ROWS,
        "columns": COLUMNS,
        "width": WIDTH,
        "groups": WIDTH // THREADS,
        "line_bytes": LINE_BYTES,
        "row_bytes": 4 * COLUMNS,
        "row_lines": 4 * COLUMNS // LINE_BYTES,
        "threads": THREADS,
        "simd_groups": simd_groups,
        "rounds": THREADS.bit_length() - 1,
        "steps": steps,
        "last_step": COLUMNS - (steps - 1) * THREADS,
        "expected": sum(NUMBERS),
        "lost": sum(NUMBERS[12:]),
        "too_early": sum(NUMBERS) - sum(NUMBERS[12:]),
        "ratio": found["one_thread"]["lines"] / found["tree"]["lines"],
        "grid": ROWS * THREADS,
    }


def tables() -> Mapping[str, Any]:
    """Return what each kernel costs."""
    return {"costs": table()}


def data() -> Mapping[str, Any]:
    """Return what the interactive figures start from."""
    return {
        "tree-reduction": {"numbers": list(NUMBERS), "lanes": LANES_DRAWN},
        "lines-of-a-simdgroup": {
            "lanes": LANES,
            "line_bytes": LINE_BYTES,
            "most_stride": 40,
            "stride": 40,
        },
    }
