"""Operations and bytes of Qwen2-0.5B, and of a model that is small enough for paper."""

from typing import Any

import mlx.core as mx

from tiny_llm_course.grading.scenarios.architecture import Architecture
from tiny_llm_lab import measured
from tiny_llm_lab.experiments import matvec_ladder
from tiny_llm_ref.roofline import bytes_per_token, flops_per_token, roofline

QWEN2 = Architecture(896, 14, 2, 4864, 24, 151936)
TOY = Architecture(4, 2, 1, 6, 1, 10)
CONTEXT = 1024

READ = float(f"{measured.machine().read_bytes_per_s:.3g}")
PRODUCTS = float(f"{measured.machine().flops_per_s:.3g}")
"""Of the machine of the book: bytes and operations per second, to three digits, which
the sliders of the figure have."""

SHORT = 32
"""The tokens of the prompt, and of the context, with which `mlx_lm` was measured."""

WEIGHTS = {
    "dense": "float32",
    "four": "4-bit, float32",
    "four_bfloat16": "4-bit, bfloat16",
}
"""The formats in which it was, as the bench names them."""

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
        **_one_product(),
    }


def _one_product() -> dict[str, float]:
    """Compare a product of the library with the time of reading its matrix."""
    return {
        "one_matrix_ms": 1e3 * matvec_ladder.SHAPES[0].num_bytes / READ,
        "library_ms": measured.ladder_us(matvec_ladder.LIBRARY) / 1e3,
        "operation_us": measured.operation_us(),
    }


def qwen2_0_5b() -> dict[str, Any]:
    """Count the real model."""
    no_context = flops_per_token(QWEN2, 0)
    head = 2 * QWEN2.vocab_size * QWEN2.hidden_size
    at = {f"at_{one}": flops_per_token(QWEN2, one) / 1e9 for one in (32, 1024, 32768)}
    adds = {
        f"attention_adds_{one}": flops_per_token(QWEN2, one) / no_context - 1
        for one in (32, 1024, 32768)
    }
    cached = bytes_per_token(QWEN2, 1) - bytes_per_token(QWEN2, 0)
    four = bytes_per_token(QWEN2, 0, 4)
    return {
        **at,
        **adds,
        "attention_share": 1 - no_context / flops_per_token(QWEN2, 32768),
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
    return {
        "megabytes": num_bytes / 1e6,
        "less": dense / num_bytes,
        "intensity": flops / num_bytes,
        "memory_ms": 1e3 * num_bytes / READ,
        "ms": 1e3 * seconds,
        "limit": limit,
        "speed": 1 / seconds,
    }


def library() -> dict[str, dict[str, float]]:
    """Set the speed of `mlx_lm` in each format against the roof."""
    found = {}
    for name, weights in WEIGHTS.items():
        row = measured.case_of("mlx_lm", weights, "generate", SHORT)
        speed, possible = row["tokens_per_s"], row["roofline_tokens_per_s"]
        found[name] = {
            "speed": speed,
            "possible": possible,
            "share": speed / possible,
            "room": possible / speed,
        }
    return found


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
    row = measured.case_of("mlx_lm", WEIGHTS["four"], "prefill", SHORT)
    speed = row["tokens_per_s"]
    share = speed / found[f"of_{SHORT}"]["speed"]
    return {**found, "measured": speed, "share": share}


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
