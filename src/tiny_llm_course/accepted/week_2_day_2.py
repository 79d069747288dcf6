"""Day 2: other right ways to count what a token costs."""

from fractions import Fraction
from typing import Any

import mlx.core as mx
import numpy as np

from tiny_llm_course.specimens import specimen

FLOPS = "roofline.flops_per_token"
BYTES = "roofline.bytes_per_token"
ROOFLINE = "roofline.roofline"

FLOAT32 = mx.float32

Config = Any


def _shapes(config: Config) -> list[tuple[int, int]]:
    """List the matrices of one layer, as outputs x inputs."""
    hidden, width = config.hidden_size, config.intermediate_size
    head_dim = hidden // config.num_attention_heads
    queries = config.num_attention_heads * head_dim
    keys = config.num_key_value_heads * head_dim
    return [
        (queries, hidden),
        (keys, hidden),
        (keys, hidden),
        (hidden, queries),
        (width, hidden),
        (width, hidden),
        (hidden, width),
    ]


@specimen(1, symbol=FLOPS)
def matrix_by_matrix(config: Config, context: int) -> int:
    head_dim = config.hidden_size // config.num_attention_heads
    flops = 0
    for _ in range(config.num_hidden_layers):
        flops += sum(2 * rows * columns for rows, columns in _shapes(config))
        for _ in range(config.num_attention_heads):
            flops += 2 * context * head_dim + 2 * head_dim * context
    return flops + 2 * config.vocab_size * config.hidden_size


@specimen(1, symbol=FLOPS)
def flops_part_by_part(config: Config, context: int) -> int:
    hidden = config.hidden_size
    head_dim = hidden // config.num_attention_heads
    queries = 2 * hidden * hidden
    keys = 2 * hidden * config.num_key_value_heads * head_dim
    values = 2 * hidden * config.num_key_value_heads * head_dim
    scores = 2 * context * hidden
    collected = 2 * context * hidden
    output = 2 * hidden * hidden
    gate = 2 * hidden * config.intermediate_size
    up = 2 * hidden * config.intermediate_size
    down = 2 * config.intermediate_size * hidden
    attention = queries + keys + values + scores + collected + output
    head = 2 * hidden * config.vocab_size
    return config.num_hidden_layers * (attention + gate + up + down) + head


@specimen(1, symbol=FLOPS)
def one_factor_of_two_in_front(config: Config, context: int) -> int:
    layer = sum(rows * columns for rows, columns in _shapes(config))
    layer += 2 * context * config.hidden_size
    head = config.vocab_size * config.hidden_size
    return 2 * (config.num_hidden_layers * layer + head)


@specimen(1, symbol=FLOPS)
def share_of_the_key_heads(config: Config, context: int) -> float:
    hidden = config.hidden_size
    share = config.num_key_value_heads / config.num_attention_heads
    attention = (2 + 2 * share) * hidden**2
    layer = 2 * (attention + 3 * hidden * config.intermediate_size)
    layers = config.num_hidden_layers * (layer + 4 * context * hidden)
    return round(layers + 2 * hidden * config.vocab_size)


@specimen(1, symbol=FLOPS)
def flops_by_numpy(config: Config, context: int) -> np.int64:
    layer = np.prod(np.array(_shapes(config), np.int64), axis=1).sum()
    attention = np.int64(4 * context * config.hidden_size)
    head = 2 * config.vocab_size * config.hidden_size
    return config.num_hidden_layers * (2 * layer + attention) + head


def _vectors_and_cache(config: Config, context: int) -> int:
    head_dim = config.hidden_size // config.num_attention_heads
    kv_size = config.num_key_value_heads * head_dim
    layer = config.hidden_size + 2 * kv_size + 2 * config.hidden_size
    cache = 2 * context * kv_size
    return config.num_hidden_layers * (layer + cache) + config.hidden_size


@specimen(2, symbol=BYTES)
def size_of_a_weight(
    config: Config,
    context: int,
    bits: int | None = None,
    group_size: int = 64,
    dtype: mx.Dtype = FLOAT32,
) -> float:
    size = dtype.size if bits is None else bits / 8 + 2 * dtype.size / group_size
    weights = sum(rows * columns for rows, columns in _shapes(config))
    rows = config.vocab_size + (0 if config.tie_word_embeddings else 1)
    matrices = config.num_hidden_layers * weights + rows * config.hidden_size
    return matrices * size + _vectors_and_cache(config, context) * dtype.size


@specimen(2, symbol=BYTES)
def in_whole_words(
    config: Config,
    context: int,
    bits: int | None = None,
    group_size: int = 64,
    dtype: mx.Dtype = FLOAT32,
) -> int:
    rows = config.vocab_size + (0 if config.tie_word_embeddings else 1)
    shapes = [*_shapes(config) * config.num_hidden_layers, (rows, config.hidden_size)]
    total = _vectors_and_cache(config, context) * dtype.size
    for outputs, inputs in shapes:
        if bits is None:
            total += outputs * inputs * dtype.size
        else:
            total += outputs * (inputs * bits // 32) * 4
            total += 2 * outputs * (inputs // group_size) * dtype.size
    return total


@specimen(2, symbol=BYTES)
def counted_in_bits(
    config: Config,
    context: int,
    bits: int | None = None,
    group_size: int = 64,
    dtype: mx.Dtype = FLOAT32,
) -> Fraction:
    wide = 8 * dtype.size
    weight = Fraction(wide) if bits is None else bits + Fraction(2 * wide, group_size)
    weights = sum(rows * columns for rows, columns in _shapes(config))
    rows = config.vocab_size + (not config.tie_word_embeddings)
    matrices = config.num_hidden_layers * weights + rows * config.hidden_size
    return (matrices * weight + _vectors_and_cache(config, context) * wide) / 8


@specimen(3, symbol=ROOFLINE)
def time_and_word(
    flops: float, num_bytes: float, flops_per_s: float, bytes_per_s: float
) -> tuple[float, str]:
    compute_s = flops / flops_per_s
    memory_s = num_bytes / bytes_per_s
    limit = "compute" if compute_s > memory_s else "memory"
    return max(compute_s, memory_s), limit


@specimen(3, symbol=ROOFLINE)
def larger_of_two_pairs(
    flops: float, num_bytes: float, flops_per_s: float, bytes_per_s: float
) -> tuple[float, str]:
    return max((num_bytes / bytes_per_s, "memory"), (flops / flops_per_s, "compute"))


@specimen(3, symbol=ROOFLINE)
def by_the_balance_of_the_machine(
    flops: float, num_bytes: float, flops_per_s: float, bytes_per_s: float
) -> tuple[float, str]:
    if flops * bytes_per_s < num_bytes * flops_per_s:
        return num_bytes / bytes_per_s, "memory"
    return flops / flops_per_s, "compute"


@specimen(3, symbol=ROOFLINE)
def from_the_rate_under_the_roof(
    flops: float, num_bytes: float, flops_per_s: float, bytes_per_s: float
) -> tuple[float, str]:
    if not flops:
        return num_bytes / bytes_per_s, "memory"
    intensity = flops / num_bytes if num_bytes else float("inf")
    rate = min(flops_per_s, intensity * bytes_per_s)
    return flops / rate, "compute" if rate == flops_per_s else "memory"


@specimen(3, symbol=ROOFLINE)
def roofline_by_numpy(
    flops: float, num_bytes: float, flops_per_s: float, bytes_per_s: float
) -> tuple[np.float64, str]:
    times = np.array([flops / flops_per_s, num_bytes / bytes_per_s])
    slowest = int(np.argmax(times))
    return times[slowest], ("compute", "memory")[slowest]
