"""The figure of day 6 arrives at the softmax, however it gets there."""

import itertools

import mlx.core as mx
import numpy as np
import pytest
from numpy.typing import NDArray
from tests.book.conftest import OpenFigure, Window

from tiny_llm_course.book.chapter_data import values_of
from tiny_llm_course.specimens import mistake
from tiny_llm_ref.attention import scaled_dot_product_attention_simple

CHAPTER = "week-2-day-6-flash-attention"
NAME = "online-softmax"

LOWEST = -6
"""At this place of its slider a key is forbidden."""

SCORES = np.array([1.0, 3, 2, 4, 2, 0, 5, 3])
VALUES = np.array([10.0, 20, 30, 40, 30, 20, 60, 50])
RISING, FALLING = np.arange(-5.0, 3), np.arange(3.0, -5, -1)
EXTREME = np.array([LOWEST, LOWEST, -5.5, 10, LOWEST, -5.5, 10, 9.5])
ALL_FORBIDDEN = np.full(8, float(LOWEST))

WRONG = {
    "total": mistake("week_2_day_6", "values_not_scaled_down"),
    "values": mistake("week_2_day_6", "total_not_scaled_down"),
    "nothing": mistake("week_2_day_6", "nothing_scaled_down"),
}

Numbers = NDArray[np.float64]


def move(figure: OpenFigure, positions: Numbers) -> None:
    """Move all scores to these positions of the slider."""
    for key, position in enumerate(positions):
        figure.set(key=key, score=float(position))


def scores_at(positions: Numbers) -> Numbers:
    """Return the scores that belong to positions of the slider."""
    return np.where(positions == LOWEST, -np.inf, positions)


def read(figure: OpenFigure, name: str) -> float:
    """Read a number, or one of the words that stand for what JSON cannot say."""
    return float(figure.read(name))


def softmax_of(scores: Numbers) -> Numbers:
    """Return the weights over all scores at once."""
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


@pytest.mark.parametrize("positions", [SCORES, RISING, FALLING, EXTREME])
def test_every_step_is_the_softmax_over_the_keys_so_far(
    figure: OpenFigure, positions: Numbers
) -> None:
    move(figure, positions)

    for width, seen in itertools.product([1, 2, 4, 8], range(1, 9)):
        figure.set(width=width, seen=seen)

        scores, values = scores_at(positions)[:seen], VALUES[:seen]
        tiles = range(0, seen, width)
        tops = [scores[: first + width].max() for first in tiles]
        assert read(figure, "top") == scores.max()
        if scores.max() == -np.inf:
            assert np.isnan([read(figure, name) for name in ("result", "direct")]).all()
            continue
        weights = np.exp(scores - scores.max())
        expected = softmax_of(scores) @ values
        assert read(figure, "total") == pytest.approx(weights.sum(), rel=1e-12)
        assert read(figure, "sum") == pytest.approx(weights @ values, rel=1e-12)
        assert read(figure, "result") == pytest.approx(expected, rel=1e-12)
        assert read(figure, "direct") == pytest.approx(expected, rel=1e-12)
        assert read(figure, "apart") == pytest.approx(0, abs=1e-12)
        steps = itertools.pairwise([-np.inf, *tops])
        factors = [factor_between(*step) for step in steps]
        assert figure.read("factors") == pytest.approx(factors, rel=1e-12)
        assert read(figure, "factor") == pytest.approx(factors[-1], rel=1e-12)


def factor_between(top: float, new_top: float) -> float:
    """Return what repairs old sums. While all is forbidden, they stay as they are."""
    return 1 if new_top == -np.inf else float(np.exp(top - new_top))


def test_it_opens_with_the_table_of_the_chapter(figure: OpenFigure) -> None:
    by_hand = values_of(CHAPTER, "numbers")["steps"]

    for seen, row in enumerate(by_hand["rows"], 1):
        figure.set(seen=seen)

        shown = [read(figure, name) for name in ("top", "factor", "total", "sum")]
        expected = [row[name] for name in ("top", "shrunk", "total", "sum")]
        assert shown == pytest.approx(expected)
    assert read(figure, "result") == pytest.approx(by_hand["y"])


