"""Text as it streams: whole characters only, and nothing of a stop text."""

from collections.abc import Sequence
from typing import Any

from tiny_llm_course import todo

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
        todo("week 3, day 5, task 1")

    def push(self, token: int) -> str:
        """Add a token.

        Args:
            token: Its id.

        Returns:
            The text that can be shown now and could not before. It may be empty.
        """
        todo("week 3, day 5, task 1")

    def finish(self) -> str:
        """End the stream: no token follows.

        Returns:
            What was held back, unless a stop text has come.
        """
        todo("week 3, day 5, task 1")
