"""The interactive figure of day 3 of week 2 quantises as the course and MLX do."""

from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from tests.book.conftest import OpenFigure

from tiny_llm_ref.quantize import dequantize, quantize

CHAPTER = "week-2-day-3-quantised-weights"
NAME = "quantisation-levels"

ROW = (0.67, -0.21, 0.1, 0.0, -0.8, 0.33, 0.42, -0.46)

SETTINGS = tuple((bits, size) for bits in (2, 4, 8) for size in (8, 4, 2))

Change = tuple[int, float]

CHANGES: dict[str, tuple[Change, ...]] = {
    "as in the text": (),
    "an outlier": ((5, 8.0),),
    "the least outlier": ((0, -8.0),),
    "equal ends": ((5, 0.8),),
    "equal weights in a group of two": ((3, 0.1),),
    "zeros in a group of two": ((2, 0.0),),
    "one sign": ((1, 0.01), (4, 0.8), (7, 0.46)),
    "outliers at both ends": ((5, 8.0), (6, -8.0)),
}


def changed(changes: Sequence[Change]) -> list[float]:
    """Return the eight weights, with some replaced."""
    weights = list(ROW)
    for place, value in changes:
        weights[place] = value
    return weights


def change(figure: OpenFigure, changes: Sequence[Change]) -> None:
    """Replace weights in the figure, one after the other."""
    for place, value in changes:
        figure.set(which=place, value=value)


def unpacked(words: Sequence[int], bits: int) -> list[int]:
    """Read integers out of words, the lowest bits first."""
    shifts = range(0, 32, bits)
    return [word >> shift & 2**bits - 1 for word in words for shift in shifts]


def by_the_course(weights: list[float], bits: int, size: int) -> dict[str, Any]:
    """Quantise the weights twice over, so that they fill words of 32 bits."""
    packed, scales, biases = quantize(mx.array([weights * 2]), size, bits)
    restored = dequantize(packed, scales, biases, size, bits)
    num_words = max(8 * bits // 32, 1)
    words: list[int] = packed[0, :num_words].tolist()  # pyright: ignore
    return {
        "scales": scales[0, : 8 // size].tolist(),
        "biases": biases[0, : 8 // size].tolist(),
        "q": unpacked(words, bits)[:8],
        "restored": restored[0, :8].tolist(),
        # With 2 bits the weights fill half of a word.
        "words": [word & 2 ** (8 * bits) - 1 for word in words],
    }


def by_mlx(weights: list[float], bits: int, size: int) -> dict[str, Any]:
    """Quantise groups of 32, in which the weights of each group stand repeatedly."""
    groups = mx.array(weights).reshape(-1, size)
    w = mx.tile(groups, (1, 32 // size))
    packed, scales, biases = mx.quantize(w, group_size=32, bits=bits)
    restored = mx.dequantize(packed, scales, biases, group_size=32, bits=bits)
    rows: list[list[int]] = packed.tolist()  # pyright: ignore
    return {
        "scales": scales[:, 0].tolist(),
        "biases": biases[:, 0].tolist(),
        "q": [one for words in rows for one in unpacked(words, bits)[:size]],
        "restored": restored[:, :size].flatten().tolist(),
    }


@pytest.mark.parametrize("changes", CHANGES.values(), ids=list(CHANGES))
def test_every_bit_is_that_of_the_course_and_of_mlx(
    figure: OpenFigure, changes: Sequence[Change]
) -> None:
    change(figure, changes)

    for bits, size in SETTINGS:
        figure.set(bits=bits, size=size)

        expected = by_the_course(changed(changes), bits, size)
        of_mlx = by_mlx(changed(changes), bits, size)
        assert {name: figure.read(name) for name in expected} == expected
        assert {name: figure.read(name) for name in of_mlx} == of_mlx


@pytest.mark.parametrize("changes", CHANGES.values(), ids=list(CHANGES))
def test_errors_are_those_of_the_restored_weights(
    figure: OpenFigure, changes: Sequence[Change]
) -> None:
    weights = np.array(changed(changes), np.float32).astype(np.float64)
    change(figure, changes)

    for bits, size in SETTINGS:
        figure.set(bits=bits, size=size)

        found = by_the_course(changed(changes), bits, size)
        errors = np.array(found["restored"]) - weights
        steps = errors / np.repeat(found["scales"], size)
        assert figure.read("largest") == np.abs(errors).max()
        assert figure.read("rms") == pytest.approx(np.sqrt(np.mean(errors**2)))
        assert figure.read("in_steps") == pytest.approx(np.abs(steps).max())


def test_the_bits_of_a_weight_are_those_of_the_arrays(figure: OpenFigure) -> None:
    w = mx.array([ROW * 2]).astype(mx.bfloat16)

    for bits, size in SETTINGS:
        figure.set(bits=bits, size=size)

        num_bytes = sum(one.nbytes for one in quantize(w, size, bits))
        assert figure.read("memory") == 8 * num_bytes / w.size


def test_every_number_has_a_label(figure: OpenFigure) -> None:
    """YAML takes some words, such as off, for something else than a text."""
    labels = figure.page.locator(f"#figure-{NAME} dt").all_inner_texts()

    assert len(set(labels)) == len(labels) == 9
    assert "undefined" not in labels


def test_it_opens_with_the_word_of_the_text(figure: OpenFigure) -> None:
    assert figure.read("words") == [0x3CB0896F]
    assert figure.read("largest") == pytest.approx(0.04, abs=1e-6)


def test_a_weight_keeps_its_value_until_the_button_brings_all_back(
    figure: OpenFigure,
) -> None:
    before = figure.read("restored")
    change(figure, [(5, 8.0), (0, -1.5)])
    assert (
        figure.read("restored")
        == by_the_course([-1.5, *ROW[1:5], 8.0, *ROW[6:]], 4, 8)["restored"]
    )

    figure.press("reset")

    assert figure.read("restored") == before


def test_groups_of_four_save_the_weights_of_the_other_group(
    figure: OpenFigure,
) -> None:
    figure.set(size=4)
    before = figure.read("restored")
    change(figure, [(5, 8.0)])

    after = figure.read("restored")

    assert after[:4] == before[:4]
    assert after[4] != before[4]


def test_equal_ends_put_a_weight_a_whole_step_off(figure: OpenFigure) -> None:
    change(figure, [(5, 0.8)])

    scale, restored = figure.read("scales")[0], figure.read("restored")

    assert figure.read("in_steps") == pytest.approx(1, rel=1e-5)
    assert abs(restored[4] - ROW[4]) == pytest.approx(abs(scale), rel=1e-5)
