"""How the story goes on with different settings."""

import re

import mlx.core as mx

from tiny_llm_course.book.embedded import checkpoint, token_ids
from tiny_llm_ref.sampler import make_sampler

from .story import PROMPT, next_log_probabilities

SETTINGS = {
    "usual": (0.7, 0.9, None),
    "plain": (1.0, None, None),
    "hot": (2.0, None, None),
    "hot_filtered": (2.0, 0.9, None),
}
"""What the continuations in the chapter are drawn with: temp, top_p, top_k."""

TEXTS_PER_SETTING = 3
NEW_TOKENS = 16


def continuations() -> dict[str, list[str]]:
    """Continue the prompt greedily, and a few times with each of the settings.

    All go through the model together: N sequences are the N rows of the sampler.
    """
    greedy = make_sampler(0, None, None)
    samplers = [greedy, *(make_sampler(*one) for one in SETTINGS.values())]
    num_rows = 1 + TEXTS_PER_SETTING * len(SETTINGS)
    ids = mx.array([token_ids(PROMPT)] * num_rows)
    ends = [1 + TEXTS_PER_SETTING * done for done in range(len(SETTINGS))]
    mx.random.seed(3)
    for _ in range(NEW_TOKENS):
        groups = mx.split(next_log_probabilities(ids), ends, axis=0)
        drawn = [draw(rows) for draw, rows in zip(samplers, groups, strict=True)]
        ids = mx.concatenate([ids, mx.concatenate(drawn)[:, None]], axis=1)
    decode = checkpoint().tokenizer.decode
    texts = [_escaped(decode(row)) for row in ids.tolist()]
    found = {"greedy": texts[:1]}
    for name, end in zip(SETTINGS, ends, strict=True):
        found[name] = texts[end : end + TEXTS_PER_SETTING]
    return found


def _escaped(text: str) -> str:
    """Cut off the prompt, and let Markdown show the rest as it is, on one line."""
    line = " ".join(text.removeprefix(PROMPT).split())
    return re.sub(r"([^\w\s,.;?�])", r"\\\1", line)
