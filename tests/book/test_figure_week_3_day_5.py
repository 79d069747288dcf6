"""The interactive figure of week 3, day 5, against the stream of the course."""

import pytest
from tests.book.conftest import OpenFigure

from tiny_llm_course.grading.scenarios.streams import PiecesTokenizer
from tiny_llm_ref.streaming import TextStream

CHAPTER, NAME = "week-3-day-5-engine", "held-back-text"

TEXTS = {
    "plain": ("The end of EEND", ("END",)),
    "bytes": ("7 € = 狐 😀!", ("!",)),
    "two": ("one abcd two", ("bcd", "c")),
}


def streamed(example: str, size: int, num_tokens: int) -> TextStream:
    """Return the stream of the course after some tokens of an example."""
    text, stop = TEXTS[example]
    whole = text.encode()
    tokens = [whole[first : first + size] for first in range(0, len(whole), size)]
    stream = TextStream(PiecesTokenizer(tokens), stop)
    for token in range(num_tokens):
        stream.push(token)
    return stream


@pytest.mark.parametrize(
    ("example", "size", "step", "waits", "half"),
    [
        ("plain", 1, 11, "nothing", 0),
        ("plain", 1, 12, "E", 0),
        ("plain", 1, 14, "EN", 0),
        ("plain", 1, 15, "nothing", 0),
        ("plain", 5, 2, "nothing", 0),
        ("bytes", 1, 4, "nothing", 2),
        ("bytes", 3, 3, "=·", 1),
        ("two", 1, 6, "b", 0),
        ("two", 1, 7, "nothing", 0),
    ],
)
def test_shows_what_the_stream_shows_and_what_waits(
    figure: OpenFigure, example: str, size: int, step: int, waits: str, half: int
) -> None:
    stream = streamed(example, size, step)

    figure.set(example=example, size=str(size), step=step)

    assert figure.read("shown") == stream.text.replace(" ", "·")
    assert figure.read("stopped") == ("yes" if stream.is_stopped else "no")
    assert figure.read("waits") == waits
    assert figure.read("half") == half


def test_the_last_step_is_the_end(figure: OpenFigure) -> None:
    """Where all that waited is shown, and after which the button begins anew."""
    figure.set(example="two", size="5", step=4)
    assert figure.read("token") == "the end"

    figure.press("next")

    assert figure.read("token") == "6f 6e 65 20 61"
