"""Week 2, day 7: what goes wrong in the model that has fused kernels.

Mistakes in a kernel are records, beside this file.
"""

from collections.abc import Sequence
from typing import Any

import mlx.core as mx
from mlx import nn

from tiny_llm_course.specimens import specimen
from tiny_llm_ref import kernels
from tiny_llm_ref.attention import (
    flash_attention,
    scaled_dot_product_attention_grouped,
)
from tiny_llm_ref.basics import linear
from tiny_llm_ref.kv_cache import TinyKvCache
from tiny_llm_ref.quantize import (
    QuantizedWeights,
    dequantize_linear,
    quantized_linear,
)

MODEL = "qwen2_week2.Qwen2ModelWeek2"

Array = mx.array
Pair = tuple[Array, Array]


def _silu(x: Array) -> Array:
    return x * mx.sigmoid(x)


class _Model:
    """The model with everything on, in steps, of which each mistake replaces one."""

    def __init__(
        self,
        mlx_model: Any,  # noqa: ANN401 - mlx_lm has no types
        enable_flash_attn: bool = False,
    ) -> None:
        self.args = mlx_model.args
        self.layers = mlx_model.model.layers
        self.num_hidden_layers = len(self.layers)
        self.table = mlx_model.model.embed_tokens
        self.last_norm = mlx_model.model.norm
        self.head = self.table if self.args.tie_word_embeddings else mlx_model.lm_head
        self.has_flash_attention = enable_flash_attn

    def __call__(
        self, inputs: Array, offset: int, cache: Sequence[TinyKvCache]
    ) -> Array:
        x = self.embedded(inputs)
        normed = self.normed(x, self.layers[0].input_layernorm)
        for number, (layer, own) in enumerate(zip(self.layers, cache, strict=True)):
            attended = self.attention(layer.self_attn, normed, offset, own)
            x, normed = self.middle(attended, x, normed, layer)
            x, normed = self.end(self.mlp(layer.mlp, normed), x, normed, number)
        return self.scored(normed)

    def embedded(self, inputs: Array) -> Array:
        x = dequantize_linear(self.table)[inputs]
        is_quantised = isinstance(self.table, nn.QuantizedEmbedding)
        return x.astype(mx.float32) if is_quantised else x

    def normed(self, x: Array, norm: Any) -> Array:  # noqa: ANN401
        return kernels.rms_norm(x, norm.weight, self.args.rms_norm_eps)

    def added(self, x: Array, stream: Array, norm: Any) -> Pair:  # noqa: ANN401
        return kernels.add_rms_norm(x, stream, norm.weight, self.args.rms_norm_eps)

    def middle(self, attended: Array, x: Array, normed: Array, layer: Any) -> Pair:  # noqa: ANN401
        del normed
        return self.added(attended, x, layer.post_attention_layernorm)

    def end(self, out: Array, x: Array, normed: Array, number: int) -> Pair:
        del normed
        return self.added(out, x, self.norm_after(number))

    def norm_after(self, number: int) -> Any:  # noqa: ANN401
        is_last = number + 1 == self.num_hidden_layers
        return self.last_norm if is_last else self.layers[number + 1].input_layernorm

    def scored(self, normed: Array) -> Array:
        return _product(normed, self.head)

    def attention(
        self,
        layer: Any,  # noqa: ANN401
        x: Array,
        offset: int,
        cache: TinyKvCache,
    ) -> Array:
        query, key, value = self.projected(layer, x)
        query, key = self.rotated(query, offset), self.rotated_key(key, offset)
        keys, values, _, _ = cache.update_and_fetch(
            key.swapaxes(1, 2), value.swapaxes(1, 2)
        )
        heads = self.attend(query.swapaxes(1, 2), keys, values)
        return _product(mx.flatten(heads.swapaxes(1, 2), -2, -1), layer.o_proj)

    def projected(self, layer: Any, x: Array) -> list[Array]:  # noqa: ANN401
        num_heads = self.args.num_attention_heads
        num_kv_heads = self.args.num_key_value_heads
        return [
            mx.unflatten(_product(x, one, one.bias), -1, (number, -1))
            for one, number in (
                (layer.q_proj, num_heads),
                (layer.k_proj, num_kv_heads),
                (layer.v_proj, num_kv_heads),
            )
        ]

    def rotated(self, x: Array, offset: int) -> Array:
        return kernels.rope(x, offset, self.args.rope_theta)

    def rotated_key(self, key: Array, offset: int) -> Array:
        return self.rotated(key, offset)

    def attend(self, query: Array, keys: Array, values: Array) -> Array:
        is_flash = self.has_flash_attention
        attend = flash_attention if is_flash else scaled_dot_product_attention_grouped
        return attend(query, keys, values, mask="causal")

    def mlp(self, layer: Any, x: Array) -> Array:  # noqa: ANN401
        gate, up = _product(x, layer.gate_proj), _product(x, layer.up_proj)
        return _product(self.gated(gate, up), layer.down_proj)

    def gated(self, gate: Array, up: Array) -> Array:
        return kernels.swiglu(gate, up)


