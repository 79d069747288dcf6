"""What the interactive figure offers, and what its readers find with it."""

from dataclasses import asdict, replace
from typing import Any

import mlx.core as mx

from tiny_llm_course.book.embedded import sizes
from tiny_llm_course.grading.scenarios.architecture import Architecture
from tiny_llm_ref.roofline import bytes_per_token, flops_per_token, roofline

from .costs import FORMATS, PRODUCTS, QWEN2, READ, crossing

LONGEST = 32768
# From the config.json of Qwen2-7B-Instruct.
QWEN2_7B = Architecture(
    *(3584, 28, 4, 18944, 28, 152064),
    max_position_embeddings=LONGEST,
    tie_word_embeddings=False,
)
MODELS = {
    "ours": sizes(),
    "qwen2-0.5b": replace(QWEN2, max_position_embeddings=LONGEST),
    "qwen2-7b": QWEN2_7B,
}
H100 = (3.35e12, 990e12)
"""Bytes and operations per second, the latter in bfloat16: from its data sheet."""


def choices() -> dict[str, Any]:
    """Return the models, formats, machines and lengths to choose from."""
    formats = {
        name: {"bits": one.get("bits"), "size": one.get("dtype", mx.float32).size}
        for name, one in FORMATS.items()
    }
    machines = {"chapter": (READ, PRODUCTS), "h100": H100}
    return {
        "models": {name: asdict(one) for name, one in MODELS.items()},
        "formats": formats,
        "group": 64,
        "machines": {
            name: [round(rate / 1e9, 2) for rate in rates]
            for name, rates in machines.items()
        },
        "lengths": lengths(),
    }


def lengths() -> list[int]:
    """Return eight in each doubling, all small ones, and those on the roof's edge."""
    edges = {one - before for one in crossing().values() for before in (0, 1)}
    return sorted({round(2 ** (one / 8)) for one in range(8 * 15 + 1)} | edges)


def several_texts() -> dict[str, Any]:
    """Write a token in several texts at once, which share the weights."""
    small = {f"of_{texts}": _step_ms(QWEN2, 32, texts) for texts in (1, 8)}
    large = {
        f"at_{context}": _step_ms(QWEN2_7B, context, 32, mx.bfloat16, H100)
        / _step_ms(QWEN2_7B, context, 1, mx.bfloat16, H100)
        for context in (32, LONGEST)
    }
    cache = bytes_per_token(QWEN2_7B, LONGEST, dtype=mx.bfloat16)
    cache -= bytes_per_token(QWEN2_7B, 0, dtype=mx.bfloat16)
    return {**small, **large, "cache_gb": cache / 1e9}


def _step_ms(
    model: Architecture,
    context: int,
    texts: int,
    dtype: mx.Dtype = mx.float32,
    rates: tuple[float, float] = (READ, PRODUCTS),
) -> float:
    """Return the milliseconds of one step. Each text has a cache of its own."""
    weights = bytes_per_token(model, 0, dtype=dtype)
    cache = bytes_per_token(model, context, dtype=dtype) - weights
    flops = texts * flops_per_token(model, context)
    num_bytes = weights + texts * cache
    return 1e3 * roofline(flops, num_bytes, rates[1], rates[0])[0]
