"""Week 2, day G3: who takes which weights, and what the simulator counts."""

from collections.abc import Mapping
from typing import Any

from tiny_llm_course.metal.costs import LINE_BYTES

from .counted import NUM_ROWS, costs, table
from .counting import embedded, figure_data, qwen2_matrix


def numbers() -> dict[str, Any]:
    """Return the numbers of the text."""
    cost = costs()
    return {
        "matrix": qwen2_matrix(),
        "embedded": embedded(),
        "cost": cost,
        "ratio": {
            "stretch": cost["stretch"]["lines"] / cost["words"]["lines"],
            "words": cost["words"]["lines"] / cost["rows_4"]["lines"],
        },
        "num_rows": NUM_ROWS,
        "line_bytes": LINE_BYTES,
        "per_word": 32 // 4,
    }


def tables() -> Mapping[str, Any]:
    """Return what each kernel costs."""
    return {"costs": table()}


def data() -> Mapping[str, Any]:
    """Return what the interactive figure starts from."""
    return {"lanes-and-lines": figure_data()}
