"""Drafts of the embedded model: its own first layers, and counts of its texts."""

import functools
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import mlx.core as mx
import numpy as np

from tiny_llm_course.checkpoint import EMBEDDED, LoadedCheckpoint
from tiny_llm_course.solution import Solution
from tiny_llm_lab.bench.models import EMBEDDED_MODEL, load_mlx
from tiny_llm_lab.corpus import Corpus
from tiny_llm_lab.corpus.rows import Packer
from tiny_llm_lab.corpus.story_requests import first_story
from tiny_llm_lab.training.recipe import Recipe

COUNTS = "counts"
LOOKS_BACK = 4
"""How many tokens the counts look at, at most."""

NUM_DOCUMENTS = 4000
"""What the counts have read: a part of what the embedded model was trained on."""

NUM_STORIES = 20


class Counts:
    """A draft without weights: it says what most often followed the last few tokens.

    It is called as a model. What it has seen of the text it keeps itself: a piece that
    begins at some offset takes the place of all that stood there.

    Args:
        texts: What is counted. Where the last tokens never stood side by side, fewer
            of them are looked up.
        vocab_size: The number of tokens that there are.
    """

    num_hidden_layers = 1

    def __init__(self, texts: Iterable[Sequence[int]], vocab_size: int) -> None:
        found = defaultdict[tuple[int, ...], Counter[int]](Counter)
        for text in texts:
            for end, token in enumerate(text):
                for length in range(min(end, LOOKS_BACK) + 1):
                    found[tuple(text[end - length : end])][token] += 1
        self._next = {
            last: counter.most_common(1)[0][0] for last, counter in found.items()
        }
        self._vocab_size = vocab_size
        self._text: list[int] = []

    def __call__(self, inputs: mx.array, offset: int, cache: Sequence[Any]) -> mx.array:
        """Return log-probabilities 1 x L x V: all of it is on one token."""
        text, [new] = self._text, np.array(inputs).tolist()
        text[offset:] = new
        for one in cache:
            one.offset = len(text)  # where the loop looks
        logits = np.full((1, len(new), self._vocab_size), -np.inf, np.float32)
        for place in range(len(new)):
            logits[0, place, self.after(text[: offset + place + 1])] = 0.0
        return mx.array(logits)

    def create_kv_cache(self) -> list[Any]:
        """Return no caches: none are needed to score a text at once."""
        return []

    def after(self, text: Sequence[int]) -> int:
        """Return the token that most often followed the end of a text."""
        ends = (tuple(text[-length:]) for length in range(LOOKS_BACK, 0, -1))
        return next(
            (self._next[end] for end in ends if end in self._next), self._next[()]
        )


@functools.cache
def counts() -> Counts:
    """Count the first rows that the embedded model was trained on."""
    recipe = Recipe()
    tokenizer_file, length = EMBEDDED / "tokenizer.json", recipe.context + 1
    packer = Packer(Corpus(recipe.seed), tokenizer_file, length, NUM_DOCUMENTS)
    return Counts(packer.rows(0).tolist(), recipe.vocab_size)


def model_of(name: str, solution: Solution, num_layers: int | None = None) -> Any:  # noqa: ANN401 - a solution's own
    """Return a model in 4 bits, with all our kernels.

    Args:
        name: One of `bench.models`.
        solution: Whose model it is.
        num_layers: How many of its layers it keeps, from the first on. None: all.
    """
    network = load_mlx(name)
    if num_layers is not None:
        network.model.layers = network.model.layers[:num_layers]
        network.args.num_hidden_layers = num_layers
    return solution.get("qwen2_week3.Qwen2ModelWeek3")(network, True)


def drafts(solution: Solution) -> dict[str, Any]:
    """Return all drafts of the embedded model, by name."""
    num_layers = Recipe().num_layers
    cut = {
        layers_name(number): model_of(EMBEDDED_MODEL, solution, number)
        for number in range(1, num_layers)
    }
    return {**cut, COUNTS: counts()}


def layers_name(number: int) -> str:
    """Return what the first layers of the embedded model are called as a draft."""
    return f"layers to {number}"


def prompts(checkpoint: LoadedCheckpoint) -> list[str]:
    """Ask for stories about pairs of animal and place that were not trained on."""
    rng = random.Random(0)  # noqa: S311
    requests = [first_story(rng, held_out=True).request for _ in range(NUM_STORIES)]
    return [
        checkpoint.chat_prompt([{"role": "user", "content": one}]) for one in requests
    ]
