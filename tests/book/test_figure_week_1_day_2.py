"""The dials of Day 2 show what the course's own rotation computes."""

import mlx.core as mx
import numpy as np
import pytest
from tests.book.conftest import OpenFigure

from tiny_llm_course.grading.judgement.closeness import epsilon
from tiny_llm_course.oracle import positional_encoding
from tiny_llm_ref.positional_encoding import RoPE

CHAPTER = "week-1-day-2-rope"
NAME = "rotary-dials"

# distance, position of the key, pairs, base
SETTINGS = [
    (0, 0, "halves", 10000),
    (1, 3, "halves", 10000),
    (5, 300, "neighbours", 10000),
    (24, 2047, "halves", 1000000),
    (7, 8191, "neighbours", 1000000),
    (24, 32743, "halves", 10000),
]


def _set(figure: OpenFigure, setting: tuple[int, int, str, int]) -> None:
    """Move all controls but that of the precision."""
    distance, key, pairing, base = setting
    figure.set(distance=distance, key=key, pairing=pairing, base=base)


def _vectors(figure: OpenFigure) -> tuple[mx.array, mx.array]:
    """Return the query and the key that the figure starts from."""
    query, key = (mx.array(figure.data[name]) for name in ("query", "key"))
    return query.reshape(1, 1, 1, -1), key.reshape(1, 1, 1, -1)


def _rope_in(dtype: mx.Dtype, pairing: str, base: int) -> tuple[RoPE, mx.array]:
    """Return our rotation with its angles in a dtype, and these angles."""
    speeds = mx.power(base, -mx.arange(0, 8, 2, dtype=mx.float32) / 8).astype(dtype)
    angles = mx.arange(32768).astype(dtype)[:, None] * speeds
    rope = RoPE(8, 32768, base, traditional=pairing == "neighbours")
    wide = angles.astype(mx.float32)
    rope.cos, rope.sin = mx.cos(wide), mx.sin(wide)
    return rope, angles


def _score(figure: OpenFigure, rope: RoPE, m: int, n: int) -> float:
    """Return the dot product of the query at m and the key at n."""
    query, key = _vectors(figure)
    product = rope(query, slice(m, m + 1)) * rope(key, slice(n, n + 1))
    return product.sum().item()


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_the_score_is_that_of_the_reference(
    figure: OpenFigure, setting: tuple[int, int, str, int]
) -> None:
    """An angle of float32 is uncertain by its size, and so is a score."""
    distance, n, pairing, base = setting
    _set(figure, setting)

    m = n + distance
    rope = RoPE(8, 32768, base, traditional=pairing == "neighbours")
    tolerance = 4 * epsilon(mx.float32) * (1 + m) * 9
    assert figure.read("position") == m
    assert figure.read("score") == pytest.approx(
        _score(figure, rope, m, n), abs=tolerance
    )


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_the_exact_score_is_that_of_the_oracle(
    figure: OpenFigure, setting: tuple[int, int, str, int]
) -> None:
    distance, n, pairing, base = setting
    _set(figure, setting)

    kind = {"base": base, "traditional": pairing == "neighbours"}
    at_m, at_n = (
        positional_encoding.rope(x, [range(position, position + 1)], **kind).value
        for x, position in zip(_vectors(figure), (n + distance, n), strict=True)
    )
    assert figure.read("exact") == pytest.approx(np.sum(at_m * at_n), abs=1e-9)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16], ids=str)
def test_angles_in_half_precision_are_those_of_mlx(
    figure: OpenFigure,
    dtype: mx.Dtype,
    setting: tuple[int, int, str, int],
) -> None:
    """To the last bit: what is rounded by hand is rounded like in the library."""
    distance, n, pairing, base = setting
    _set(figure, setting)
    figure.set(precision=str(dtype).removeprefix("mlx.core."))

    m = n + distance
    rope, angles = _rope_in(dtype, pairing, base)
    assert figure.read("angles") == angles[m].astype(mx.float32).tolist()
    assert figure.read("score") == pytest.approx(_score(figure, rope, m, n), abs=2e-5)


def test_the_score_stays_when_both_positions_move(figure: OpenFigure) -> None:
    figure.set(distance=2, key=3)
    before = figure.read("exact")

    figure.set(key=103)

    assert figure.read("exact") == pytest.approx(before, abs=1e-12)
