"""What comes out of the model for the prompt of the map: shares, draws, a story."""

import functools
from typing import Any

import mlx.core as mx

from tiny_llm_ref.basics import softmax
from tiny_llm_ref.sampler import make_sampler

from .passing import ids, model, on_the_way, shown

NUM_LIKELIEST, NUM_DRAWS, STORY_TOKENS = 5, 8, 12


def shares_of_heads() -> list[list[list[float]]]:
    """Return for each token, head and key how much attention it gets."""
    weights = on_the_way().weights.swapaxes(0, 1).tolist()
    return [[[round(share, 3) for share in head] for head in one] for one in weights]


def likeliest() -> list[list[tuple[str, float]]]:
    """Return for each token the likeliest next ones, with their probabilities."""
    rows = softmax(on_the_way().logits, axis=-1)
    return [
        [(shown(one), round(row[one].item(), 3)) for one in _best(row)] for row in rows
    ]


def said() -> dict[str, list[Any]]:
    """Return what is chosen after each token: the likeliest, and at random."""
    logs = on_the_way().logits
    logs = logs - mx.logsumexp(logs, axis=-1, keepdims=True)
    mx.random.seed(7)
    drawn = [make_sampler(1.0, None, None)(logs).tolist() for _ in range(NUM_DRAWS)]
    return {
        "greedy": [shown(one) for one in make_sampler(0, None, None)(logs).tolist()],
        "draws": [[shown(one) for one in row] for row in zip(*drawn, strict=True)],
    }


@functools.cache
def continuation() -> list[int]:
    """Return the tokens with which the model goes on, the likeliest each time."""
    text = list(ids())
    for _ in range(STORY_TOKENS):
        text.append(mx.argmax(model()(mx.array([text]))[0, -1]).item())
    return text[len(ids()) :]


def _best(row: mx.array) -> list[int]:
    """Return the ids of the largest entries, the largest first."""
    found: list[int] = mx.argsort(-row)[:NUM_LIKELIEST].tolist()
    return found
