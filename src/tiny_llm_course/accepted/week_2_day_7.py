"""Week 2, day 7: other right ways to fuse, in Python and with the library's own."""

import math
from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import numpy as np
from mlx import nn

from tiny_llm_course.specimens import specimen
from tiny_llm_ref import kernels
from tiny_llm_ref.attention import flash_attention
from tiny_llm_ref.kv_cache import TinyKvCache
from tiny_llm_ref.layer_norm import RMSNorm
from tiny_llm_ref.positional_encoding import RoPE
from tiny_llm_ref.quantize import dequantize_linear

RMS_NORM = "kernels.rms_norm"
ADD_RMS_NORM = "kernels.add_rms_norm"
ROPE = "kernels.rope"
SWIGLU = "kernels.swiglu"
MODEL = "qwen2_week2.Qwen2ModelWeek2"

Array = mx.array
Pair = tuple[Array, Array]


@specimen(1, symbol=RMS_NORM)
def norm_of_the_library(x: Array, weight: Array, eps: float) -> Array:
    return mx.fast.rms_norm(x, weight, eps)


@specimen(1, symbol=RMS_NORM)
def norm_of_week_1(x: Array, weight: Array, eps: float) -> Array:
    return RMSNorm(x.shape[-1], weight, eps)(x)


@specimen(1, symbol=RMS_NORM)
def norm_one_square_after_the_other(x: Array, weight: Array, eps: float) -> Array:
    """Sum as a plain loop does, and divide by the root."""
    wide = np.array(x.astype(mx.float32))
    total = np.cumsum(wide * wide, axis=-1, dtype=np.float32)[..., -1:]
    root = np.sqrt(total / np.float32(x.shape[-1]) + np.float32(eps))
    gains = np.array(weight.astype(mx.float32))
    return mx.array(gains * (wide / root)).astype(x.dtype)


@specimen(1, symbol=RMS_NORM)
def norm_with_sums_side_by_side(x: Array, weight: Array, eps: float) -> Array:
    """Pad the rows to whole vectors, and keep a sum for each lane."""
    wide = x.astype(mx.float32)
    padding = [(0, 0)] * (x.ndim - 1) + [(0, -x.shape[-1] % 16)]
    lanes = mx.unflatten(mx.pad(wide * wide, padding), -1, (-1, 16))
    total = mx.sum(mx.sum(lanes, axis=-2), axis=-1, keepdims=True)
    factor = 1 / mx.sqrt(total / x.shape[-1] + eps)
    return (wide * (factor * weight.astype(mx.float32))).astype(x.dtype)


@specimen(1, symbol=RMS_NORM)
def norm_in_float64(x: Array, weight: Array, eps: float) -> Array:
    wide = np.array(x.astype(mx.float32), dtype=np.float64)
    root = np.sqrt(np.mean(wide * wide, axis=-1, keepdims=True) + eps)
    y = wide / root * np.array(weight.astype(mx.float32), dtype=np.float64)
    return mx.array(y.astype(np.float32)).astype(x.dtype)


@specimen(1, symbol=ADD_RMS_NORM)
def sum_rounded_before_the_norm(
    x: Array, residual: Array, weight: Array, eps: float
) -> Pair:
    total = x + residual
    return total, mx.fast.rms_norm(total, weight, eps)


@specimen(1, symbol=ADD_RMS_NORM)
def sum_rounded_after_the_norm(
    x: Array, residual: Array, weight: Array, eps: float
) -> Pair:
    total = residual.astype(mx.float32) + x.astype(mx.float32)
    y = RMSNorm(x.shape[-1], weight.astype(mx.float32), eps)(total)
    return total.astype(x.dtype), y.astype(x.dtype)


@specimen(1, symbol=ADD_RMS_NORM)
def squares_summed_while_adding(
    x: Array, residual: Array, weight: Array, eps: float
) -> Pair:
    """Take one pass for sum and squares, and a second one for the factor."""
    rows = [np.array(one.astype(mx.float32)) for one in (x, residual)]
    total = rows[0] + rows[1]
    squares = np.einsum("...d,...d->...", total, total)[..., None]
    factor = (squares / np.float32(x.shape[-1]) + np.float32(eps)) ** np.float32(-0.5)
    y = total * factor * np.array(weight.astype(mx.float32))
    return mx.array(total).astype(x.dtype), mx.array(y).astype(x.dtype)


