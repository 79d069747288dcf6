"""What the next token after the prompt of the map costs, and what 4 bits change."""

import math
from typing import Any

import mlx.core as mx
from mlx import nn

from tiny_llm_course.book.embedded import checkpoint, head_dim, sizes, weights
from tiny_llm_course.grading.scenarios import architecture
from tiny_llm_ref.basics import softmax
from tiny_llm_ref.qwen2_week1 import Qwen2ModelWeek1
from tiny_llm_ref.roofline import bytes_per_token, flops_per_token

from .passing import ids
from .speaking import likeliest

BITS = 4


def costs() -> dict[str, Any]:
    """Count what a token moves, computes and leaves behind."""
    config, context = checkpoint().model.args, len(ids()) + 1
    kept = 2 * sizes().num_key_value_heads * head_dim() * sizes().num_hidden_layers
    return {
        "layers": sizes().num_hidden_layers,
        "vocabulary": sizes().vocab_size,
        "hidden": sizes().hidden_size,
        "intermediate": sizes().intermediate_size,
        "query_heads": sizes().num_attention_heads,
        "kv_heads": sizes().num_key_value_heads,
        "position": len(ids()) - 1,
        "degrees": _degrees(len(ids()) - 1),
        "bits": BITS,
        "bits_next_share": _share_with_few_bits(),
        "kept": kept,
        "scores": sizes().num_attention_heads * len(ids()) ** 2,
        "matrices": 7 * sizes().num_hidden_layers + 1,
        "mflops": flops_per_token(config, context) / 1e6,
        "mb": bytes_per_token(config, context) / 1e6,
        "packed_mb": bytes_per_token(config, context, BITS) / 1e6,
    }


def _degrees(position: int) -> int:
    """Return by how much a position turns the fastest pair: 1 radian each."""
    return round(math.degrees(position)) % 360


def _share_with_few_bits() -> float:
    """Return what a model of 4-bit weights gives to the token that ours prefers."""
    few = architecture.mlx_model(sizes(), weights())
    nn.quantize(few, group_size=64, bits=BITS)
    row = softmax(Qwen2ModelWeek1(few)(mx.array([ids()]))[0, -1], axis=-1)
    name, _ = likeliest()[-1][0]
    (best,) = checkpoint().tokenizer.encode(f" {name}")
    return row[best].item()
