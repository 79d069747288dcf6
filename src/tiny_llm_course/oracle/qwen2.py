"""The parts of Qwen2, as the classes of `transformers` compute them in float64."""

import itertools
from collections.abc import Iterator, Sequence

import mlx.core as mx
import numpy as np
import torch
from numpy.typing import NDArray
from transformers import DynamicCache, Qwen2Config
from transformers.cache_utils import DynamicLayer
from transformers.models.qwen2 import modeling_qwen2

from tiny_llm_course.grading.judgement.closeness import ALLOWED_ULPS, Truth, epsilon
from tiny_llm_course.grading.scenarios.architecture import Architecture, Weights
from tiny_llm_course.oracle.exact import as_numpy, exact, layer_truth
from tiny_llm_course.oracle.positional_encoding import rotation_angles

ROUNDING = 0.1
"""How far off a layer may be whose products round activations to 8 bits, as a share of
the root mean square of the right numbers. Our layer is off by up to 0.05 in the tests,
and each known mistake by more than 1 in one of them."""


def mlp(x: mx.array, weights: Weights) -> Truth:
    """Run `Qwen2MLP` with the weights of one MLP."""
    intermediate_size, hidden_size = weights["gate_proj.weight"].shape
    config = Qwen2Config(hidden_size=hidden_size, intermediate_size=intermediate_size)
    layer = _loaded(modeling_qwen2.Qwen2MLP(config), weights)
    return layer_truth(layer(exact(x)), intermediate_size, x.dtype)


def attention(
    x: mx.array, weights: Weights, sizes: Architecture, mask: NDArray[np.float64] | None
) -> Truth:
    """Run `Qwen2Attention`.

    Args:
        x: B x L x E.
        weights: Those of one attention layer.
        sizes: Holds the head counts and the base of the rotation.
        mask: Added to the scores.
    """
    layer = modeling_qwen2.Qwen2Attention(_config(sizes), layer_idx=0)
    rotation = _rotation(slice(0, x.shape[1]), sizes)
    output, _ = _loaded(layer, weights)(exact(x), rotation, _tensor(mask))
    return layer_truth(output, sizes.hidden_size, x.dtype)


def block(
    x: mx.array, weights: Weights, sizes: Architecture, mask: NDArray[np.float64] | None
) -> Truth:
    """Run `Qwen2DecoderLayer`, with the arguments of `attention`."""
    layer = modeling_qwen2.Qwen2DecoderLayer(_config(sizes), layer_idx=0)
    rotation = _rotation(slice(0, x.shape[1]), sizes)
    layer = _loaded(layer, weights)
    output = layer(exact(x), _tensor(mask), position_embeddings=rotation)
    return layer_truth(output, sizes.intermediate_size, x.dtype)


def model(ids: mx.array, weights: Weights, sizes: Architecture) -> Truth:
    """Run `Qwen2ForCausalLM` on B x L token ids, and return its logits."""
    network = modeling_qwen2.Qwen2ForCausalLM(_config(sizes))
    rotation = _rotation(slice(0, ids.shape[1]), sizes)
    network.model.rotary_emb.forward = lambda *_, **__: rotation
    network = _loaded(network, weights)
    dtype = weights["model.norm.weight"].dtype
    return layer_truth(network(exact(ids)).logits, sizes.intermediate_size, dtype)


def attention_in_pieces(
    x: mx.array, weights: Weights, sizes: Architecture, pieces: Sequence[int]
) -> Truth:
    """Run `Qwen2Attention` with a mask and its own cache, on pieces of `x`.

    Args:
        x: B x S x E.
        weights: Those of one attention layer.
        sizes: Holds the head counts and the base of the rotation.
        pieces: The number of tokens in each piece.
    """
    layer = modeling_qwen2.Qwen2Attention(_config(sizes), layer_idx=0)
    layer, cache = _loaded(layer, weights), DynamicCache()
    outputs = [
        layer(exact(x[:, one]), _rotation(one, sizes), _mask(one), cache)[0]
        for one in _slices(pieces)
    ]
    return layer_truth(torch.cat(outputs, dim=1), sizes.hidden_size, x.dtype)


def block_in_pieces(
    x: mx.array, weights: Weights, sizes: Architecture, pieces: Sequence[int]
) -> Truth:
    """Run `Qwen2DecoderLayer`, with the arguments of `attention_in_pieces`."""
    layer = modeling_qwen2.Qwen2DecoderLayer(_config(sizes), layer_idx=0)
    layer, cache = _loaded(layer, weights), DynamicCache()
    outputs = [
        layer(
            exact(x[:, one]),
            _mask(one),
            past_key_values=cache,
            position_embeddings=_rotation(one, sizes),
        )
        for one in _slices(pieces)
    ]
    return layer_truth(torch.cat(outputs, dim=1), sizes.intermediate_size, x.dtype)


