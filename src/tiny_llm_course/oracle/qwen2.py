"""The parts of Qwen2, as the classes of `transformers` compute them in float64."""

import mlx.core as mx
import torch
from transformers import Qwen2Config
from transformers.models.qwen2 import modeling_qwen2

from tiny_llm_course.grading.architecture import Architecture, Weights
from tiny_llm_course.grading.closeness import Truth
from tiny_llm_course.oracle.exact import exact, layer_truth
from tiny_llm_course.oracle.positional_encoding import rotation_angles


def mlp(x: mx.array, weights: Weights) -> Truth:
    """Run `Qwen2MLP` with the weights of one MLP."""
    intermediate_size, hidden_size = weights["gate_proj.weight"].shape
    config = Qwen2Config(hidden_size=hidden_size, intermediate_size=intermediate_size)
    layer = _loaded(modeling_qwen2.Qwen2MLP(config), weights)
    return layer_truth(layer(exact(x)), intermediate_size, x.dtype)


def attention(
    x: mx.array, weights: Weights, sizes: Architecture, mask: torch.Tensor | None
) -> Truth:
    """Run `Qwen2Attention`.

    Args:
        x: B x L x E.
        weights: Those of one attention layer.
        sizes: Holds the head counts and the base of the rotation.
        mask: Added to the scores.
    """
    layer = modeling_qwen2.Qwen2Attention(_config(sizes), layer_idx=0)
    rotation = _rotation(x.shape[1], sizes)
    output, _ = _loaded(layer, weights)(exact(x), rotation, mask)
    return layer_truth(output, sizes.hidden_size, x.dtype)


def block(
    x: mx.array, weights: Weights, sizes: Architecture, mask: torch.Tensor | None
) -> Truth:
    """Run `Qwen2DecoderLayer`, with the arguments of `attention`."""
    layer = modeling_qwen2.Qwen2DecoderLayer(_config(sizes), layer_idx=0)
    rotation = _rotation(x.shape[1], sizes)
    output = _loaded(layer, weights)(exact(x), mask, position_embeddings=rotation)
    return layer_truth(output, sizes.intermediate_size, x.dtype)


def model(ids: mx.array, weights: Weights, sizes: Architecture) -> Truth:
    """Run `Qwen2ForCausalLM` on B x L token ids, and return its logits."""
    network = modeling_qwen2.Qwen2ForCausalLM(_config(sizes))
    rotation = _rotation(ids.shape[1], sizes)
    network.model.rotary_emb.forward = lambda *_, **__: rotation
    network = _loaded(network, weights)
    dtype = weights["model.norm.weight"].dtype
    return layer_truth(network(exact(ids)).logits, sizes.intermediate_size, dtype)


def _config(sizes: Architecture) -> Qwen2Config:
    """Describe a model to `transformers`, its attention in plain operations."""
    fields = {**sizes.as_config(), "attn_implementation": "eager"}
    return Qwen2Config.from_dict(fields)


def _rotation(length: int, sizes: Architecture) -> tuple[torch.Tensor, torch.Tensor]:
    """Return cosine and sine of every angle, in float64.

    `transformers` computes them in float32, which is not exact enough for a truth.
    """
    head_dim = sizes.hidden_size // sizes.num_attention_heads
    angles = rotation_angles(torch.arange(length), head_dim, sizes.rope_theta)
    angles = torch.cat([angles, angles], dim=-1)[None]
    return angles.cos(), angles.sin()


def _loaded(layer: torch.nn.Module, weights: Weights) -> torch.nn.Module:
    """Put weights into a layer, in float64.

    A tied head has no weight of its own, so it may be missing.
    """
    layer = layer.double().eval()
    missing, unexpected = layer.load_state_dict(
        {name: exact(weight) for name, weight in weights.items()}, strict=False
    )
    assert {*missing} <= {"lm_head.weight"}, f"{missing} would stay random"
    assert not unexpected, f"{unexpected} would not be used"
    return layer
