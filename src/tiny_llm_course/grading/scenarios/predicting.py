"""A whole model with kernels, judged by its predictions for a text."""

import functools
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import mlx.core as mx

from tiny_llm_course.catalogue import say
from tiny_llm_course.checkpoint.names import EMBEDDED
from tiny_llm_course.grading.judgement.call import Call, dtype_name
from tiny_llm_course.grading.judgement.closeness import Truth
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.memory import peak_bytes
from tiny_llm_course.grading.judgement.predictions import (
    MAX_DIVERGENCE,
    MIN_AGREEMENT,
    nearness,
)
from tiny_llm_course.grading.judgement.verdict import (
    LogitsEvidence,
    TextEvidence,
    WrongError,
)
from tiny_llm_course.grading.scenarios.caching import CACHE, InPieces
from tiny_llm_course.solution import Solution

STORY = (
    "Once upon a time, there was a small fox who lived on the island. It had rained "
    "all night. His old home was too small, so he wanted to build a new one. He "
    "gathered palm leaves and driftwood. But each time the roof was on, the house fell "
    'down. "I give up," said Pip and sat down between the cliffs. Then a kangaroo '
    'called Casper came. "Let me hold the walls," he said. Casper held the walls while '
    'Pip put on the roof. "This house is for both of us," said Pip.'
)
"""A text by the embedded model, so that its predictions are confident."""


@functools.cache
def story(num_tokens: int) -> mx.array:
    """Return the ids of a story, 1 x L, repeated if it is too short."""
    from tokenizers import Tokenizer

    ids = Tokenizer.from_file(str(EMBEDDED / "tokenizer.json")).encode(STORY).ids
    return mx.array([(ids * (num_tokens // len(ids) + 1))[:num_tokens]])


@contextmanager
def kernels_set_to(chosen: str) -> Generator[None]:
    """Set `TINY_LLM_KERNELS` inside the `with` block, or in a decorated function."""
    with patch.dict(os.environ, {"TINY_LLM_KERNELS": chosen}):
        yield


@dataclass(frozen=True)
class Predicting(InPieces):
    """A call that builds a model and shows it a text with the kernels on, or off.

    It uses the solution's own caches, because its kernels may depend on their class.

    Attributes:
        kernels: The value of `TINY_LLM_KERNELS`.
    """

    kernels: str = "own"

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a solution returns
        """Return the logits of all pieces."""
        with kernels_set_to(self.kernels):
            return super().run(solution)

    def _cache(self, solution: Solution) -> Any:  # noqa: ANN401 - of a solution
        """Make a plain cache, without recording."""
        return solution.get(CACHE)()

    def __str__(self) -> str:
        """Write the call, and the setting of the kernels."""
        call = super().__str__()
        return say("grading.with_kernels", call=call, kernels=self.kernels)


@dataclass(frozen=True)
class PeakBytes(Predicting):
    """The peak memory of a model for a text, beyond what was held before."""

    def run(self, solution: Solution) -> int:
        """Return the peak number of bytes that MLX held."""
        return peak_bytes(lambda: super(PeakBytes, self).run(solution))


def assert_near(grade: Grader, call: Call, truth: Truth, dtype: mx.Dtype) -> None:
    """Fail unless `call` returns logits whose predictions are nearly the right ones."""
    got = grade.run(call)
    if not isinstance(got, mx.array):
        kind = type(got).__name__
        message = say("grading.not_an_array", call=call, got=kind)
        raise WrongError(message, TextEvidence(kind))
    if got.shape != truth.value.shape:
        names = {"expected": truth.value.shape, "got": got.shape}
        message = say("grading.wrong_shape", call=call, **names)
        raise WrongError(message, TextEvidence(got.shape))
    if got.dtype != dtype:
        names = {"expected": dtype_name(dtype), "got": dtype_name(got.dtype)}
        message = say("grading.wrong_dtype", call=call, **names)
        raise WrongError(message, TextEvidence(got.dtype))
    near = nearness(got, truth.value)
    if not near.is_near:
        complaint = say(
            "week_2_day_7.complaints.far_predictions",
            divergence=near.divergence,
            agreement=near.agreement,
            max_divergence=MAX_DIVERGENCE,
            min_agreement=MIN_AGREEMENT,
        )
        message = say("grading.complaint", call=call, complaint=complaint)
        raise WrongError(message, LogitsEvidence(got))
