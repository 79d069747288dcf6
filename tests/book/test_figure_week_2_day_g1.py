"""The first figure of day G1 steps threads as a plain loop over them does."""

import itertools

import pytest
from tests.book.conftest import OpenFigure

from tiny_llm_course.book.chapter_data import values_of

CHAPTER = "week-2-day-g1-threads-and-grids"
NAME = "tree-reduction"

COUNT, LANES, ROUNDS = 16, 4, 4
GROUPS = COUNT // LANES
STEPS = GROUPS * (ROUNDS + 1) + 1

MISSING = {
    "none": set(),
    "stores": {1},
    "rounds": {2, 3, 4, 5},
    "both": {1, 2, 3, 4, 5},
}
"""The statements that have no barrier before them."""


def sum_in_the_end(numbers: list[int], missing: set[int], first: int) -> int:
    """Let each group go on as far as it can, in an order, until all have ended."""
    part = [0] * COUNT
    places = [0] * GROUPS
    result = 0
    while min(places) <= ROUNDS or places[0] <= ROUNDS + 1:
        for group in [(first + i) % GROUPS for i in range(GROUPS)]:
            statement = places[group]
            if statement > ROUNDS + (group == 0):
                continue
            has_barrier = statement > 0 and statement not in missing
            if has_barrier and min(places) < statement:
                continue
            own = range(group * LANES, (group + 1) * LANES)
            if statement == 0:
                part[own.start : own.stop] = [numbers[t] for t in own]
            elif statement <= ROUNDS:
                width = COUNT >> statement
                active = [t for t in own if t < width]
                sums = [part[t] + part[t + width] for t in active]
                for t, one in zip(active, sums, strict=True):
                    part[t] = one
            else:
                result = part[0]
            places[group] += 1
            break
    return result


def racing_places(missing: set[int]) -> int:
    """Count places that one thread writes and another accesses, with no barrier."""
    found: set[int] = set()
    seen: list[tuple[int, int, bool]] = []  # thread, place, whether it writes
    for statement in range(ROUNDS + 2):
        if statement > 0 and statement not in missing:
            seen = []
        width = COUNT >> statement
        if statement == 0:
            seen += [(t, t, True) for t in range(COUNT)]
        elif statement <= ROUNDS:
            seen += [(t, t, True) for t in range(width)]
            seen += [(t, t + width, False) for t in range(width)]
        else:
            seen += [(0, 0, False)]
        for (one, place, writes), (other, same, _) in itertools.permutations(seen, 2):
            if writes and one != other and place == same:
                found.add(place)
    return len(found)


@pytest.mark.parametrize("barriers", MISSING)
@pytest.mark.parametrize("first", range(GROUPS))
def test_it_ends_with_the_sum_of_a_plain_loop(
    figure: OpenFigure, barriers: str, first: int
) -> None:
    numbers = figure.data["numbers"]

    figure.set(barriers=barriers, order=str(first))

    expected = sum_in_the_end(numbers, MISSING[barriers], first)
    assert figure.read("result") == expected
    assert figure.read("expected") == sum(numbers)
    assert figure.read("races") == racing_places(MISSING[barriers])


def test_the_answer_below_the_figure_is_what_it_shows(figure: OpenFigure) -> None:
    numbers = values_of(CHAPTER, "numbers")

    figure.set(barriers="rounds", order="1")
    lucky = figure.read("result")
    figure.set(order="0")

    assert lucky == numbers["expected"]
    assert figure.read("result") == numbers["too_early"]
    assert figure.read("races") > 0


def test_with_all_barriers_nobody_races_and_some_wait(figure: OpenFigure) -> None:
    """Behind its store, the first group waits for the three others."""
    figure.set(step=1)

    assert figure.read("races") == 0
    assert figure.read("waiting") == LANES


def test_nobody_waits_where_there_is_no_barrier(figure: OpenFigure) -> None:
    waiting = set()
    for step in range(STEPS + 1):
        figure.set(barriers="both", step=step)
        waiting.add(figure.read("waiting"))

    assert waiting == {0}