def _product(x: Array, layer: Any, bias: Array | None = None) -> Array:  # noqa: ANN401
    """Multiply by the weight of a layer, packed or not."""
    if hasattr(layer, "scales"):
        return quantized_linear(x, QuantizedWeights.from_mlx_layer(layer), bias)
    return linear(x, layer.weight, bias)


@specimen(4, symbol=MODEL)
class stream_not_moved_on(_Model):
    def middle(self, attended: Array, x: Array, normed: Array, layer: Any) -> Pair:  # noqa: ANN401
        return x, super().middle(attended, x, normed, layer)[1]


@specimen(4, symbol=MODEL)
class norm_added_for_the_stream(_Model):
    def middle(self, attended: Array, x: Array, normed: Array, layer: Any) -> Pair:  # noqa: ANN401
        return super().middle(attended, normed, normed, layer)


@specimen(4, symbol=MODEL)
class sum_taken_for_its_norm(_Model):
    def middle(self, attended: Array, x: Array, normed: Array, layer: Any) -> Pair:  # noqa: ANN401
        total, normed = super().middle(attended, x, normed, layer)
        return normed, total


@specimen(4, symbol=MODEL)
class norm_of_this_layer_again(_Model):
    def norm_after(self, number: int) -> Any:  # noqa: ANN401
        is_last = number + 1 == self.num_hidden_layers
        return self.last_norm if is_last else self.layers[number].input_layernorm


@specimen(4, symbol=MODEL)
class norms_of_a_layer_exchanged(_Model):
    def middle(self, attended: Array, x: Array, normed: Array, layer: Any) -> Pair:  # noqa: ANN401
        return self.added(attended, x, layer.input_layernorm)

    def norm_after(self, number: int) -> Any:  # noqa: ANN401
        is_last = number + 1 == self.num_hidden_layers
        after = None if is_last else self.layers[number + 1]
        return after.post_attention_layernorm if after else self.last_norm


@specimen(4, symbol=MODEL)
class last_norm_of_the_first_layer(_Model):
    def norm_after(self, number: int) -> Any:  # noqa: ANN401
        return self.layers[(number + 1) % self.num_hidden_layers].input_layernorm


@specimen(4, symbol=MODEL)
class last_sum_forgotten(_Model):
    def end(self, out: Array, x: Array, normed: Array, number: int) -> Pair:
        if number + 1 < self.num_hidden_layers:
            return super().end(out, x, normed, number)
        return out, self.normed(out, self.last_norm)


@specimen(4, symbol=MODEL)
class stream_added_twice(_Model):
    def end(self, out: Array, x: Array, normed: Array, number: int) -> Pair:
        return super().end(out + x, x, normed, number)


@specimen(4, symbol=MODEL)
class query_rotated_from_position_0(_Model):
    def rotated_key(self, key: Array, offset: int) -> Array:
        return kernels.rope(key, offset, self.args.rope_theta)

    def rotated(self, x: Array, offset: int) -> Array:
        return super().rotated(x, 0)


@specimen(4, symbol=MODEL)
class keys_not_rotated(_Model):
    def rotated_key(self, key: Array, offset: int) -> Array:
        return key


@specimen(4, symbol=MODEL)
class heads_before_tokens_rotated(_Model):
    def rotated(self, x: Array, offset: int) -> Array:
        return super().rotated(x.swapaxes(1, 2), offset).swapaxes(1, 2)


@specimen(4, symbol=MODEL)
class gate_and_up_exchanged(_Model):
    def gated(self, gate: Array, up: Array) -> Array:
        return super().gated(up, gate)


@specimen(4, symbol=MODEL)
class gate_of_the_kernel_opened_twice(_Model):
    def gated(self, gate: Array, up: Array) -> Array:
        return super().gated(_silu(gate), up)


@specimen(4, symbol=MODEL)
class whole_model_in_half_precision(_Model):
    def embedded(self, inputs: Array) -> Array:
        x = super().embedded(inputs)
        self.dtype = x.dtype
        return x.astype(mx.bfloat16)

    def scored(self, normed: Array) -> Array:
        return super().scored(normed).astype(self.dtype)


@specimen(4, symbol=MODEL)
class head_always_tied(_Model):
    def __init__(self, *args: Any) -> None:  # noqa: ANN401
        super().__init__(*args)
        self.head = self.table
