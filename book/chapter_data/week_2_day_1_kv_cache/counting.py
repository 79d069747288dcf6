"""Positions that are computed, bytes that are kept, tokens that are moved."""

from dataclasses import dataclass
from typing import Any

from tiny_llm_course.book.embedded import sizes

STEP = 256
FIRST = 16


@dataclass(frozen=True)
class Shape:
    """What decides on the size of a cache.

    Attributes:
        layers: Number of layers.
        kv_heads: Number of key and value heads.
        heads: Number of query heads.
        head_dim: Width of a head.
        context: Number of tokens that the model can see.
    """

    layers: int
    kv_heads: int
    heads: int
    head_dim: int
    context: int


def _ours() -> Shape:
    """Return the shape of the embedded model."""
    own = sizes()
    return Shape(
        own.num_hidden_layers,
        own.num_key_value_heads,
        own.num_attention_heads,
        own.hidden_size // own.num_attention_heads,
        own.max_position_embeddings,
    )


# Those of Qwen2 are in table 1 of its report, arXiv:2407.10671.
SHAPES = {
    "ours": _ours(),
    "small": Shape(24, 2, 14, 64, 32_768),
    "large": Shape(28, 4, 28, 128, 32_768),
}


def sizes_of(shape: Shape) -> dict[str, Any]:
    """Return the bytes of a cache whose numbers have two bytes each."""
    per_token = 2 * shape.layers * shape.kv_heads * shape.head_dim * 2
    return {
        "layers": shape.layers,
        "kv_heads": shape.kv_heads,
        "heads": shape.heads,
        "head_dim": shape.head_dim,
        "context": shape.context,
        "per_token": per_token,
        "kib": per_token / 2**10,
        "mib": per_token * shape.context / 2**20,
        "all_heads": shape.heads // shape.kv_heads,
    }


def steps(num_prompt: int, num_steps: int) -> dict[str, float]:
    """Count the positions that are computed without a cache, and with one."""
    again = num_prompt * num_steps + num_steps * (num_steps - 1) // 2
    once = num_prompt + num_steps - 1
    return {
        "prompt": num_prompt,
        "steps": num_steps,
        "again": again,
        "once": once,
        "ratio": again / once,
    }


def moved_by_one(num_tokens: int) -> int:
    """Count the tokens that are moved when each new one makes a new array."""
    return num_tokens * (num_tokens - 1) // 2


def moved_in_steps(num_tokens: int) -> int:
    """Count the tokens that are moved when a buffer grows by `STEP` places."""
    return sum(range(STEP, num_tokens, STEP))


def moved_by_doubling(num_tokens: int) -> int:
    """Count the tokens that are moved when a buffer of `FIRST` places doubles."""
    moved, capacity = 0, FIRST
    while capacity < num_tokens:
        moved += capacity
        capacity *= 2
    return moved


def growth(num_tokens: int) -> dict[str, int]:
    """Return what three ways to grow move, for a text that comes token by token."""
    assert moved_by_doubling(num_tokens) < 2 * num_tokens
    return {
        "tokens": num_tokens,
        "one": moved_by_one(num_tokens),
        "steps": moved_in_steps(num_tokens),
        "doubling": moved_by_doubling(num_tokens),
    }
