"""The interactive figure of day 1 of week 2 counts what caches and loops really do."""

import operator
from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import mlx.core as mx
import pytest
from mlx_lm.models.cache import KVCache
from tests.book.conftest import OpenFigure

from tiny_llm_course.book.chapter_data import values_of
from tiny_llm_ref.generate import simple_generate, simple_generate_with_kv_cache
from tiny_llm_ref.kv_cache import TinyKvFullCache

CHAPTER = "week-2-day-1-kv-cache"
NAME = "growing-cache"

WORD, END = 0, 1

# Prompt and steps: none to move yet, just before and behind a move, and the longest.
BUFFERS = (
    *((1, 1), (12, 32), (1, 16), (1, 17), (100, 157), (100, 158), (256, 2)),
    *((1, 512), (170, 512), (171, 512), (256, 512)),
)


class Joined:
    """Make a new array for each token, as the chapter shows it first."""

    def __init__(self) -> None:
        self.keys: mx.array | None = None

    def update_and_fetch(self, key: mx.array, value: mx.array) -> None:
        del value
        old = [] if self.keys is None else [self.keys]
        self.keys = mx.concatenate([*old, key], axis=2)


CACHES: dict[str, tuple[Callable[[], Any], str]] = {
    "doubling": (TinyKvFullCache, "buffers._keys"),
    "steps": (KVCache, "keys"),
    "joined": (Joined, "keys"),
}
"""Caches by the way in which they grow, and where they keep their buffer."""


def lengths_of_the_buffer(way: str, prompt: int, steps: int) -> list[int]:
    """Fill a real cache, and look at its buffer after each step."""
    build, name = CACHES[way]
    cache = build()
    found: list[int] = []
    for length in [prompt] + [1] * (steps - 1):
        piece = mx.zeros((1, 1, length, 1))
        cache.update_and_fetch(piece, piece)
        found.append(operator.attrgetter(name)(cache).shape[2])
    return found


class CountingModel:
    """Say a word in each step but the last, and count the positions that are shown."""

    num_hidden_layers = 1

    def __init__(self, steps: int) -> None:
        self.steps_left = steps
        self.positions = 0

    def __call__(self, ids: mx.array, *_: object) -> mx.array:
        self.positions += ids.shape[1]
        self.steps_left -= 1
        answer = WORD if self.steps_left else END
        return mx.broadcast_to(mx.arange(2) == answer, (*ids.shape, 2)) * 1.0


def positions_of(loop: Callable[..., str], prompt: int, steps: int) -> int:
    """Count the positions that a loop of the course makes its model compute."""
    model = CountingModel(steps)
    silent = SimpleNamespace(
        reset=lambda: None,
        add_token=lambda _: None,
        finalize=lambda: None,
        last_segment="",
        text="",
    )
    tokenizer = SimpleNamespace(
        encode=lambda _: [WORD] * prompt, eos_token_ids={END}, detokenizer=silent
    )
    loop(model, tokenizer, "", *([None] if loop is simple_generate else []))
    return model.positions


def seen_in_a_real_cache(way: str, prompt: int, steps: int) -> dict[str, float]:
    """Return what the figure should show about the buffer.

    Whenever it gets longer, all tokens that were in it have been moved.
    """
    tokens = prompt + steps - 1
    lengths = lengths_of_the_buffer(way, prompt, steps)
    moved = [0] + [
        prompt + place if after > before else 0
        for place, (before, after) in enumerate(pairwise(lengths))
    ]
    return {
        "places": lengths[-1],
        "unused": lengths[-1] - tokens,
        "now": moved[-1],
        "total": sum(moved),
        "each": sum(moved) / tokens,
    }


@pytest.mark.parametrize("way", CACHES)
def test_the_buffer_is_that_of_a_real_cache(figure: OpenFigure, way: str) -> None:
    figure.set(way=way)

    for prompt, steps in BUFFERS:
        figure.set(prompt=prompt, steps=steps)

        expected = seen_in_a_real_cache(way, prompt, steps)
        assert {name: figure.read(name) for name in expected} == expected


@pytest.mark.parametrize(("prompt", "steps"), [(12, 32), (1, 1), (256, 40), (7, 512)])
def test_the_positions_are_those_of_the_loops(
    figure: OpenFigure, prompt: int, steps: int
) -> None:
    again = positions_of(simple_generate, prompt, steps)
    once = positions_of(simple_generate_with_kv_cache, prompt, steps)

    figure.set(prompt=prompt, steps=steps)

    assert (figure.read("again"), figure.read("once")) == (again, once)
    assert figure.read("ratio") == pytest.approx(again / once)


def test_it_opens_with_the_answer_of_the_text(figure: OpenFigure) -> None:
    answer = values_of(CHAPTER, "numbers")["answer"]

    shown = (figure.read("again"), figure.read("once"))

    assert shown == (answer["again"], answer["once"])


def test_the_button_stops_at_each_move_and_at_the_end(figure: OpenFigure) -> None:
    figure.set(prompt=12, steps=1)
    button = figure.page.locator(f"#figure-{NAME} [data-control=next]")

    stops: list[tuple[int, int]] = []
    while button.is_enabled():
        figure.press("next")
        stops.append((figure.read("once"), figure.read("now")))

    moves = [(2**power + 1, 2**power) for power in range(4, 10)]
    assert stops == [*moves, (523, 0)]


@pytest.mark.parametrize("prompt", [1, 12, 170, 256])
def test_doubling_moves_a_token_less_than_twice(
    figure: OpenFigure, prompt: int
) -> None:
    figure.set(prompt=prompt, steps=1)

    for _ in range(9):
        if prompt + 511 > figure.read("once"):
            figure.press("next")
        assert figure.read("each") < 2


@pytest.mark.parametrize(
    ("way", "expected"), [("doubling", 1008), ("steps", 768), ("joined", 136_437)]
)
def test_a_short_text_moves_what_the_text_says(
    figure: OpenFigure, way: str, expected: int
) -> None:
    figure.set(prompt=12, steps=512, way=way)

    assert figure.read("total") == expected
