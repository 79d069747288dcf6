"""A vector and some rows of weights, for the figure that rounds activations."""

from functools import cache
from typing import Any

import mlx.core as mx
import numpy as np

from tiny_llm_ref.quantize import quantize

COLUMNS, ROWS, BITS = 128, 32, 4
GROUP_SIZES = (32, 64, 128)
PLACE = 40
"""Where the outlier is."""


def random_row() -> np.ndarray:
    """Draw activations with two digits, as a figure can write them."""
    return np.round(np.random.default_rng(8).normal(0, 1, COLUMNS), 2)


@cache
def quantised(group_size: int) -> tuple[mx.array, mx.array, mx.array]:
    """Quantise random rows: packed integers, scales and biases of 16 bits."""
    rows = np.random.default_rng(9).normal(0, COLUMNS**-0.5, (ROWS, COLUMNS))
    return quantize(mx.array(rows, mx.bfloat16), group_size, BITS)


def figure_data() -> dict[str, Any]:
    """Return the vector, and the rows for each group size, an integer a character."""
    return {
        "x": random_row().tolist(),
        "place": PLACE,
        "weights": {str(size): _written(*quantised(size)) for size in GROUP_SIZES},
    }


def _written(packed: mx.array, scales: mx.array, biases: mx.array) -> dict[str, Any]:
    """Write the integers of each row in hexadecimal, and scales and biases as lists."""
    # The first weight of a word is in its lowest bits.
    rows = np.array(packed, "<u4").tolist()
    return {
        "q": ["".join(f"{word:08x}"[::-1] for word in row) for row in rows],
        "scales": scales.astype(mx.float32).tolist(),
        "biases": biases.astype(mx.float32).tolist(),
    }
