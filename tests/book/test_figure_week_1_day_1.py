"""The figure of Day 1 shows the weights that attention computes."""

import math
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from numpy.typing import NDArray
from tests.book.conftest import OpenFigure

from tiny_llm_ref.attention import causal_mask
from tiny_llm_ref.attention import scaled_dot_product_attention_simple as attention

CHAPTER = "week-1-day-1-attention"
NAME = "attention-weights"
TOLERANCE = 1e-6


def _reference(data: dict[str, Any], scale: float, mask: str) -> NDArray[np.float64]:
    """Return the weights of all rows: what attention makes of the identity."""
    query, key = (mx.array(data[one], mx.float32) for one in ("queries", "keys"))
    size = len(data["keys"])
    added = causal_mask(size, size, mx.float32) if mask == "causal" else None
    return np.array(attention(query, key, mx.eye(size), scale, added), np.float64)


@pytest.mark.parametrize(
    ("power", "mask", "row"),
    [
        (-1, "none", 3),
        (-1, "causal", 3),
        (-6, "none", 0),
        (-0.25, "causal", 2),
        (2, "none", 5),
        (4, "causal", 5),
        (0, "causal", 0),
    ],
)
def test_the_weights_are_those_of_the_reference(
    figure: OpenFigure, power: float, mask: str, row: int
) -> None:
    figure.set(scale=power, mask=mask, row=row)

    expected = _reference(figure.data, 2.0**power, mask)[row]
    positive = expected[expected > 0]
    entropy = -(positive * np.log2(positive)).sum()
    assert figure.read("scale") == 2.0**power
    assert figure.read("weights") == pytest.approx(expected.tolist(), abs=TOLERANCE)
    assert figure.read("largest") == pytest.approx(expected.max(), abs=TOLERANCE)
    assert figure.read("entropy") == pytest.approx(entropy, abs=10 * TOLERANCE)
    assert figure.read("sum") == pytest.approx(1, abs=1e-12)


def test_the_first_scale_is_the_default_of_attention(figure: OpenFigure) -> None:
    width = len(figure.data["keys"][0])

    assert figure.read("scale") == 1 / math.sqrt(width)


def test_a_masked_key_gets_exactly_nothing(figure: OpenFigure) -> None:
    """Which is not the same as a small share."""
    figure.set(mask="causal", row=1)

    assert figure.read("weights")[2:] == [0, 0, 0, 0]
    assert figure.read("scores")[2:] == ["-Infinity"] * 4
    assert all(share > 0 for share in figure.read("weights")[:2])


@pytest.mark.parametrize("mask", ["none", "causal"])
def test_equal_words_get_equal_rows_unless_a_mask_tells_them_apart(
    figure: OpenFigure, mask: str
) -> None:
    figure.set(mask=mask)

    figure.set(row=0)
    first = figure.read("weights")
    figure.set(row=4)

    assert (figure.read("weights") == first) == (mask == "none")
