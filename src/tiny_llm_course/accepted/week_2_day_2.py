"""Day 2: other right ways to count what a token costs."""

from typing import Any

import mlx.core as mx
import numpy as np

from tiny_llm_course.specimens import specimen

FLOPS = "roofline.flops_per_token"
BYTES = "roofline.bytes_per_token"

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
def one_factor_of_two_in_front(config: Config, context: int) -> int:
    layer = sum(rows * columns for rows, columns in _shapes(config))
    layer += 2 * context * config.hidden_size
    head = config.vocab_size * config.hidden_size
    return 2 * (config.num_hidden_layers * layer + head)


@specimen(1, symbol=FLOPS)
def flops_by_numpy(config: Config, context: int) -> np.int64:
    layer = np.prod(np.array(_shapes(config), np.int64), axis=1).sum()
    attention = np.int64(4 * context * config.hidden_size)
    head = 2 * config.vocab_size * config.hidden_size
    return config.num_hidden_layers * (2 * layer + attention) + head


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
    kv_size = _shapes(config)[1][0]
    layer = 3 * config.hidden_size + 2 * kv_size + 2 * context * kv_size
    total = (config.num_hidden_layers * layer + config.hidden_size) * dtype.size
    for outputs, inputs in shapes:
        if bits is None:
            total += outputs * inputs * dtype.size
        else:
            total += outputs * (inputs * bits // 32) * 4
            total += 2 * outputs * (inputs // group_size) * dtype.size
    return total