@specimen(2, symbol=ROPE)
def rotation_of_week_1(x: Array, offset: int, base: float) -> Array:
    stop = offset + x.shape[1]
    return RoPE(x.shape[-1], stop, base)(x, slice(offset, stop))


@specimen(2, symbol=ROPE)
def rotation_of_the_library(x: Array, offset: int, base: float) -> Array:
    turned = mx.fast.rope(
        x.astype(mx.float32).swapaxes(1, 2),
        x.shape[-1],
        traditional=False,
        base=base,
        scale=1.0,
        offset=offset,
    )
    return turned.swapaxes(1, 2).astype(x.dtype)


@specimen(2, symbol=ROPE)
def rotation_as_a_product_of_complex_numbers(
    x: Array, offset: int, base: float
) -> Array:
    half = x.shape[-1] // 2
    wide = np.array(x.astype(mx.float32))
    numbers = wide[..., :half] + 1j * wide[..., half:]
    positions = np.arange(offset, offset + x.shape[1])
    angles = np.outer(positions, base ** (-np.arange(half) / half))
    turned = numbers * np.exp(1j * angles).astype(np.complex64)[:, None]
    y = np.concatenate([turned.real, turned.imag], axis=-1)
    return mx.array(y.astype(np.float32)).astype(x.dtype)


