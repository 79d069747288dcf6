"""Week 2, day 7: other right ways to fuse, in Python and with the library's own."""

from collections.abc import Sequence
from typing import Any

import mlx.core as mx
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
def norm_of_week_1(x: Array, weight: Array, eps: float) -> Array:
    return RMSNorm(x.shape[-1], weight, eps)(x)


@specimen(1, symbol=ADD_RMS_NORM)
def sum_rounded_after_the_norm(
    x: Array, residual: Array, weight: Array, eps: float
) -> Pair:
    total = residual.astype(mx.float32) + x.astype(mx.float32)
    y = RMSNorm(x.shape[-1], weight.astype(mx.float32), eps)(total)
    return total.astype(x.dtype), y.astype(x.dtype)


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


@specimen(3, symbol=SWIGLU)
def gate_through_a_division(gate: Array, up: Array) -> Array:
    wide = gate.astype(mx.float32)
    return (wide * up.astype(mx.float32) / (1 + mx.exp(-wide))).astype(gate.dtype)


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
        return gate * mx.sigmoid(gate) * up


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
