"""Texts that stream through the reference, cut into tokens of a few bytes."""

from typing import Any

from tiny_llm_course.grading.scenarios.streams import PiecesTokenizer
from tiny_llm_ref.streaming import TextStream

EXAMPLES = {
    "plain": ("The end of EEND", ("END",)),
    "bytes": ("7 € = 狐 😀!", ("!",)),
    "two": ("one abcd two", ("bcd", "c")),
}
SIZES = (1, 2, 3, 5)
"""How many bytes a token has."""


def streamed(text: str, stop: tuple[str, ...], size: int) -> list[dict[str, Any]]:
    """Push a text token by token, and return what is known after each, and at the end.

    Args:
        text: The text.
        stop: The stop texts.
        size: How many bytes a token has. The last one may have fewer.
    """
    whole = text.encode()
    tokens = [whole[first : first + size] for first in range(0, len(whole), size)]
    stream = TextStream(PiecesTokenizer(tokens), stop)
    steps: list[dict[str, Any]] = []
    for place, token in enumerate(tokens):
        new = stream.push(place)
        read = b"".join(tokens[: place + 1])
        steps.append(_state(stream, new, token, read))
    steps.append(_state(stream, stream.finish(), b"", whole))
    return steps


def _state(stream: TextStream, new: str, token: bytes, read: bytes) -> dict[str, Any]:
    """Return what a stream has shown, and what waits."""
    known = read.decode(errors="ignore")
    waits = "" if stream.is_stopped else known.removeprefix(stream.text)
    half = 0 if stream.is_stopped else len(read) - len(known.encode())
    return {
        "token": " ".join(f"{one:02x}" for one in token),
        "new": new,
        "shown": stream.text,
        "waits": waits,
        "half": half,
        "stopped": stream.is_stopped,
    }


def all_examples() -> dict[str, Any]:
    """Return every example, cut into tokens of every size."""
    return {
        name: {
            "text": text,
            "stop": list(stop),
            "sizes": {str(size): streamed(text, stop, size) for size in SIZES},
        }
        for name, (text, stop) in EXAMPLES.items()
    }
