"""How often drafts of the embedded model are right, in stories that it tells."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tiny_llm_course.checkpoint import load
from tiny_llm_course.solution import Solution
from tiny_llm_lab.bench.models import EMBEDDED_MODEL
from tiny_llm_lab.experiments.drafts import drafts, model_of, prompts

MOST_TOKENS = 400
"""Of a text, with its prompt. The model's context is 512."""

SEED = 0


@dataclass(frozen=True)
class Told:
    """A text: how many of its tokens were asked, the others the model has said."""

    ids: list[int]
    num_asked: int

    @property
    def said(self) -> list[int]:
        """Return what the model has said."""
        return self.ids[self.num_asked :]


def hits(solution: Solution) -> dict[str, list[NDArray[Any]]]:
    """Tell of each token of greedy texts whether a draft would have proposed it.

    Returns:
        By draft, an array for each text.
    """
    texts = list(stories(solution, 0.0))
    return {
        name: [
            np.array(mx.argmax(scores(draft, text), axis=-1) == mx.array(text.said))
            for text in texts
        ]
        for name, draft in drafts(solution).items()
    }


def chances(solution: Solution) -> dict[str, list[NDArray[Any]]]:
    """Return, for each token of drawn texts, the chance that a proposal is accepted.

    It is what the probabilities of draft and model have in common, if the proposal is
    drawn from the draft: the sum of the smaller ones.

    Returns:
        By draft, an array for each text.
    """
    model = model_of(EMBEDDED_MODEL, solution)
    texts = list(stories(solution, 1.0))
    right = [mx.softmax(scores(model, text), axis=-1) for text in texts]
    return {
        name: [
            np.array(
                mx.minimum(mx.softmax(scores(draft, text), axis=-1), own).sum(axis=-1)
            )
            for text, own in zip(texts, right, strict=True)
        ]
        for name, draft in drafts(solution).items()
    }


def stories(solution: Solution, temperature: float) -> Iterator[Told]:
    """Let the embedded model tell its stories."""
    checkpoint = load()
    model = model_of(EMBEDDED_MODEL, solution)
    sampler = solution.get("sampler.make_sampler")(temperature, 0, None)
    mx.random.seed(SEED)
    for prompt in prompts(checkpoint):
        ids = checkpoint.tokenizer.encode(prompt)
        yield told(model, ids, sampler, checkpoint.tokenizer.eos_token_ids)


def told(model: Any, asked: list[int], sampler: Any, ends: set[int]) -> Told:  # noqa: ANN401 - of a solution
    """Let a model continue some ids, to an end token or a limit."""
    caches = model.create_kv_cache()
    ids, new = list(asked), list(asked)
    while len(ids) < MOST_TOKENS:
        logits = model(mx.array([new]), caches[0].offset, caches, 1)[:, -1]
        new = [sampler(logits - mx.logsumexp(logits, axis=-1, keepdims=True)).item()]
        ids += new
        if new[0] in ends:
            break
    return Told(ids, len(asked))


def scores(model: Any, text: Told) -> mx.array:  # noqa: ANN401 - of a solution
    """Return the logits of a model or a draft for each token that was said."""
    logits = model(mx.array([text.ids[:-1]]), 0, model.create_kv_cache())
    return logits[0, text.num_asked - 1 :]
