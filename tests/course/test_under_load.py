"""What happens at a door is told in few lines, so that what is wrong fits below."""

import pytest

from tiny_llm_course.grading.scenarios.under_load import (
    Come,
    Day,
    Door,
    Go,
    Seen,
    Started,
    Wait,
)


def test_steps_stand_side_by_side() -> None:
    door = Door("limits.Admission", (), build=(1,), steps=(Come(), Wait(3), Go()))

    assert str(door).splitlines()[1:] == ["  enter(1), 3 s pass, leave(1)"]


@pytest.mark.parametrize("number", [8, 24])
def test_many_steps_take_few_lines(number: int) -> None:
    happens = (Started("a"), *(Wait(0.5), Seen("a")) * (number // 2))

    lines = str(Day("metrics.RequestMetrics", (), happens=happens)).splitlines()

    assert len(lines) <= 2 + number // 4
    assert all(len(line) <= 88 and line.count("(") == line.count(")") for line in lines)
