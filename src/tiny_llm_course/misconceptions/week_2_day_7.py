"""Week 2, day 7: what goes wrong in fused kernels, and in the model that has them.

A kernel gets float32 and full rows; what stands here does what a wrong one would.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

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

RMS_NORM = "kernels.rms_norm"
ADD_RMS_NORM = "kernels.add_rms_norm"
ROPE = "kernels.rope"
SWIGLU = "kernels.swiglu"
MODEL = "qwen2_week2.Qwen2ModelWeek2"

LANES = 16
"""How many floats a vector register of AVX-512 holds."""

Array = mx.array
Pair = tuple[Array, Array]


def _wide(x: Array) -> Array:
    return x.astype(mx.float32)


def _whole_vectors(length: int) -> int:
    """Return how many numbers of a row fill vector registers."""
    return length // LANES * LANES


class _Norm:
    """The norm in steps, of which each mistake replaces one."""

    def __call__(self, x: Array, weight: Array, eps: float) -> Array:
        factor = self.factor(self.mean_square(_wide(x)), eps)
        return self.scaled(_wide(x), factor, _wide(weight)).astype(x.dtype)

    def squares(self, x: Array) -> Array:
        return mx.sum(x * x, axis=-1, keepdims=True)

    def mean_square(self, x: Array) -> Array:
        return self.squares(x) / x.shape[-1]

    def factor(self, mean_square: Array, eps: float) -> Array:
        return 1 / mx.sqrt(mean_square + eps)

    def scaled(self, x: Array, factor: Array, weight: Array) -> Array:
        return x * factor * weight


def _norm(steps: type[_Norm]) -> Callable[[Array, Array, float], Array]:
    """Make a mistake in `rms_norm` of wrong steps."""

    def rms_norm(x: Array, weight: Array, eps: float) -> Array:
        return steps()(x, weight, eps)

    rms_norm.__name__ = steps.__name__
    return specimen(1, symbol=RMS_NORM)(rms_norm)


@_norm
class eps_outside_the_root(_Norm):
    def factor(self, mean_square: Array, eps: float) -> Array:
        return 1 / (mx.sqrt(mean_square) + eps)


@_norm
class eps_forgotten(_Norm):
    def factor(self, mean_square: Array, eps: float) -> Array:
        del eps
        return 1 / mx.sqrt(mean_square)


@_norm
class eps_added_to_the_sum(_Norm):
    def mean_square(self, x: Array) -> Array:
        return self.squares(x)

    def __call__(self, x: Array, weight: Array, eps: float) -> Array:
        total = (self.squares(_wide(x)) + eps) / x.shape[-1]
        return self.scaled(_wide(x), mx.rsqrt(total), _wide(weight)).astype(x.dtype)


@_norm
class sum_for_mean(_Norm):
    def mean_square(self, x: Array) -> Array:
        return self.squares(x)


@_norm
class root_forgotten(_Norm):
    def factor(self, mean_square: Array, eps: float) -> Array:
        return 1 / (mean_square + eps)


@_norm
class mean_subtracted(_Norm):
    def __call__(self, x: Array, weight: Array, eps: float) -> Array:
        centred = _wide(x) - mx.mean(_wide(x), axis=-1, keepdims=True)
        return super().__call__(centred, weight, eps).astype(x.dtype)


@_norm
class gain_forgotten(_Norm):
    def scaled(self, x: Array, factor: Array, weight: Array) -> Array:
        del weight
        return x * factor


@_norm
class one_gain_for_each_row(_Norm):
    def scaled(self, x: Array, factor: Array, weight: Array) -> Array:
        rows = mx.arange(x.size // x.shape[-1]) % weight.size
        return x * factor * weight[rows].reshape(factor.shape)


@_norm
class squared_in_half_precision(_Norm):
    def __call__(self, x: Array, weight: Array, eps: float) -> Array:
        mean_square = mx.mean(x * x, axis=-1, keepdims=True)
        factor = self.factor(_wide(mean_square), eps)
        return self.scaled(_wide(x), factor, _wide(weight)).astype(x.dtype)


@_norm
class rest_of_the_row_not_summed(_Norm):
    def squares(self, x: Array) -> Array:
        return super().squares(x[..., : _whole_vectors(x.shape[-1])])


@_norm
class rest_of_the_row_not_written(_Norm):
    def scaled(self, x: Array, factor: Array, weight: Array) -> Array:
        is_written = mx.arange(x.shape[-1]) < _whole_vectors(x.shape[-1])
        return mx.where(is_written, x * factor * weight, 0)


@_norm
class rest_of_the_row_summed_twice(_Norm):
    def squares(self, x: Array) -> Array:
        first = _whole_vectors(x.shape[-1])
        return super().squares(x) + super().squares(x[..., first:])


@_norm
class divided_by_the_whole_vectors(_Norm):
    def mean_square(self, x: Array) -> Array:
        num_vectors = -(-x.shape[-1] // LANES)
        return self.squares(x) / (num_vectors * LANES)


@_norm
class one_lane_for_the_sum(_Norm):
    def squares(self, x: Array) -> Array:
        first = _whole_vectors(x.shape[-1])
        lane = mx.concatenate([x[..., :first:LANES], x[..., first:]], axis=-1)
        return super().squares(lane)


@_norm
class first_row_for_all(_Norm):
    def factor(self, mean_square: Array, eps: float) -> Array:
        return super().factor(mx.flatten(mean_square)[0], eps)


@_norm
class sum_not_set_back(_Norm):
    def squares(self, x: Array) -> Array:
        rows = super().squares(x)
        return mx.cumsum(mx.flatten(rows)).reshape(rows.shape)


class _AddNorm:
    """Adding and normalising in steps, of which each mistake replaces one."""

    norm = _Norm()

    def __call__(self, x: Array, residual: Array, weight: Array, eps: float) -> Pair:
        total = self.added(_wide(x), _wide(residual))
        y = self.normalised(x, residual, total, weight, eps)
        first, second = self.results(total, y)
        return first.astype(x.dtype), second.astype(x.dtype)

    def added(self, x: Array, residual: Array) -> Array:
        return x + residual

    def normalised(
        self, x: Array, residual: Array, total: Array, weight: Array, eps: float
    ) -> Array:
        del x, residual
        return self.norm(total, weight, eps)

    def results(self, total: Array, y: Array) -> Pair:
        return total, y


def _add_norm(steps: type[_AddNorm]) -> Callable[..., Pair]:
    """Make a mistake in `add_rms_norm` of wrong steps."""

    def add_rms_norm(x: Array, residual: Array, weight: Array, eps: float) -> Pair:
        return steps()(x, residual, weight, eps)

    add_rms_norm.__name__ = steps.__name__
    return specimen(1, symbol=ADD_RMS_NORM)(add_rms_norm)


@_add_norm
class norm_without_the_residual(_AddNorm):
    def normalised(
        self, x: Array, residual: Array, total: Array, weight: Array, eps: float
    ) -> Array:
        return self.norm(_wide(x), weight, eps)


@_add_norm
class norm_of_the_residual(_AddNorm):
    def normalised(
        self, x: Array, residual: Array, total: Array, weight: Array, eps: float
    ) -> Array:
        return self.norm(_wide(residual), weight, eps)


@_add_norm
class residual_added_after_the_norm(_AddNorm):
    def normalised(
        self, x: Array, residual: Array, total: Array, weight: Array, eps: float
    ) -> Array:
        return self.norm(_wide(x), weight, eps) + _wide(residual)


@_add_norm
class residual_returned_unchanged(_AddNorm):
    def __call__(self, x: Array, residual: Array, weight: Array, eps: float) -> Pair:
        return residual, super().__call__(x, residual, weight, eps)[1]


@_add_norm
class x_returned_unchanged(_AddNorm):
    def __call__(self, x: Array, residual: Array, weight: Array, eps: float) -> Pair:
        return x, super().__call__(x, residual, weight, eps)[1]


@_add_norm
class sum_overwritten_by_the_norm(_AddNorm):
    def results(self, total: Array, y: Array) -> Pair:
        del total
        return y, y


@_add_norm
class sum_returned_twice(_AddNorm):
    def results(self, total: Array, y: Array) -> Pair:
        del y
        return total, total


@_add_norm
class results_exchanged(_AddNorm):
    def results(self, total: Array, y: Array) -> Pair:
        return y, total


@_add_norm
class residual_subtracted(_AddNorm):
    def added(self, x: Array, residual: Array) -> Array:
        return x - residual


@_add_norm
class residual_of_the_first_row(_AddNorm):
    def added(self, x: Array, residual: Array) -> Array:
        return x + residual.reshape(-1, x.shape[-1])[0]


@_add_norm
class rest_of_the_row_not_added(_AddNorm):
    def added(self, x: Array, residual: Array) -> Array:
        is_added = mx.arange(x.shape[-1]) < _whole_vectors(x.shape[-1])
        return mx.where(is_added, x + residual, x)


@_add_norm
class squares_of_x_for_those_of_the_sum(_AddNorm):
    def normalised(
        self, x: Array, residual: Array, total: Array, weight: Array, eps: float
    ) -> Array:
        factor = self.norm.factor(self.norm.mean_square(_wide(x)), eps)
        return self.norm.scaled(total, factor, _wide(weight))


class _Rope:
    """The rotation in steps, of which each mistake replaces one."""

    def __call__(self, x: Array, offset: int, base: float) -> Array:
        angles = self.angles(self.positions(x, offset), x, base)
        cosines, sines = self.table(angles)
        return self.rotated(_wide(x), cosines, sines).astype(x.dtype)

    def positions(self, x: Array, offset: int) -> Array:
        """Return positions that broadcast to B x L x H."""
        return (mx.arange(x.shape[1]) + offset)[:, None]

    def exponents(self, D: int) -> Array:  # noqa: N803 - as in the formula
        return mx.arange(0, D, 2) / D

    def angles(self, positions: Array, x: Array, base: float) -> Array:
        return positions[..., None] * mx.power(base, -self.exponents(x.shape[-1]))

    def table(self, angles: Array) -> Pair:
        return mx.cos(angles), mx.sin(angles)

    def rotated(self, x: Array, cosines: Array, sines: Array) -> Array:
        a, b = mx.split(x, 2, axis=-1)
        return mx.concatenate(self.turned(a, b, cosines, sines), axis=-1)

    def turned(self, a: Array, b: Array, cosines: Array, sines: Array) -> list[Array]:
        return [a * cosines - b * sines, b * cosines + a * sines]


def _rope(steps: type[_Rope]) -> Callable[[Array, int, float], Array]:
    """Make a task 2 mistake of wrong steps."""

    def rope(x: Array, offset: int, base: float) -> Array:
        return steps()(x, offset, base)

    rope.__name__ = steps.__name__
    return specimen(2, symbol=ROPE)(rope)


@_rope
class neighbours_as_pairs(_Rope):
    def rotated(self, x: Array, cosines: Array, sines: Array) -> Array:
        pair = self.turned(x[..., 0::2], x[..., 1::2], cosines, sines)
        return mx.stack(pair, axis=-1).reshape(x.shape)


@_rope
class offset_ignored(_Rope):
    def positions(self, x: Array, offset: int) -> Array:
        return super().positions(x, 0)


@_rope
class positions_from_1(_Rope):
    def positions(self, x: Array, offset: int) -> Array:
        return super().positions(x, offset + 1)


@_rope
class offset_for_all_tokens(_Rope):
    def positions(self, x: Array, offset: int) -> Array:
        return mx.full((x.shape[1], 1), offset)


@_rope
class sequences_counted_through(_Rope):
    def positions(self, x: Array, offset: int) -> Array:
        tokens = mx.arange(x.shape[0] * x.shape[1])
        return (tokens + offset).reshape(x.shape[0], x.shape[1], 1)


@_rope
class positions_of_the_heads(_Rope):
    def positions(self, x: Array, offset: int) -> Array:
        return (mx.arange(x.shape[2]) + offset)[None, :]


@_rope
class base_always_10000(_Rope):
    def angles(self, positions: Array, x: Array, base: float) -> Array:
        del base
        return super().angles(positions, x, 10000.0)


@_rope
class base_cut_to_a_whole_number(_Rope):
    def angles(self, positions: Array, x: Array, base: float) -> Array:
        return super().angles(positions, x, float(int(base)))


@_rope
class base_always_1000000(_Rope):
    def angles(self, positions: Array, x: Array, base: float) -> Array:
        del base
        return super().angles(positions, x, 1000000.0)


@_rope
class exponent_without_the_2(_Rope):
    def exponents(self, D: int) -> Array:  # noqa: N803
        return mx.arange(D // 2) / D


@_rope
class exponent_over_half_the_width(_Rope):
    def exponents(self, D: int) -> Array:  # noqa: N803
        return mx.arange(0, D, 2) / (D // 2)


@_rope
class exponent_divided_as_integers(_Rope):
    def exponents(self, D: int) -> Array:  # noqa: N803
        return mx.zeros(D // 2)


@_rope
class exponent_without_the_minus(_Rope):
    def exponents(self, D: int) -> Array:  # noqa: N803
        return -super().exponents(D)


@_rope
class rotated_backwards(_Rope):
    def turned(self, a: Array, b: Array, cosines: Array, sines: Array) -> list[Array]:
        return super().turned(a, b, cosines, -sines)


@_rope
class sine_and_cosine_swapped(_Rope):
    def turned(self, a: Array, b: Array, cosines: Array, sines: Array) -> list[Array]:
        return super().turned(a, b, sines, cosines)


@_rope
class first_overwritten_too_early(_Rope):
    def turned(self, a: Array, b: Array, cosines: Array, sines: Array) -> list[Array]:
        a = a * cosines - b * sines
        return [a, b * cosines + a * sines]


@_rope
class only_the_first_head_rotated(_Rope):
    def rotated(self, x: Array, cosines: Array, sines: Array) -> Array:
        first = super().rotated(x[:, :, :1], cosines, sines)
        return mx.concatenate([first, x[:, :, 1:]], axis=2)


@_rope
class rest_of_the_pairs_not_rotated(_Rope):
    def turned(self, a: Array, b: Array, cosines: Array, sines: Array) -> list[Array]:
        is_turned = mx.arange(a.shape[-1]) < _whole_vectors(a.shape[-1])
        turned = super().turned(a, b, cosines, sines)
        return [
            mx.where(is_turned, new, old)
            for new, old in zip(turned, (a, b), strict=True)
        ]


@_rope
class cosines_in_float16(_Rope):
    def table(self, angles: Array) -> Pair:
        cosines, sines = super().table(angles)
        return cosines.astype(mx.float16), sines.astype(mx.float16)


@_rope
class frequencies_in_half_precision(_Rope):
    def angles(self, positions: Array, x: Array, base: float) -> Array:
        exponents = self.exponents(x.shape[-1])
        return positions[..., None] * _wide(
            mx.power(base, -exponents).astype(mx.float16)
        )


def _gating(gate_of: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    """Make a task 3 mistake of a wrong formula in float32."""

    def swiglu(gate: Array, up: Array) -> Array:
        return gate_of(_wide(gate), _wide(up)).astype(gate.dtype)

    swiglu.__name__ = gate_of.__name__
    return specimen(3, symbol=SWIGLU)(swiglu)


def _silu(x: Array) -> Array:
    return x * mx.sigmoid(x)


@_gating
def silu_of_up(gate: Array, up: Array) -> Array:
    return gate * _silu(up)


@_gating
def silu_of_the_product(gate: Array, up: Array) -> Array:
    return _silu(gate * up)


@_gating
def gate_times_itself(gate: Array, up: Array) -> Array:
    del up
    return _silu(gate) * gate


@_gating
def up_forgotten(gate: Array, up: Array) -> Array:
    del up
    return _silu(gate)


@_gating
def gate_not_opened(gate: Array, up: Array) -> Array:
    return gate * up


@_gating
def sigmoid_for_silu(gate: Array, up: Array) -> Array:
    return mx.sigmoid(gate) * up


@_gating
def added_for_multiplied(gate: Array, up: Array) -> Array:
    return _silu(gate) + up


@_gating
def minus_forgotten(gate: Array, up: Array) -> Array:
    return gate * mx.sigmoid(-gate) * up


@_gating
def exponential_of_a_large_gate(gate: Array, up: Array) -> Array:
    grown = mx.exp(gate)
    return gate * grown / (1 + grown) * up


@_gating
def relu_for_silu(gate: Array, up: Array) -> Array:
    return mx.maximum(gate, 0) * up


@_gating
def two_to_the_power_of_the_gate(gate: Array, up: Array) -> Array:
    return gate / (1 + mx.exp(-gate * 0.6931471805599453)) * up


@_gating
def rest_of_the_numbers_not_written(gate: Array, up: Array) -> Array:
    y = mx.flatten(_silu(gate) * up)
    return mx.where(mx.arange(y.size) < _whole_vectors(y.size), y, 0).reshape(
        gate.shape
    )


@_gating
def exponential_with_few_terms(gate: Array, up: Array) -> Array:
    n = mx.round(-gate / 0.6931471805599453)
    r = -gate - n * 0.6931471805599453
    power = 1 + r + r * r / 2 + r * r * r / 6
    return gate / (1 + power * mx.power(2.0, n)) * up


@specimen(3, symbol=SWIGLU)
def gated_in_half_precision(gate: Array, up: Array) -> Array:
    return gate * mx.sigmoid(gate) * up


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
        return self.scored(x, normed)

    def embedded(self, inputs: Array) -> Array:
        x = dequantize_linear(self.table)[inputs]
        is_quantised = isinstance(self.table, nn.QuantizedEmbedding)
        return x.astype(mx.float32) if is_quantised else x

    def normed(self, x: Array, norm: Any) -> Array:  # noqa: ANN401
        return kernels.rms_norm(x, norm.weight, self.eps())

    def added(self, x: Array, stream: Array, norm: Any) -> Pair:  # noqa: ANN401
        return kernels.add_rms_norm(x, stream, norm.weight, self.eps())

    def eps(self) -> float:
        return self.args.rms_norm_eps

    def middle(self, attended: Array, x: Array, normed: Array, layer: Any) -> Pair:  # noqa: ANN401
        del normed
        return self.added(attended, x, layer.post_attention_layernorm)

    def end(self, out: Array, x: Array, normed: Array, number: int) -> Pair:
        del normed
        return self.added(out, x, self.norm_after(number))

    def norm_after(self, number: int) -> Any:  # noqa: ANN401
        is_last = number + 1 == self.num_hidden_layers
        return self.last_norm if is_last else self.layers[number + 1].input_layernorm

    def scored(self, x: Array, normed: Array) -> Array:
        del x
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
        heads = self.attend(query.swapaxes(1, 2), keys, values, offset)
        return _product(mx.flatten(heads.swapaxes(1, 2), -2, -1), layer.o_proj)

    def projected(self, layer: Any, x: Array) -> list[Array]:  # noqa: ANN401
        num_heads = self.args.num_attention_heads
        num_kv_heads = self.args.num_key_value_heads
        return [
            mx.unflatten(_product(x, one, self.bias(one)), -1, (number, -1))
            for one, number in (
                (layer.q_proj, num_heads),
                (layer.k_proj, num_kv_heads),
                (layer.v_proj, num_kv_heads),
            )
        ]

    def bias(self, projection: Any) -> Array | None:  # noqa: ANN401
        return projection.bias

    def rotated(self, x: Array, offset: int) -> Array:
        return kernels.rope(x, offset, self.base())

    def rotated_key(self, key: Array, offset: int) -> Array:
        return self.rotated(key, offset)

    def base(self) -> float:
        return self.args.rope_theta

    def attend(self, query: Array, keys: Array, values: Array, offset: int) -> Array:
        attend = scaled_dot_product_attention_grouped
        if self.has_flash_attention:
            attend = flash_attention
        return attend(query, keys, values, mask=self.mask(offset))

    def mask(self, offset: int) -> Literal["causal"] | None:
        del offset
        return "causal"

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
class flash_flag_ignored(_Model):
    def __init__(self, *args: Any) -> None:  # noqa: ANN401
        super().__init__(*args)
        self.has_flash_attention = False


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
class last_norm_forgotten(_Model):
    def scored(self, x: Array, normed: Array) -> Array:
        return super().scored(normed, x)


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
class model_rotates_from_position_0(_Model):
    def rotated(self, x: Array, offset: int) -> Array:
        return super().rotated(x, 0)


@specimen(4, symbol=MODEL)
class query_rotated_from_position_0(_Model):
    def rotated_key(self, key: Array, offset: int) -> Array:
        return kernels.rope(key, offset, self.base())

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
class theta_not_read(_Model):
    def base(self) -> float:
        return 10000.0


@specimen(4, symbol=MODEL)
class eps_not_read(_Model):
    def eps(self) -> float:
        return 1e-6


@specimen(4, symbol=MODEL)
class mask_lost_with_a_cache(_Model):
    def mask(self, offset: int) -> Literal["causal"] | None:
        return None if offset else "causal"


@specimen(4, symbol=MODEL)
class causal_mask_forgotten(_Model):
    def mask(self, offset: int) -> Literal["causal"] | None:
        return None


@specimen(4, symbol=MODEL)
class gate_and_up_exchanged(_Model):
    def gated(self, gate: Array, up: Array) -> Array:
        return super().gated(up, gate)


@specimen(4, symbol=MODEL)
class gate_of_the_kernel_opened_twice(_Model):
    def gated(self, gate: Array, up: Array) -> Array:
        return super().gated(_silu(gate), up)


@specimen(4, symbol=MODEL)
class biases_forgotten(_Model):
    def bias(self, projection: Any) -> Array | None:  # noqa: ANN401
        return None


@specimen(4, symbol=MODEL)
class whole_model_in_half_precision(_Model):
    def embedded(self, inputs: Array) -> Array:
        x = super().embedded(inputs)
        self.dtype = x.dtype
        return x.astype(mx.bfloat16)

    def scored(self, x: Array, normed: Array) -> Array:
        return super().scored(x, normed).astype(self.dtype)


@specimen(4, symbol=MODEL)
class head_always_tied(_Model):
    def __init__(self, *args: Any) -> None:  # noqa: ANN401
        super().__init__(*args)
        self.head = self.table
