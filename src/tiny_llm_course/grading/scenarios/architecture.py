"""Small Qwen2 models to grade with: their sizes, and seeded weights."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any

import mlx.core as mx
from mlx.utils import tree_flatten

from tiny_llm_course.checkpoint.names import EMBEDDED
from tiny_llm_course.grading.judgement.inputs import gain, normal, weight
from tiny_llm_course.grading.scenarios import lean_mlx_lm

Weights = dict[str, mx.array]
"""Arrays by their names in a checkpoint, such as "q_proj.weight"."""

IDS = [[3, 1, 4, 1, 5, 9, 2], [6, 5, 35, 8, 0, 49, 7]]
"""Two texts for a small model."""

OF_ATTENTION = {
    "wq": "q_proj.weight",
    "wk": "k_proj.weight",
    "wv": "v_proj.weight",
    "wo": "o_proj.weight",
    "bq": "q_proj.bias",
    "bk": "k_proj.bias",
    "bv": "v_proj.bias",
}
OF_MLP = {
    "w_gate": "gate_proj.weight",
    "w_up": "up_proj.weight",
    "w_down": "down_proj.weight",
}
"""The arguments of a layer's constructor, and what a checkpoint calls them."""

OF_BLOCK = {
    **{name: f"self_attn.{stored}" for name, stored in OF_ATTENTION.items()},
    **{name: f"mlp.{stored}" for name, stored in OF_MLP.items()},
    "w_input_layernorm": "input_layernorm.weight",
    "w_post_attention_layernorm": "post_attention_layernorm.weight",
}


@dataclass(frozen=True)
class Architecture:
    """The sizes of a Qwen2 model in its `config.json`."""

    hidden_size: int = 32
    num_attention_heads: int = 4
    num_key_value_heads: int = 2
    intermediate_size: int = 48
    num_hidden_layers: int = 2
    vocab_size: int = 50
    rms_norm_eps: float = 1e-6
    rope_theta: float = 10000.0
    max_position_embeddings: int = 64
    tie_word_embeddings: bool = True

    def as_config(self) -> dict[str, Any]:
        """Return the fields under their names in a `config.json`."""
        return asdict(self)


UNUSUAL = Architecture(
    hidden_size=24,
    num_attention_heads=3,
    num_key_value_heads=1,
    num_hidden_layers=3,
    rms_norm_eps=0.1,
    rope_theta=300.0,
)
"""Sizes that differ from any constants in a solution."""


def attention_weights(sizes: Architecture, dtype: mx.Dtype, name: str = "") -> Weights:
    """Draw projections and biases of one attention layer."""
    hidden = sizes.hidden_size
    kv_size = hidden // sizes.num_attention_heads * sizes.num_key_value_heads
    return {
        "q_proj.weight": weight(hidden, hidden, dtype, f"{name} q"),
        "k_proj.weight": weight(kv_size, hidden, dtype, f"{name} k"),
        "v_proj.weight": weight(kv_size, hidden, dtype, f"{name} v"),
        "o_proj.weight": weight(hidden, hidden, dtype, f"{name} o"),
        "q_proj.bias": normal(hidden, dtype=dtype, name=f"{name} bq"),
        "k_proj.bias": normal(kv_size, dtype=dtype, name=f"{name} bk"),
        "v_proj.bias": normal(kv_size, dtype=dtype, name=f"{name} bv"),
    }


def attention_arguments(sizes: Architecture, weights: Weights) -> dict[str, Any]:
    """Return what `Qwen2MultiHeadAttention` is built with, in order."""
    return {
        "hidden_size": sizes.hidden_size,
        "num_heads": sizes.num_attention_heads,
        "num_kv_heads": sizes.num_key_value_heads,
        **{name: weights[stored] for name, stored in OF_ATTENTION.items()},
        "max_seq_len": sizes.max_position_embeddings,
        "theta": sizes.rope_theta,
    }


def mlp_weights(sizes: Architecture, dtype: mx.Dtype, name: str = "") -> Weights:
    """Draw the three matrices of one MLP."""
    hidden, intermediate = sizes.hidden_size, sizes.intermediate_size
    return {
        "gate_proj.weight": weight(intermediate, hidden, dtype, f"{name} gate"),
        "up_proj.weight": weight(intermediate, hidden, dtype, f"{name} up"),
        "down_proj.weight": weight(hidden, intermediate, dtype, f"{name} down"),
    }


