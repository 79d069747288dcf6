"""Bits, bytes and operations."""

from typing import Any

import mlx.core as mx

from tiny_llm_course.book.embedded import weights
from tiny_llm_lab import measured
from tiny_llm_lab.experiments import matvec_ladder

WIDTHS = (8, 4, 3, 2)
GROUP_SIZES = (32, 64, 128)
# Layers, hidden size, query heads, key/value heads, MLP width, vocabulary: from the
# config.json of Qwen2-0.5B. Its embeddings are tied.
LAYERS, HIDDEN, HEADS, KV_HEADS, INTERMEDIATE, VOCABULARY = (
    24,
    896,
    14,
    2,
    4864,
    151936,
)


def bits_per_weight() -> dict[str, dict[str, float]]:
    """Count scale and bias of 16 bits in, by bits and group size."""
    return {
        f"b{bits}": {f"g{size}": bits + 2 * 16 / size for size in GROUP_SIZES}
        for bits in WIDTHS
    }


def bytes_per_weight() -> dict[str, float]:
    """Return the bytes of a weight in 4 bits and groups of 64, and in bfloat16."""
    packed = bits_per_weight()["b4"]["g64"] / 8
    return {"packed": packed, "times": 2 / packed, "times_float32": 4 / packed}


def qwen2_bytes() -> dict[str, float]:
    """Count what one token of Qwen2-0.5B reads, and how often memory delivers it."""
    kv_size = HIDDEN // HEADS * KV_HEADS
    layer = 2 * HIDDEN**2 + 2 * kv_size * HIDDEN + 3 * INTERMEDIATE * HIDDEN
    in_matrices = LAYERS * layer + VOCABULARY * HIDDEN
    vectors = LAYERS * (HIDDEN + 2 * kv_size + 2 * HIDDEN) + HIDDEN
    gigabytes = {
        "float32": 4 * (in_matrices + vectors) / 1e9,
        "bfloat16": 2 * (in_matrices + vectors) / 1e9,
        "packed": (in_matrices * bytes_per_weight()["packed"] + 2 * vectors) / 1e9,
    }
    read_gb_per_s = measured.machine().read_bytes_per_s / 1e9
    speeds = {f"{name}_per_s": read_gb_per_s / size for name, size in gigabytes.items()}
    one = {"one_weights": INTERMEDIATE * HIDDEN}
    one["one_mb"] = one["one_weights"] * bytes_per_weight()["packed"] / 1e6
    one["read"] = read_gb_per_s
    one["one_ms"] = one["one_mb"] / read_gb_per_s
    return gigabytes | speeds | one | _library() | {"matrices": in_matrices}


def _library() -> dict[str, float]:
    """Return what MLX does on the CPU: one product, and half precision in a model."""
    wide, half = (
        measured.case_of("mlx_lm", weights, "generate", 32)["tokens_per_s"]
        for weights in ("4-bit, float32", "4-bit, bfloat16")
    )
    return {
        "library_ms": measured.ladder_us(matvec_ladder.LIBRARY) / 1e3,
        "half_times": wide / half,
    }


def embedded_bytes() -> dict[str, float]:
    """Measure the embedded model, its matrices in 4 bits and groups of 64."""
    total = sum(weight.size for weight in weights().values())
    in_matrices = sum(weight.size for weight in matrices())
    packed = in_matrices * bytes_per_weight()["packed"] + 2 * (total - in_matrices)
    return {
        "bfloat16_mb": 2 * total / 1e6,
        "packed_mb": packed / 1e6,
        "share": in_matrices / total,
    }


def matrices() -> list[mx.array]:
    """Return the weights of the embedded model that are quantised."""
    return [weight for weight in weights().values() if weight.ndim == 2]


def operations(group_size: int = 64) -> dict[str, Any]:
    """Count products and sums for one group, weight by weight and by the group."""
    return {
        "plain": 2 * group_size + 2 * group_size,
        "by_group": 2 * group_size + 4,
        "group_size": group_size,
    }
