"""The interactive figure of day 2 of week 3 serves as our scheduler does."""

import itertools

import pytest
from tests.book.conftest import OpenFigure

from tiny_llm_course.book.chapter_data import values_of
from tiny_llm_ref.request import Request, SamplingParams
from tiny_llm_ref.scheduler import Scheduler

CHAPTER = "week-3-day-2-scheduler"
NAME = "token-budget"

SETTINGS = (
    *((256, 240, 4), (64, 240, 4), (16, 240, 4), (8, 248, 6), (8, 8, 1), (64, 64, 4)),
    *((64, 56, 6), (128, 248, 1), (256, 8, 3)),
)
"""Budgets, lengths of the prompt, and texts: one step, many, and a piece that fits."""


def pieces_of_the_prompt(budget: int, prompt: int, streams: int) -> list[int]:
    """Let our scheduler serve them, and return the pieces that it cuts."""
    scheduler = Scheduler(streams + 1, budget)
    many = SamplingParams(max_tokens=1000)
    for number in range(streams):
        scheduler.add(Request(f"stream {number}", [1], many))
    scheduler.postprocess(scheduler.schedule(), [5] * streams)
    newcomer = Request("newcomer", [1] * prompt, many)
    scheduler.add(newcomer)
    found: list[int] = []
    while not newcomer.output:
        pieces = scheduler.schedule()
        (own,) = [one.num_tokens for one in pieces if one.request is newcomer]
        assert sum(one.num_tokens for one in pieces) == own + streams
        found.append(own)
        scheduler.postprocess(pieces, [5] * len(pieces))
    return found


def took_ms(tokens: int) -> float:
    """Return what a step takes, on the line between two that were measured."""
    found: list[tuple[float, float]] = values_of(CHAPTER, "data")[NAME]["ms"]
    pairs = list(itertools.pairwise(found))
    between = [pair for pair in pairs if pair[1][0] >= tokens]
    (x0, y0), (x1, y1) = between[0]
    return y0 + (y1 - y0) * (tokens - x0) / (x1 - x0)


@pytest.mark.parametrize(("budget", "prompt", "streams"), SETTINGS)
def test_the_pieces_are_those_of_our_scheduler(
    figure: OpenFigure, budget: int, prompt: int, streams: int
) -> None:
    pieces = pieces_of_the_prompt(budget, prompt, streams)
    times = [took_ms(piece + streams) for piece in pieces]

    figure.set(budget=budget, prompt=prompt, streams=streams)

    assert figure.read("steps") == len(pieces)
    assert figure.read("usual") == pytest.approx(took_ms(streams))
    assert figure.read("pause") == pytest.approx(max(times))
    assert figure.read("wait") == pytest.approx(sum(times))
    assert figure.read("times") == pytest.approx(max(times) / took_ms(streams))


@pytest.mark.parametrize("place", range(3))
def test_it_shows_the_numbers_of_the_text(figure: OpenFigure, place: int) -> None:
    costs = values_of(CHAPTER, "numbers")["costs"]
    told = costs["arrivals"][place]

    figure.set(budget=told["budget"], prompt=costs["prompt"], streams=costs["streams"])

    for name in ("steps", "pause", "times", "wait"):
        assert figure.read(name) == pytest.approx(told[name])


def test_it_opens_with_the_whole_prompt_in_one_step(figure: OpenFigure) -> None:
    assert figure.read("steps") == 1
