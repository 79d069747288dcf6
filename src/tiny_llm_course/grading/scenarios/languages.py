"""A model that is run row by row and says given texts, or babbles."""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.scenarios.fakes import (
    END_TOKEN,
    VOCAB_SIZE,
    as_bytes,
    ids_of,
    spelt_out,
)

_SAID = "week_3_day_5.complaints"


class Language:
    """Says one answer to each prompt, and something else after any other text.

    It stores the tokens it is shown in the caches and nowhere else, so it knows a text
    only if caches and positions are right. Where no answer is given it babbles: its
    logits are normal numbers that depend on the whole text.

    Attributes:
        most_rows: How many rows the step with the most of them had.
        most_tokens: How many tokens the step with the most of them had.
        num_tokens: How many tokens all steps had.

    Args:
        answers: What it says to each prompt, as text or bytes. None babbles.
        fails_at: Texts that it raises a RuntimeError at, as soon as one is all it knows
            of a row.
    """

    num_hidden_layers = 2

    def __init__(
        self,
        answers: Mapping[str, str | bytes | None],
        fails_at: Sequence[str | bytes] = (),
    ) -> None:
        scripts = ((ids_of(prompt), answer) for prompt, answer in answers.items())
        self._scripts = [
            (prompt, None if answer is None else [*as_bytes(answer), END_TOKEN])
            for prompt, answer in scripts
        ]
        self._fails_at = [list(as_bytes(text)) for text in fails_at]
        self.most_rows = self.most_tokens = self.num_tokens = 0

    def logits(self, seen: Sequence[int]) -> NDArray[np.float32]:
        """Return what it thinks of the token after a text."""
        rng = np.random.default_rng(zlib.crc32(repr(list(seen)).encode()))
        row = rng.normal(size=VOCAB_SIZE).astype(np.float32)
        row[END_TOKEN:] = -30.0
        next_one = self._next(list(seen))
        if next_one is not None:
            row[next_one] = 20.0
        return row

    def run(
        self,
        model: Any,  # noqa: ANN401 - handed through a solution
        pieces: Sequence[Sequence[int]],
        caches: Sequence[Sequence[Any]],
        logits_to_keep: int | Sequence[int] = 1,
    ) -> mx.array:
        """Compute a step, as `run_pieces` does: K x V."""
        if model is not self:
            raise ValueError(say(f"{_SAID}.other_model"))
        if len(pieces) != len(caches):
            counts = {"pieces": len(pieces), "caches": len(caches)}
            raise ValueError(say(f"{_SAID}.number_of_rows", **counts))
        self.most_rows = max(self.most_rows, len(pieces))
        self.most_tokens = max(self.most_tokens, sum(map(len, pieces)))
        self.num_tokens += sum(map(len, pieces))
        kept = (
            [logits_to_keep] * len(pieces)
            if isinstance(logits_to_keep, int)
            else logits_to_keep
        )
        rows = [
            self.logits(seen[: len(seen) - place])
            for seen, number in zip(self._known(pieces, caches), kept, strict=True)
            for place in reversed(range(number))
        ]
        return mx.array(np.array(rows).reshape(-1, VOCAB_SIZE))

    def _known(
        self, pieces: Sequence[Sequence[int]], caches: Sequence[Sequence[Any]]
    ) -> list[list[int]]:
        """Put the new tokens of all rows into their caches, and return all in them."""
        remembered = [
            self._remembered(piece, own)
            for piece, own in zip(pieces, caches, strict=True)
        ]
        mx.eval(remembered)  # at once: to wait for each takes longer than to compute it
        known = [self._agreed(layers) for layers in remembered]
        for seen in known:
            if seen in self._fails_at:
                raise RuntimeError(say(f"{_SAID}.fails_at", text=spelt_out(seen)))
        return known

    def _remembered(
        self, piece: Sequence[int], caches: Sequence[Any]
    ) -> list[mx.array]:
        """Put new tokens into the caches of a row, and return what each layer knows.

        Each token is a number that only its layer has.
        """
        if len(caches) != self.num_hidden_layers:
            counts = {"number": len(caches), "layers": self.num_hidden_layers}
            raise ValueError(say(f"{_SAID}.number_of_caches", **counts))
        layers = []
        for layer, cache in enumerate(caches):
            first = layer * VOCAB_SIZE
            new = mx.array([first + token for token in piece], mx.float32)
            new = new[None, None, :, None]
            keys = cache.update_and_fetch(new, new, len(piece), "causal")[0]
            layers.append(keys[0, 0, :, 0])
        return layers

    @staticmethod
    def _agreed(layers: Sequence[mx.array]) -> list[int]:
        """Return the tokens of a row, or none if layers know different ones."""
        tokens = [
            [int(one) - layer * VOCAB_SIZE for one in np.array(keys)]
            for layer, keys in enumerate(layers)
        ]
        return tokens[0] if all(one == tokens[0] for one in tokens) else []

    def _next(self, seen: list[int]) -> int | None:
        """Return the next token of the answer to a text. None if it babbles."""
        for prompt, answer in self._scripts:
            said = seen[len(prompt) :]
            if seen[: len(prompt)] != prompt:
                continue
            if answer is None or (
                len(said) < len(answer) and said == answer[: len(said)]
            ):
                return None if answer is None else answer[len(said)]
        is_begun = any(prompt[: len(seen)] == seen for prompt, _ in self._scripts)
        return None if is_begun and seen else ord("?")