def mlp_arguments(sizes: Architecture, weights: Weights) -> dict[str, Any]:
    """Return what `Qwen2MLP` is built with, in order."""
    return {
        "dim": sizes.hidden_size,
        "hidden_dim": sizes.intermediate_size,
        **{name: weights[stored] for name, stored in OF_MLP.items()},
    }


def block_weights(sizes: Architecture, dtype: mx.Dtype, name: str = "") -> Weights:
    """Draw all weights of one transformer block."""
    attention = attention_weights(sizes, dtype, name)
    mlp = mlp_weights(sizes, dtype, name)
    return {
        **{f"self_attn.{key}": value for key, value in attention.items()},
        **{f"mlp.{key}": value for key, value in mlp.items()},
        "input_layernorm.weight": gain(sizes.hidden_size, dtype, f"{name} first"),
        "post_attention_layernorm.weight": gain(
            sizes.hidden_size, dtype, f"{name} second"
        ),
    }


def block_arguments(sizes: Architecture, weights: Weights) -> dict[str, Any]:
    """Return what `Qwen2TransformerBlock` is built with, in order."""
    return {
        "num_attention_heads": sizes.num_attention_heads,
        "num_kv_heads": sizes.num_key_value_heads,
        "hidden_size": sizes.hidden_size,
        "intermediate_size": sizes.intermediate_size,
        "rms_norm_eps": sizes.rms_norm_eps,
        **{name: weights[stored] for name, stored in OF_BLOCK.items()},
        "max_seq_len": sizes.max_position_embeddings,
        "theta": sizes.rope_theta,
    }


def model_weights(sizes: Architecture, dtype: mx.Dtype) -> Weights:
    """Draw all weights of a model, under their full names."""
    return dict(_model_weights(sizes, dtype))


def _model_weights(
    sizes: Architecture, dtype: mx.Dtype
) -> Iterator[tuple[str, mx.array]]:
    """Yield the weights of a model, layer by layer."""
    hidden, vocabulary = sizes.hidden_size, sizes.vocab_size
    yield "model.embed_tokens.weight", normal(vocabulary, hidden, dtype=dtype)
    for layer in range(sizes.num_hidden_layers):
        weights = block_weights(sizes, dtype, f"layer {layer}")
        for key, value in weights.items():
            yield f"model.layers.{layer}.{key}", value
    yield "model.norm.weight", gain(hidden, dtype, "last")
    if not sizes.tie_word_embeddings:
        yield "lm_head.weight", weight(vocabulary, hidden, dtype, "head")


def embedded() -> tuple[Architecture, Weights]:
    """Return sizes and weights of the embedded model, in float32."""
    config = json.loads((EMBEDDED / "config.json").read_text(encoding="utf-8"))
    known = {field.name for field in fields(Architecture)}
    sizes = {name: value for name, value in config.items() if name in known}
    weights = mx.load(str(EMBEDDED / "model.safetensors"))
    assert isinstance(weights, dict)
    return Architecture(**sizes), {
        name: array.astype(mx.float32) for name, array in weights.items()
    }


def mlx_model(sizes: Architecture, weights: Weights) -> Any:  # noqa: ANN401 - untyped
    """Build the model that `mlx_lm` would load from a checkpoint of these weights."""
    qwen2 = lean_mlx_lm.module("models.qwen2")
    model = qwen2.Model(qwen2.ModelArgs(model_type="qwen2", **sizes.as_config()))
    model.load_weights(list(weights.items()))
    return model


def dequantised(model: Any) -> Weights:  # noqa: ANN401 - untyped
    """Return the weights of a quantised model, dequantised, by name."""
    stored: Weights = dict(tree_flatten(model.parameters()))
    dense = {
        name: array
        for name, array in stored.items()
        if not name.endswith((".scales", ".biases"))
    }
    for name, module in model.named_modules():
        if hasattr(module, "scales"):
            dense[f"{name}.weight"] = mx.dequantize(
                module.weight,
                module.scales,
                module.biases,
                group_size=module.group_size,
                bits=module.bits,
            )
    return dense


def under(prefix: str, weights: Weights) -> Weights:
    """Return the weights whose names begin with `prefix`, without it."""
    return {
        name.removeprefix(prefix): array
        for name, array in weights.items()
        if name.startswith(prefix)
    }
