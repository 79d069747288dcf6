"""Words, loads and lanes of a row."""

from typing import Any

from tiny_llm_course.book.embedded import sizes
from tiny_llm_course.metal.costs import LINE_BYTES

LANES, ROWS_OF_EACH = 32, 4
ROWS, COLUMNS, GROUP_SIZE = 4864, 896, 64


def of_row(columns: int, bits: int) -> dict[str, Any]:
    """Count what a row has: words, and loads of 16 bytes, and the lanes for them."""
    words, loads = columns * bits // 32, columns * bits // 128
    steps = -(-words // LANES)
    steps_of_loads = -(-loads // LANES)
    return {
        "words": words,
        "steps": steps,
        "lanes": words - (steps - 1) * LANES,
        "loads": loads,
        "steps_of_loads": steps_of_loads,
        "lanes_of_loads": loads - (steps_of_loads - 1) * LANES,
        "busy": words / (steps * LANES),
        "busy_of_loads": loads / (steps_of_loads * LANES),
    }


def qwen2_matrix() -> dict[str, Any]:
    """Count the gate of Qwen2-0.5B's MLP in 4 bits, and its neighbour, down."""
    weights = ROWS * COLUMNS
    return {
        "rows": ROWS,
        "columns": COLUMNS,
        "groups_of_a_row": COLUMNS // GROUP_SIZE,
        "mb": (weights / 2 + 2 * 2 * weights / GROUP_SIZE) / 1e6,
        "row_bytes": COLUMNS // 2,
        "row_lines": COLUMNS / 2 / LINE_BYTES,
        "simd_groups": ROWS,
        "simd_groups_of_fours": ROWS // ROWS_OF_EACH,
        "gate": of_row(COLUMNS, 4),
        "down": of_row(ROWS, 4),
    }


def embedded() -> dict[str, Any]:
    """Count a row of the embedded model, as it is packed and in 4 bits."""
    hidden = sizes().hidden_size
    return {"hidden": hidden, "eight": of_row(hidden, 8), "four": of_row(hidden, 4)}


def figure_data() -> dict[str, Any]:
    """Return the sizes of a SIMD group and of a line, and of the row it opens with."""
    return {
        "lanes": LANES,
        "line_bytes": LINE_BYTES,
        "rows": ROWS_OF_EACH,
        "columns": COLUMNS,
    }