def block_in_buffers(
    x: mx.array,
    weights: Weights,
    sizes: Architecture,
    buffers: Sequence[mx.array],
    offset: int,
) -> tuple[Truth, ...]:
    """Run `Qwen2DecoderLayer` with a cache, and allow for activations of 8 bits.

    Args:
        x: 1 x L x E.
        weights: Those of one layer.
        sizes: Holds the head counts, eps, and the base of the rotation.
        buffers: Keys and values, 1 x H_kv x C x D, of which `offset` places are taken.
        offset: Position of the first of the L tokens.

    Returns:
        The stream, then both buffers with the new tokens in them.
    """
    layer = modeling_qwen2.Qwen2DecoderLayer(_config(sizes), layer_idx=0)
    cache, new = DynamicCache(), slice(offset, offset + x.shape[1])
    if offset:
        keys, values = (exact(one[:, :, :offset]) for one in buffers)
        cache.update(keys, values, 0)
    output = _loaded(layer, weights)(
        exact(x),
        _mask(new),
        past_key_values=cache,
        position_embeddings=_rotation(new, sizes),
    )
    (kept,) = cache.layers
    assert isinstance(kept, DynamicLayer)
    both = zip(buffers, (kept.keys, kept.values), strict=True)
    return _rounded(output), *(_filled(one, tokens, new) for one, tokens in both)


def _filled(buffer: mx.array, tokens: torch.Tensor | None, new: slice) -> Truth:
    """Return the truth of a buffer: what was there stays, and new tokens come."""
    assert tokens is not None
    value, scale = as_numpy(exact(buffer)), np.zeros(buffer.shape)
    of_new = _rounded(tokens[:, :, new])
    value[:, :, new], scale[:, :, new] = of_new.value, of_new.scale
    return Truth(value, scale)


def _rounded(value: torch.Tensor) -> Truth:
    """Return the truth of a result that was rounded to 8 bits on the way."""
    right = as_numpy(value)
    allowed = ROUNDING * np.sqrt(np.mean(right**2))
    ulps = allowed / (ALLOWED_ULPS * epsilon(mx.float32))
    return Truth(right, np.full(right.shape, ulps))


def model_in_pieces(
    ids: mx.array, weights: Weights, sizes: Architecture, pieces: Sequence[int]
) -> Truth:
    """Run `Qwen2ForCausalLM` with its cache on pieces of B x S token ids."""
    network = modeling_qwen2.Qwen2ForCausalLM(_config(sizes))
    rotary = network.model.rotary_emb
    network = _loaded(network, weights)
    cache, outputs = DynamicCache(), list[torch.Tensor]()
    for one in _slices(pieces):
        rotation = _rotation(one, sizes)
        rotary.forward = lambda *_, it=rotation, **__: it
        outputs.append(network(exact(ids[:, one]), past_key_values=cache).logits)
    dtype = weights["model.norm.weight"].dtype
    return layer_truth(torch.cat(outputs, dim=1), sizes.intermediate_size, dtype)


def _slices(pieces: Sequence[int]) -> Iterator[slice]:
    for start, stop in itertools.pairwise(itertools.accumulate(pieces, initial=0)):
        yield slice(start, stop)


def _tensor(mask: NDArray[np.float64] | None) -> torch.Tensor | None:
    """Convert a mask to PyTorch, if there is one."""
    return None if mask is None else torch.from_numpy(mask)


def _mask(positions: slice) -> torch.Tensor:
    """Return a mask that lets tokens at `positions` see themselves and all earlier."""
    keys, queries = torch.arange(positions.stop), torch.arange(positions.stop)
    is_hidden = keys > queries[positions, None]
    return torch.zeros(is_hidden.shape).double().masked_fill(is_hidden, -torch.inf)


def _config(sizes: Architecture) -> Qwen2Config:
    """Return the config for `transformers`, with attention in plain operations."""
    fields = {**sizes.as_config(), "attn_implementation": "eager"}
    return Qwen2Config.from_dict(fields)


def _rotation(
    positions: slice, sizes: Architecture
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return cosine and sine of every angle, in float64.

    `transformers` computes them in float32, which is not exact enough here.
    """
    head_dim = sizes.hidden_size // sizes.num_attention_heads
    numbers = torch.arange(positions.stop)[positions]
    angles = rotation_angles(numbers, head_dim, sizes.rope_theta)
    angles = torch.cat([angles, angles], dim=-1)[None]
    return angles.cos(), angles.sin()


def _loaded(layer: torch.nn.Module, weights: Weights) -> torch.nn.Module:
    """Load weights into a layer, in float64.

    A tied head has no weight of its own, so it may be missing.
    """
    layer = layer.double().eval()
    missing, unexpected = layer.load_state_dict(
        {name: exact(weight) for name, weight in weights.items()}, strict=False
    )
    assert {*missing} <= {"lm_head.weight"}, f"{missing} would stay random"
    assert not unexpected, f"{unexpected} would not be used"
    return layer
