"""Text as it streams: whole characters only, and nothing of a stop text."""

from collections.abc import Sequence
from typing import Any

REPLACEMENT = "\ufffd"
"""What `decode` writes for bytes that are no character, or not yet."""


class TextStream:
    """Turn tokens into text as they come, and end it at a stop text.

    A token may hold a part of a character: it is held back until the character is
    complete. So is text that may become a stop text, until it is clear that it does
    not. What is shown, all together, is what `tokenizer.decode` makes of all tokens, up
    to the stop text.

    Where several stop texts occur, the one that is complete first ends the text; of
    those that are complete with the same character, the longest. So the result does not
    depend on how the text is cut into tokens.

    Attributes:
        text: All that has been shown so far.
        is_stopped: Whether a stop text has come. Nothing is shown from then on.

    Args:
        tokenizer: Its `decode` takes a list of ids. Tokens are bytes of text, as those
            of Qwen2: the text of two lists, one after the other, is that of both
            together, except where a character is cut.
        stop: Texts that end the stream, and are not shown themselves.

    Raises:
        ValueError: A stop text is empty, which would end every text at once.
    """

    def __init__(
        self,
        tokenizer: Any,  # noqa: ANN401 - mlx_lm has no types
        stop: Sequence[str] = (),
    ) -> None:
        if "" in stop:
            raise ValueError("TextStream: expected stop texts with characters, got ''")
        self.text = ""
        self.is_stopped = False
        self._tokenizer = tokenizer
        self._stop = tuple(stop)
        self._half: list[int] = []  # tokens of a character that is not complete
        self._held = ""  # text that may become a stop text

    def push(self, token: int) -> str:
        """Add a token.

        Args:
            token: Its id.

        Returns:
            The text that can be shown now and could not before. It may be empty.
        """
        self._half.append(token)
        characters = self._tokenizer.decode(self._half)
        if characters.endswith(REPLACEMENT):
            return ""
        self._half.clear()
        return self._show(characters, is_last=False)

    def finish(self) -> str:
        """End the stream: no token follows.

        Returns:
            What was held back, unless a stop text has come.
        """
        rest = self._tokenizer.decode(self._half) if self._half else ""
        self._half.clear()
        return self._show(rest, is_last=True)

    def _show(self, characters: str, *, is_last: bool) -> str:
        """Add characters to what is held back, and return what can be shown of it."""
        if self.is_stopped:
            return ""
        self._held += characters
        start = _start_of_stop(self._held, self._stop)
        self.is_stopped = start is not None
        if start is None:
            num_held = 0 if is_last else _num_undecided(self._held, self._stop)
            start = len(self._held) - num_held
        shown, self._held = self._held[:start], self._held[start:]
        self.text += shown
        return shown


def _start_of_stop(text: str, stop: Sequence[str]) -> int | None:
    """Return where the stop text begins that is complete first. None if none is."""
    starts = ((text.find(one), one) for one in stop)
    found = [(start + len(one), start) for start, one in starts if start >= 0]
    return min(found)[1] if found else None


def _num_undecided(text: str, stop: Sequence[str]) -> int:
    """Return how many characters at the end of a text may begin a stop text."""
    return max(
        (
            length
            for one in stop
            for length in range(1, min(len(one), len(text) + 1))
            if text.endswith(one[:length])
        ),
        default=0,
    )