@specimen(2, symbol=ROPE)
def rotation_with_each_angle_by_itself(x: Array, offset: int, base: float) -> Array:
    """Take cosine and sine from the library of C, and rotate the halves as a whole."""
    D = x.shape[-1]  # noqa: N806 - as in the formula
    rows = [
        [position * base ** (-2 * (i % (D // 2)) / D) for i in range(D)]
        for position in range(offset, offset + x.shape[1])
    ]
    cosines = mx.array([[math.cos(angle) for angle in row] for row in rows])
    sines = mx.array([[math.sin(angle) for angle in row] for row in rows])
    wide = x.astype(mx.float32)
    other = mx.concatenate([-wide[..., D // 2 :], wide[..., : D // 2]], axis=-1)
    return (wide * cosines[:, None] + other * sines[:, None]).astype(x.dtype)


@specimen(3, symbol=SWIGLU)
def gate_through_a_division(gate: Array, up: Array) -> Array:
    wide = gate.astype(mx.float32)
    return (wide * up.astype(mx.float32) / (1 + mx.exp(-wide))).astype(gate.dtype)


@specimen(3, symbol=SWIGLU)
def gate_through_tanh(gate: Array, up: Array) -> Array:
    wide = gate.astype(mx.float32)
    share = 0.5 + 0.5 * mx.tanh(wide / 2)
    return (share * wide * up.astype(mx.float32)).astype(gate.dtype)


@specimen(3, symbol=SWIGLU)
def gate_in_float64(gate: Array, up: Array) -> Array:
    wide = np.array(gate.astype(mx.float32), dtype=np.float64)
    with np.errstate(over="ignore"):
        y = wide / (1 + np.exp(-wide)) * np.array(up.astype(mx.float32), np.float64)
    return mx.array(y.astype(np.float32)).astype(gate.dtype)


@specimen(3, symbol=SWIGLU)
def gate_compiled(gate: Array, up: Array) -> Array:
    """Let MLX fuse it: that is what the chapter compares with."""

    def opened(gate: Array, up: Array) -> Array:
        return gate * mx.sigmoid(gate) * up

    wide = mx.compile(opened)(gate.astype(mx.float32), up.astype(mx.float32))
    return wide.astype(gate.dtype)


class _Model:
    """The model in few lines, whose products are those of the layers of MLX."""

    def __init__(
        self,
        mlx_model: Any,  # noqa: ANN401 - mlx_lm has no types
        enable_flash_attn: bool = False,
    ) -> None:
        del enable_flash_attn
        self.args = mlx_model.args
        self.layers = mlx_model.model.layers
        self.num_hidden_layers = len(self.layers)
        self.table = mlx_model.model.embed_tokens
        self.last_norm = mlx_model.model.norm
        is_tied = self.args.tie_word_embeddings
        self.head = self.table.as_linear if is_tied else mlx_model.lm_head

    def __call__(
        self, inputs: Array, offset: int, cache: Sequence[TinyKvCache]
    ) -> Array:
        x = dequantize_linear(self.table)[inputs]
        if isinstance(self.table, nn.QuantizedEmbedding):
            x = x.astype(mx.float32)
        for layer, own in zip(self.layers, cache, strict=True):
            attention, normed = layer.self_attn, self.normed(x, layer.input_layernorm)
            query, key, value = self.heads(attention, normed)
            query, key = (self.rotated(one, offset) for one in (query, key))
            keys, values, _, _ = own.update_and_fetch(
                key.swapaxes(1, 2), value.swapaxes(1, 2)
            )
            seen = flash_attention(query.swapaxes(1, 2), keys, values, mask="causal")
            x = x + attention.o_proj(mx.flatten(seen.swapaxes(1, 2), -2, -1))
            normed = self.normed(x, layer.post_attention_layernorm)
            gate, up = layer.mlp.gate_proj(normed), layer.mlp.up_proj(normed)
            x = x + layer.mlp.down_proj(self.gated(gate, up))
        return self.head(self.normed(x, self.last_norm))

    def heads(self, attention: Any, x: Array) -> list[Array]:  # noqa: ANN401
        width = self.args.hidden_size // self.args.num_attention_heads
        return [
            mx.unflatten(projection(x), -1, (-1, width))
            for projection in (attention.q_proj, attention.k_proj, attention.v_proj)
        ]

    def normed(self, x: Array, norm: Any) -> Array:  # noqa: ANN401
        return kernels.rms_norm(x, norm.weight, self.args.rms_norm_eps)

    def rotated(self, x: Array, offset: int) -> Array:
        return kernels.rope(x, offset, self.args.rope_theta)

    def gated(self, gate: Array, up: Array) -> Array:
        return kernels.swiglu(gate, up)


@specimen(4, symbol=MODEL)
class kernels_between_products_of_the_library(_Model):
    """Adds and normalises in two steps."""


@specimen(4, symbol=MODEL)
class all_of_the_library(_Model):
    def normed(self, x: Array, norm: Any) -> Array:  # noqa: ANN401
        return mx.fast.rms_norm(x, norm.weight, self.args.rms_norm_eps)

    def rotated(self, x: Array, offset: int) -> Array:
        return rotation_of_the_library(x, offset, self.args.rope_theta)

    def gated(self, gate: Array, up: Array) -> Array:
        return nn.silu(gate) * up


@specimen(4, symbol=MODEL)
class operations_of_week_1(_Model):
    def normed(self, x: Array, norm: Any) -> Array:  # noqa: ANN401
        return norm_of_week_1(x, norm.weight, self.args.rms_norm_eps)

    def rotated(self, x: Array, offset: int) -> Array:
        return rotation_of_week_1(x, offset, self.args.rope_theta)

    def gated(self, gate: Array, up: Array) -> Array:
        return gate_through_a_division(gate, up)


@specimen(4, symbol=MODEL)
class queries_and_keys_rotated_together(_Model):
    """Rotate all heads in one call: they stand side by side."""

    def heads(self, attention: Any, x: Array) -> list[Array]:  # noqa: ANN401
        query, key, value = super().heads(attention, x)
        both = mx.concatenate([query, key], axis=2)
        return [both, key, value]

    def rotated(self, x: Array, offset: int) -> Array:
        num_heads = self.args.num_attention_heads
        if x.shape[2] > num_heads:
            self.turned = super().rotated(x, offset)
            return self.turned[:, :, :num_heads]
        return self.turned[:, :, num_heads:]
