"""The events of a stream, as a reader goes through them."""

import pytest
from tests.book.conftest import OpenFigure

CHAPTER = "week-3-day-6-server"
NAME = "events-of-a-stream"


@pytest.mark.parametrize("example", ["plain", "usage", "length", "error"])
def test_each_event_adds_what_it_brings(figure: OpenFigure, example: str) -> None:
    """What stands in the boxes is what the server sent."""
    events = figure.data[example]

    for step, event in enumerate(events, start=1):
        figure.set(example=example, step=step)
        written = event["text"].replace(" ", "·")
        assert figure.read("text") in (written, "nothing")


def test_button_goes_on_and_begins_again(figure: OpenFigure) -> None:
    figure.set(example="plain", step=len(figure.data["plain"]))

    figure.press("next")

    assert figure.read("text") == "a"
