"""A text that goes through a stream of tokens, cut in one way or in every way."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.scenarios.caching import compositions
from tiny_llm_course.solution import Solution

STREAM = "streaming.TextStream"

Part = Literal["pieces", "result", "text", "refusal"]


class PiecesTokenizer:
    """A tokenizer whose tokens are given bytes: token i is the i-th of them.

    Args:
        pieces: The bytes of each token.
    """

    eos_token_ids = frozenset[int]()

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces = pieces

    def decode(
        self, token_ids: Sequence[int] | int, skip_special_tokens: bool = False
    ) -> str:
        """Return the text of some tokens. There are no special ones."""
        del skip_special_tokens
        ids = [token_ids] if isinstance(token_ids, int) else token_ids
        return b"".join(self._pieces[one] for one in ids).decode(errors="replace")

    @property
    def detokenizer(self) -> "SpacelessDetokenizer":
        """A new detokenizer each time, as in `mlx_lm`."""
        return SpacelessDetokenizer(self)

    def __getattr__(self, name: str) -> NoReturn:
        """Raise an error that names what to use instead."""
        has = sorted(one for one in dir(type(self)) if not one.startswith("_"))
        names = {"name": name, "has": ", ".join(has)}
        raise AttributeError(say("interface.no_attribute", **names))


class SpacelessDetokenizer:
    """Turn tokens into text as `mlx_lm` does: a space at the beginning is dropped."""

    def __init__(self, tokenizer: PiecesTokenizer) -> None:
        self._tokenizer = tokenizer
        self.reset()

    def reset(self) -> None:
        """Forget all tokens."""
        self.tokens: list[int] = []
        self.text = ""
        self._held: list[int] = []
        self._num_shown = 0

    @property
    def last_segment(self) -> str:
        """The text since the last access."""
        segment = self.text[self._num_shown :]
        self._num_shown = len(self.text)
        return segment

    def add_token(self, token: int) -> None:
        """Add a token, and its text if no character is cut."""
        self.tokens.append(token)
        self._held.append(token)
        if not self._tokenizer.decode(self._held).endswith("\ufffd"):
            self.finalize()

    def finalize(self) -> None:
        """Add what is left, complete or not."""
        new = self._tokenizer.decode(self._held)
        self.text += new if self.text else new.removeprefix(" ")
        self._held = []


@dataclass(frozen=True)
class Streamed(Call):
    """A text that is pushed token by token.

    Attributes:
        args: The stop texts.
        tokens: The bytes of each token.
        part: What is judged: what `push` returns for each token, and then `finish`; the
            text of all that together, and whether it was stopped; the attribute; or
            whether such a stream is refused.
    """

    tokens: tuple[bytes, ...] = ()
    part: Part = "pieces"

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a solution returns
        """Push every token, and return the part."""
        if self.part != "refusal":
            return self._pushed(solution)
        try:
            self._pushed(solution)
        except ValueError:
            return True
        return False

    def _pushed(self, solution: Solution) -> Any:  # noqa: ANN401 - of a solution
        tokenizer = PiecesTokenizer(self.tokens)
        stop = (self.args,) if self.args else ()
        stream = solution.get(self.symbol)(tokenizer, *stop)
        pieces = [stream.push(token) for token in range(len(self.tokens))]
        pieces.append(stream.finish())
        if self.part == "text":
            return stream.text
        if self.part == "result":
            return "".join(pieces), stream.is_stopped
        return pieces

    def __str__(self) -> str:
        """Write the calls as code."""
        stop = f", {list(self.args)}" if self.args else ""
        judged = {
            "pieces": "pieces",
            "refusal": "pieces",
            "text": "stream.text",
            "result": "''.join(pieces), stream.is_stopped",
        }
        return (
            f"stream = TextStream(tokenizer{stop})\n"
            f"pieces = [*map(stream.push, {list(self.tokens)}), stream.finish()]\n"
            f"{judged[self.part]}"
        )


@dataclass(frozen=True)
class EverySplit(Call):
    """A text that is cut into tokens in every way, each with a stream of its own.

    Attributes:
        args: The stop texts.
        text: The text.
    """

    text: str = ""

    def run(self, solution: Solution) -> list[tuple[str, bool]]:
        """Return the different results: shown text, and whether it was stopped."""
        found: dict[tuple[str, bool], None] = {}
        for tokens in splits(self.text.encode()):
            call = Streamed(self.symbol, self.args, tokens=tokens, part="result")
            found[call.run(solution)] = None
        return list(found)

    def __str__(self) -> str:
        """Describe what is tried."""
        told = {"text": repr(self.text), "stop": list(self.args)}
        return say("week_3_day_5.calls.every_split", **told)


def splits(text: bytes) -> list[tuple[bytes, ...]]:
    """Return every way to cut some bytes into tokens."""
    return [
        tuple(
            text[sum(sizes[:place]) : sum(sizes[: place + 1])]
            for place in range(len(sizes))
        )
        for sizes in compositions(len(text))
    ]
