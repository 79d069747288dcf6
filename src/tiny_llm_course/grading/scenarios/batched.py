"""A model without weights that says several texts at once, and notes how it is used."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import mlx.core as mx
import numpy as np

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.verdict import StepLimitError
from tiny_llm_course.grading.scenarios.caching import CACHE
from tiny_llm_course.grading.scenarios.fakes import (
    END_TOKEN,
    VOCAB_SIZE,
    ByteTokenizer,
    as_bytes,
    ids_of,
    spelt_out,
)
from tiny_llm_course.solution import Solution

_CACHED = "week_2_day_1.complaints"
_COMPLAINTS = "week_3_day_1.complaints"

_PUZZLED = ids_of("?!*+=%@&$")
"""What a model may say after what is no text of its own."""

_MAX_SHOWN = 40
"""How much of what a row sees is shown."""


@dataclass
class Use:
    """How a model was used.

    Attributes:
        num_calls: How often it was called.
        longest: The most tokens that a row was shown in one call.
        widest: The most rows of a call.
        num_positions: How many tokens it was shown in all, those of idle rows included.
    """

    num_calls: int = 0
    longest: int = 0
    widest: int = 0
    num_positions: int = 0


class ScriptedBatchModel:
    """A model that answers each prompt with a text, if caches and offsets are right.

    What a row has been shown is in the caches and nowhere else. After a prompt and a
    beginning of its answer it says the next byte. After anything else it says a sign,
    such as "?", that depends on what it sees, so that other mistakes get other answers.
    Rows that are no such text may be idle, so nothing is asked of them.

    Args:
        answers: What it says after each prompt. As bytes, it may end anywhere.
        new_cache: Makes an empty cache of the solution.
        end: The token that ends an answer.
    """

    num_hidden_layers = 2

    def __init__(
        self,
        answers: Mapping[str, str | bytes],
        new_cache: Callable[[], Any],
        end: int = END_TOKEN,
    ) -> None:
        self.scripts = [
            (ids_of(prompt), [*as_bytes(answer), end])
            for prompt, answer in answers.items()
        ]
        self.use = Use()
        self._new_cache = new_cache

    def create_kv_cache(self) -> list[Any]:
        """Return empty caches for one text, one for each layer."""
        return [self._new_cache() for _ in range(self.num_hidden_layers)]

    def __call__(
        self,
        inputs: mx.array,
        offset: Any,  # noqa: ANN401 - a number, or one per row, as a solution has them
        cache: Sequence[Any],
        logits_to_keep: int | None = None,
    ) -> mx.array:
        """Return logits B x K x V for the new token ids B x L."""
        self._check(inputs, cache)
        stored = [self._stored(one, inputs) for one in cache]
        mx.eval(stored)  # at once: to wait for each takes longer than to compute it
        rows = [self._seen(*one) for one in stored]
        self._count(inputs, rows[0])
        for first, last in zip(rows[0], rows[-1], strict=True):
            if first != last and self._script_of(first):
                shown = {"first": spelt_out(first)[-30:], "last": spelt_out(last)[-30:]}
                raise ValueError(say(f"{_COMPLAINTS}.layers_differ", **shown))
        num_rows, num_new = inputs.shape
        places = [offset] * num_rows if isinstance(offset, int) else list(offset)
        logits = mx.zeros((num_rows, num_new, VOCAB_SIZE))
        logits[..., ord("#")] = 9.0
        logits[1::2, :, ord("~")] = -99.0
        for row, seen in enumerate(rows[0]):
            logits[row, -1, self._next(seen, row, int(places[row]), num_new)] = 20.0
        # Logits mean something within a row only: each row has a level of its own.
        logits = logits + 40.0 * mx.arange(num_rows)[:, None, None]
        return logits if logits_to_keep is None else logits[:, -logits_to_keep:]

    def _check(self, inputs: mx.array, cache: Sequence[Any]) -> None:
        """Raise an error where ids or caches are not what a model takes."""
        if inputs.ndim != 2:
            raise ValueError(
                say("week_2_day_1.complaints.no_batch", shape=inputs.shape)
            )
        if len(cache) != self.num_hidden_layers:
            names = {"number": len(cache), "layers": self.num_hidden_layers}
            raise ValueError(say(f"{_CACHED}.number_of_caches", **names))

    def _count(self, inputs: mx.array, seen: Sequence[Sequence[int]]) -> None:
        """Note a call, and raise when there are far more than there are tokens."""
        use, (num_rows, num_new) = self.use, inputs.shape
        use.num_calls += 1
        use.longest, use.widest = max(use.longest, num_new), max(use.widest, num_rows)
        use.num_positions += num_rows * num_new
        num_tokens = sum(len(prompt) + len(said) for prompt, said in self.scripts)
        if use.num_calls > 4 * num_tokens:
            shown = spelt_out(max(seen, key=len))[:_MAX_SHOWN]
            names = {"num_calls": use.num_calls, "num_tokens": num_tokens}
            raise StepLimitError(say(f"{_COMPLAINTS}.no_end", **names, shown=shown))

    @staticmethod
    def _stored(cache: Any, inputs: mx.array) -> tuple[mx.array, mx.array]:  # noqa: ANN401
        """Put new ids into a cache. Return all in it, and the mask of the last one."""
        new = inputs.astype(mx.float32)[:, None, :, None]
        num_rows, num_new = inputs.shape
        keys, _, _, mask = cache.update_and_fetch(
            new, new, mask_length=num_new, mask="causal"
        )
        num_all = keys.shape[2]
        hidden = mask if isinstance(mask, mx.array) else mx.zeros((1,))
        whole = mx.broadcast_to(hidden, (num_rows, 1, num_new, num_all))
        return keys[:, 0, :, 0], whole[:, 0, -1].astype(mx.float32)

    @staticmethod
    def _seen(keys: mx.array, hidden: mx.array) -> list[list[int]]:
        """Return what the last new token sees, by row."""
        ids, is_seen = np.array(keys).astype(int), np.array(hidden) > -1
        return [row[seen].tolist() for row, seen in zip(ids, is_seen, strict=True)]

    def _next(self, seen: list[int], row: int, offset: int, num_new: int) -> int:
        """Return the token that follows what a row has seen."""
        script = self._script_of(seen)
        if script is None:
            return _PUZZLED[crc32(str(seen).encode()) % len(_PUZZLED)]
        if offset != len(seen) - num_new:
            names = {"row": row, "offset": offset, "num_cached": len(seen) - num_new}
            raise ValueError(say(f"{_COMPLAINTS}.wrong_offset", **names))
        return script[0]

    def _script_of(self, seen: list[int]) -> list[int] | None:
        """Return what is still to be said after a text, or None if it is none."""
        for prompt, answer in self.scripts:
            said = seen[len(prompt) :]
            is_text = seen == [*prompt, *answer[: len(said)]]
            if is_text and len(seen) >= len(prompt) and len(said) < len(answer):
                return answer[len(said) :]
        return None


@dataclass(frozen=True)
class Batched(Call):
    """A loop that gets prompts and a model that answers each of them.

    Attributes:
        args: The prompts, and no more.
        answers: What the model says after each prompt.
        end: The token that ends an answer.
        used: Gets how the model was used.
    """

    answers: Mapping[str, str | bytes] = field(default_factory=dict[str, str | bytes])
    end: int = END_TOKEN
    used: list[Use] = field(default_factory=list[Use])

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a solution returns
        """Return the texts."""
        model = ScriptedBatchModel(self.answers, solution.get(CACHE), self.end)
        self.used.append(model.use)
        loop = solution.get(self.symbol)
        return loop(model, ByteTokenizer(), list(self.args[0]), **self.kwargs)
