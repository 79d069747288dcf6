"""The interactive figure of day 1 of week 3 shows the slots of a real loop."""

from typing import Any

import mlx.core as mx
import pytest
from tests.book.conftest import OpenFigure

from tiny_llm_course.book.chapter_data import values_of
from tiny_llm_course.grading.scenarios.batched import ScriptedBatchModel
from tiny_llm_course.grading.scenarios.fakes import ByteTokenizer
from tiny_llm_course.specimens import UNCHANGED, misconceptions
from tiny_llm_course.syllabus import Address
from tiny_llm_ref.kv_cache import TinyKvFullCache

CHAPTER = "week-3-day-1-many-at-once"
NAME = "filled-slots"
(TOGETHER,) = (
    one
    for one in misconceptions(Address(3, 1, 4))
    if one.name == "batch_waits_for_its_longest"
)
LOOPS = {"at_once": UNCHANGED, "together": TOGETHER.as_solution()}


class Watched(ScriptedBatchModel):
    """Note the length of each row in each step. That of an idle one is 1."""

    def __init__(self, *args: Any) -> None:  # noqa: ANN401
        super().__init__(*args)
        self.lengths: list[list[int]] = []

    def __call__(self, inputs: mx.array, offset: Any, *rest: Any, **more: Any) -> Any:  # noqa: ANN401
        if inputs.shape[1] == 1:
            self.lengths.append([one + 1 for one in offset])
        return super().__call__(inputs, offset, *rest, **more)


def lengths_of_rows(texts: list[list[int]], num_slots: int, way: str) -> list[Any]:
    """Run the loop of the course, and return how long its rows are in each step."""
    answers = {
        chr(65 + number) * prompt: "x" * steps
        for number, (prompt, steps) in enumerate(texts)
    }
    model = Watched(answers, TinyKvFullCache)
    loop = LOOPS[way].get("batch.batch_generate")
    loop(model, ByteTokenizer(), list(answers), batch_size=num_slots)
    return model.lengths


@pytest.mark.parametrize("way", LOOPS)
@pytest.mark.parametrize("num_slots", [1, 3, 4, 8])
def test_the_slots_are_those_of_a_real_loop(
    figure: OpenFigure, num_slots: int, way: str
) -> None:
    lengths = lengths_of_rows(figure.data["texts"], num_slots, way)
    figure.set(slots=num_slots, way=way)

    num_idle = sum(row == 1 for step in lengths for row in step)
    assert figure.read("steps") == len(lengths)
    assert figure.read("idle") == pytest.approx(num_idle / num_slots / len(lengths))
    for number in (1, 2, 9, len(lengths)):
        figure.set(step=number)
        taken = [row for row in lengths[number - 1] if row > 1]
        padding = 1 - sum(taken) / (max(taken) * num_slots)
        assert figure.read("longest") == max(taken)
        assert figure.read("padding") == pytest.approx(padding)


def test_it_opens_with_the_numbers_of_the_text(figure: OpenFigure) -> None:
    numbers = values_of(CHAPTER, "numbers")

    for way in ("together", "at_once"):
        figure.set(way=way)
        assert figure.read("steps") == numbers[way]["steps"]
        assert figure.read("idle") == pytest.approx(numbers[way]["idle"])


def test_half_of_the_places_are_padding_where_the_text_says_so(
    figure: OpenFigure,
) -> None:
    figure.set(slots=8, way="at_once", step=3)

    assert figure.read("padding") > 0.5