@pytest.mark.parametrize("positions", [SCORES, RISING, FALLING, EXTREME])
@pytest.mark.parametrize("repaired", WRONG)
def test_it_goes_wrong_as_the_known_mistake_does(
    figure: OpenFigure, repaired: str, positions: Numbers
) -> None:
    move(figure, positions)
    figure.set(width=1, repaired=repaired, seen=8)

    query, keys, values = (
        mx.array(one, dtype=mx.float32).reshape(1, 1, -1, 1)
        for one in ([1.0], positions, VALUES)
    )
    mask = mx.array(np.where(positions == LOWEST, -np.inf, 0), dtype=mx.float32)
    wrong = WRONG[repaired](query, keys, values, 1.0, mask[None, None, None])
    assert read(figure, "result") == pytest.approx(wrong.item(), rel=1e-6)
    assert read(figure, "apart") == pytest.approx(
        wrong.item() - softmax_of(scores_at(positions)) @ VALUES, rel=1e-5, abs=1e-4
    )


@pytest.mark.parametrize("repaired", WRONG)
def test_a_mistake_needs_a_new_maximum_to_show(
    figure: OpenFigure, repaired: str
) -> None:
    """With one tile there is nothing to repair, and with scores that fall neither."""
    figure.set(seen=8, repaired=repaired, width=1)
    apart = read(figure, "apart")
    figure.set(width=8)
    apart_with_one_tile = read(figure, "apart")
    move(figure, FALLING)
    figure.set(width=1)

    assert abs(apart) > 1
    assert apart_with_one_tile == pytest.approx(0, abs=1e-12)
    assert read(figure, "apart") == pytest.approx(0, abs=1e-12)


def test_what_the_list_below_the_figure_says(figure: OpenFigure) -> None:
    figure.set(seen=8, width=1, repaired="total")
    assert read(figure, "result") > VALUES.max()

    figure.set(repaired="nothing", key=0, score=10)
    assert read(figure, "apart") == pytest.approx(0, abs=1e-12)


def test_the_result_is_that_of_the_attention_of_week_1(figure: OpenFigure) -> None:
    figure.set(seen=8, width=4)

    query, keys, values = (
        mx.array(one, dtype=mx.float32)[:, None] for one in ([1.0], SCORES, VALUES)
    )
    expected = scaled_dot_product_attention_simple(query, keys, values, 1.0)
    assert read(figure, "result") == pytest.approx(expected.item(), rel=1e-6)


def test_without_an_allowed_key_there_is_no_result(figure: OpenFigure) -> None:
    move(figure, ALL_FORBIDDEN)
    figure.set(seen=8, width=2)

    assert [figure.read(name) for name in ("total", "sum")] == [0, 0]
    assert figure.read("result") == "NaN"


def test_the_button_brings_the_scores_back(figure: OpenFigure) -> None:
    figure.set(seen=8)
    before = figure.read("result")
    move(figure, EXTREME)
    changed = figure.read("result")

    figure.press("reset")

    assert (figure.read("result"), changed != before) == (before, True)


def test_a_bar_can_be_dragged(window: Window) -> None:
    """With a mouse: down to the place that forbids a key."""
    figure = window.open_figure(CHAPTER, NAME)
    page = figure.page
    fourth = page.locator(f"#figure-{NAME} svg rect.bar").nth(3)
    fourth.evaluate(
        "(one) => one.scrollIntoView({ block: 'center', behavior: 'instant' })"
    )
    bar = fourth.bounding_box()
    assert bar is not None
    middle = bar["x"] + bar["width"] / 2

    page.mouse.move(middle, bar["y"] + 2)
    page.mouse.down()
    page.mouse.move(middle, bar["y"] + 300, steps=4)
    page.mouse.up()

    assert read(figure, "top") == SCORES[:3].max()
    assert read(figure, "result") == pytest.approx(softmax_of(SCORES[:3]) @ VALUES[:3])
    assert figure.opened.complaints == []
