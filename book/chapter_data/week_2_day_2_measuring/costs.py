"""Operations and bytes of Qwen2-0.5B, and of a model that is small enough for paper."""

from typing import Any

import mlx.core as mx

from tiny_llm_course.grading.scenarios.architecture import Architecture
from tiny_llm_ref.roofline import bytes_per_token, flops_per_token, roofline

QWEN2 = Architecture(896, 14, 2, 4864, 24, 151936)
TOY = Architecture(4, 2, 1, 6, 1, 10)
CONTEXT = 1024

READ = 44e9
PRODUCTS = 208e9
"""Of two cores with AVX-512, measured once: bytes and operations per second."""

MEASURED = {"dense": 4.2, "four": 3.0}
"""What `mlx_lm` was seen to do there with Qwen2-0.5B's shape, in tokens per second."""

PREFILL_MEASURED = 7.0
"""Its prefill stayed below this."""

FORMATS = {
    "dense": {},
    "bfloat16": {"dtype": mx.bfloat16},
    "eight": {"bits": 8},
    "four": {"bits": 4},
    "four_half": {"bits": 4, "dtype": mx.float16},
}


def by_hand() -> dict[str, int]:
    """Count the toy model as the text does."""
    hidden, width, vocab = TOY.hidden_size, TOY.intermediate_size, TOY.vocab_size
    kv_size = hidden // TOY.num_attention_heads * TOY.num_key_value_heads
    weights = 2 * hidden**2 + 2 * hidden * kv_size + 3 * hidden * width
    counts = {
        "q_and_o": 2 * hidden**2,
        "k_and_v": 2 * hidden * kv_size,
        "mlp": 3 * hidden * width,
        "weights": weights,
        "products": 2 * weights,
        "attention": 4 * 5 * hidden,
        "head": 2 * vocab * hidden,
        "matrices": weights + vocab * hidden,
        "vectors": 3 * hidden + 2 * kv_size + hidden,
        "cache": 2 * 5 * kv_size,
        "flops": flops_per_token(TOY, 5),
        "bytes": bytes_per_token(TOY, 5),
    }
    assert counts["flops"] == 2 * weights + counts["attention"] + counts["head"]
    numbers = counts["matrices"] + counts["vectors"] + counts["cache"]
    assert counts["bytes"] == 4 * numbers
    return {**counts, "numbers": numbers}


def machine_numbers() -> dict[str, float]:
    """Return what the machine of the text can do."""
    return {
        "read": READ / 1e9,
        "products": PRODUCTS / 1e9,
        "balance": PRODUCTS / READ,
        "one_matrix_ms": 1e3 * 4864 * 896 * 5 / 8 / READ,
    }


def qwen2_0_5b() -> dict[str, Any]:
    """Count the real model."""
    no_context = flops_per_token(QWEN2, 0)
    head = 2 * QWEN2.vocab_size * QWEN2.hidden_size
    at = {f"at_{one}": flops_per_token(QWEN2, one) / 1e9 for one in (32, 1024, 32768)}
    attention = {
        f"attention_{one}": 1 - no_context / flops_per_token(QWEN2, one)
        for one in (32, 1024, 32768)
    }
    cached = bytes_per_token(QWEN2, 1) - bytes_per_token(QWEN2, 0)
    four = bytes_per_token(QWEN2, 0, 4)
    return {
        **at,
        **attention,
        "weights": no_context / 1e9,
        "head_share": head / no_context,
        "cache_token": cached,
        "cache_longest": 32768 * cached / 1e6,
        "cache_equals": four // cached,
        "compute_ms": 1e3 * flops_per_token(QWEN2, CONTEXT) / PRODUCTS,
    }


def formats() -> dict[str, Any]:
    """Weigh the model in several formats, and predict its speed."""
    return {name: _predicted(name) for name in FORMATS}


def _predicted(name: str) -> dict[str, Any]:
    """Return bytes, intensity and the time under the roof, for one more token."""
    num_bytes = bytes_per_token(QWEN2, CONTEXT, **FORMATS[name])
    flops = flops_per_token(QWEN2, CONTEXT)
    seconds, limit = roofline(flops, num_bytes, PRODUCTS, READ)
    dense = bytes_per_token(QWEN2, CONTEXT)
    known = MEASURED.get(name)
    reached = {"share": known * seconds, "room": 1 / (known * seconds)} if known else {}
    return {
        "megabytes": num_bytes / 1e6,
        "less": dense / num_bytes,
        "intensity": flops / num_bytes,
        "memory_ms": 1e3 * num_bytes / READ,
        "ms": 1e3 * seconds,
        "limit": limit,
        "speed": 1 / seconds,
        **reached,
    }


def prefill_flops(num_tokens: int) -> int:
    """Count a prompt: every token sees those up to it, the last one meets the head."""
    head = 2 * QWEN2.vocab_size * QWEN2.hidden_size
    seen = range(1, num_tokens + 1)
    return head + sum(flops_per_token(QWEN2, one) - head for one in seen)


def prefill() -> dict[str, Any]:
    """Predict how fast prompts are read, with 4-bit weights."""
    found: dict[str, Any] = {}
    for length in (1, 32, 256, 1024):
        flops, num_bytes = prefill_flops(length), bytes_per_token(QWEN2, length, 4)
        seconds, limit = roofline(flops, num_bytes, PRODUCTS, READ)
        found[f"of_{length}"] = {
            "gflops": flops / 1e9,
            "intensity": flops / num_bytes,
            "ms": 1e3 * seconds,
            "limit": limit,
            "speed": length / seconds,
        }
    return {**found, "share": PREFILL_MEASURED / found["of_1024"]["speed"]}


def crossing() -> dict[str, int]:
    """Return the shortest prompt that is limited by arithmetic, by format."""
    return {name: _crossing(name) for name in ("dense", "four")}


def _crossing(name: str) -> int:
    """Find it by trying."""
    length = 1
    while True:
        num_bytes = bytes_per_token(QWEN2, length, **FORMATS[name])
        limit = roofline(prefill_flops(length), num_bytes, PRODUCTS, READ)[1]
        if limit == "compute":
            return length
        length += 1
