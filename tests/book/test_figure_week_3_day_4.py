"""The interactive figure of day 4 of week 3 reads pages as kernels do, also wrong."""

from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from tests.book.conftest import OpenFigure

from tiny_llm_course.specimens import mistake
from tiny_llm_ref import kernels

CHAPTER = "week-3-day-4-paged-attention"
NAME = "paged-keys"

WRONG = {
    "pool": mistake("week_3_day_4", "page_not_translated"),
    "whole": mistake("week_3_day_4", "slots_of_the_last_page_all_read"),
    "masked": mistake("week_3_day_4", "weight_zero_times_nan"),
}


def arrays(data: dict[str, Any], num_tokens: int, left: str) -> list[mx.array]:
    """Return the pool of the figure, and one query whose scores are the keys."""
    old = data["old"]
    behind = {
        "zeros": (0, 0),
        "old": (old["score"], old["value"]),
        "broken": (np.nan,) * 2,
    }
    size = data["page_size"]
    pages = [
        np.full((data["pages"], 1, size, 1), one, np.float32) for one in behind[left]
    ]
    for text, count in (
        (data["other"], len(data["other"]["scores"])),
        (data, num_tokens),
    ):
        for j in range(count):
            page = text["table"][j // size]
            for own, name in zip(pages, ("scores", "values"), strict=True):
                own[page, 0, j % size] = text[name][j]
    table = mx.array([[*data["table"], -1]], mx.int32)
    lens = mx.array([num_tokens], mx.int32)
    return [mx.ones((1, 1, 1, 1)), *map(mx.array, pages), table, lens]


@pytest.mark.parametrize("num_tokens", [1, 4, 6, 12])
@pytest.mark.parametrize("left", ["zeros", "old", "broken"])
def test_it_shows_what_our_kernel_and_the_known_mistakes_compute(
    figure: OpenFigure, left: str, num_tokens: int
) -> None:
    given = arrays(figure.data, num_tokens, left)
    figure.set(tokens=num_tokens, left=left)
    ours = kernels.paged_attention_online(*given, 1.0).item()

    for way, kernel in {"table": kernels.paged_attention_online, **WRONG}.items():
        figure.set(way=way)

        expected = kernel(*given, 1.0, None).item()
        result = float(figure.read("result"))
        assert result == pytest.approx(expected, rel=1e-5, nan_ok=True), way
        assert float(figure.read("expected")) == pytest.approx(ours, rel=1e-5)


def test_it_opens_with_a_page_that_is_not_full(figure: OpenFigure) -> None:
    figure.set(way="masked", left="broken")

    assert figure.read("slots") - figure.read("foreign") == figure.data["tokens"]
    assert np.isnan(float(figure.read("result")))
