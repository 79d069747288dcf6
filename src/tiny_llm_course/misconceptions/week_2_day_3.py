"""Day 3: what goes wrong when weights are packed, unpacked and multiplied by."""

from collections.abc import Callable
from typing import Any, cast

import mlx.core as mx

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.quantize import QuantizedWeights, dequantize
from tiny_llm_ref.quantize import quantize as right_quantize
from tiny_llm_ref.quantize import quantized_matmul as right_matmul

QUANTIZE = "quantize.quantize"
DEQUANTIZE = "quantize.dequantize"
WEIGHTS = "quantize.QuantizedWeights"
MATMUL = "quantize.quantized_matmul"
LINEAR = "quantize.quantized_linear"

Array = mx.array
Stored = tuple[Array, Array, Array]


def _shifts(bits: int) -> Array:
    """Return where each integer of a word begins, rightly."""
    return mx.arange(0, 32, bits, dtype=mx.uint32)


class _InSteps:
    """Quantising in steps, of which each mistake below replaces one."""

    dtype = mx.float32

    def __call__(self, w: Array, group_size: int, bits: int) -> Stored:
        groups = mx.unflatten(w.astype(self.dtype), -1, (-1, group_size))
        scale, bias = self.scale_and_bias(groups, 2**bits - 1)
        scale, bias = self.used(scale, w.dtype), self.used(bias, w.dtype)
        q = self.rounded((groups - bias) / scale, 2**bits - 1)
        packed = self.pack(mx.flatten(q, -2, -1), bits)
        return packed, self.kept(scale, w.dtype), self.kept(bias, w.dtype)

    def scale_and_bias(self, groups: Array, largest: int) -> tuple[Array, Array]:
        low = mx.min(groups, axis=-1, keepdims=True)
        high = mx.max(groups, axis=-1, keepdims=True)
        from_low = self.begins_low(low, high)
        edge = mx.where(from_low, low, high)
        step = self.step(low, high, largest)
        return self.moved_to_zero(mx.where(from_low, step, -step), edge)

    def begins_low(self, low: Array, high: Array) -> Array:
        return mx.abs(low) > mx.abs(high)

    def step(self, low: Array, high: Array, largest: int) -> Array:
        return mx.maximum((high - low) / largest, 1e-7)

    def moved_to_zero(self, step: Array, edge: Array) -> tuple[Array, Array]:
        steps = mx.round(edge / step)
        scale = mx.where(steps == 0, step, edge / steps)
        return scale, mx.where(steps == 0, 0.0, edge)

    def rounded(self, q: Array, largest: int) -> Array:
        return mx.clip(mx.round(q), 0, largest).astype(mx.uint32)

    def pack(self, q: Array, bits: int) -> Array:
        shifts = _shifts(bits)
        return mx.sum(mx.unflatten(q, -1, (-1, shifts.size)) << shifts, axis=-1)

    def used(self, number: Array, dtype: mx.Dtype) -> Array:
        del dtype
        return number

    def kept(self, number: Array, dtype: mx.Dtype) -> Array:
        return number[..., 0].astype(dtype)


def _quantising(steps: type[_InSteps]) -> Callable[[Array, int, int], Stored]:
    """Make a task 1 mistake of wrong steps."""

    def quantise(w: Array, group_size: int, bits: int) -> Stored:
        return steps()(w, group_size, bits)

    quantise.__name__ = steps.__name__
    return specimen(1, symbol=QUANTIZE)(quantise)


@_quantising
class always_from_the_smallest(_InSteps):
    def scale_and_bias(self, groups: Array, largest: int) -> tuple[Array, Array]:
        low = mx.min(groups, axis=-1, keepdims=True)
        high = mx.max(groups, axis=-1, keepdims=True)
        return self.step(low, high, largest), low


@_quantising
class always_from_the_largest(_InSteps):
    def begins_low(self, low: Array, high: Array) -> Array:
        return mx.zeros_like(low > high)


@_quantising
class sign_of_the_scale_forgotten(_InSteps):
    def scale_and_bias(self, groups: Array, largest: int) -> tuple[Array, Array]:
        scale, bias = super().scale_and_bias(groups, largest)
        return mx.abs(scale), bias


@_quantising
class equal_ends_begin_low(_InSteps):
    def begins_low(self, low: Array, high: Array) -> Array:
        return mx.abs(low) >= mx.abs(high)


@_quantising
class zero_between_two_steps(_InSteps):
    def moved_to_zero(self, step: Array, edge: Array) -> tuple[Array, Array]:
        return step, edge


@_quantising
class symmetric_around_zero(_InSteps):
    def scale_and_bias(self, groups: Array, largest: int) -> tuple[Array, Array]:
        top = mx.max(mx.abs(groups), axis=-1, keepdims=True)
        half = (largest + 1) // 2
        scale = mx.maximum(top / max(1, half - 1), 1e-7)
        return scale, -half * scale


@_quantising
class divided_by_all_levels(_InSteps):
    def step(self, low: Array, high: Array, largest: int) -> Array:
        return mx.maximum((high - low) / (largest + 1), 1e-7)


@_quantising
class equal_weights_divide_by_zero(_InSteps):
    def step(self, low: Array, high: Array, largest: int) -> Array:
        return (high - low) / largest


@_quantising
class zeros_divide_by_zero(_InSteps):
    def moved_to_zero(self, step: Array, edge: Array) -> tuple[Array, Array]:
        return edge / mx.round(edge / step), edge


@_quantising
class least_step_too_large(_InSteps):
    def step(self, low: Array, high: Array, largest: int) -> Array:
        return mx.maximum((high - low) / largest, 1e-5)


@_quantising
class integers_cut_off(_InSteps):
    def rounded(self, q: Array, largest: int) -> Array:
        return mx.clip(q, 0, largest).astype(mx.uint32)


@_quantising
class halves_rounded_up(_InSteps):
    def rounded(self, q: Array, largest: int) -> Array:
        return mx.clip(mx.floor(q + 0.5), 0, largest).astype(mx.uint32)


@_quantising
class integers_not_held(_InSteps):
    def rounded(self, q: Array, largest: int) -> Array:
        del largest
        return mx.round(q).astype(mx.int32).astype(mx.uint32)


@_quantising
class divided_by_the_rounded_scale(_InSteps):
    def used(self, number: Array, dtype: mx.Dtype) -> Array:
        return number.astype(dtype).astype(mx.float32)


@specimen(1, symbol=QUANTIZE)
def computed_in_half_precision(w: Array, group_size: int, bits: int) -> Stored:
    steps = _InSteps()
    steps.dtype = w.dtype
    return steps(w, group_size, bits)


@_quantising
class scales_left_in_float32(_InSteps):
    def kept(self, number: Array, dtype: mx.Dtype) -> Array:
        del dtype
        return number[..., 0]


@_quantising
class axis_of_the_group_kept(_InSteps):
    def kept(self, number: Array, dtype: mx.Dtype) -> Array:
        return number.astype(dtype)


@_quantising
class packed_from_the_high_end(_InSteps):
    def pack(self, q: Array, bits: int) -> Array:
        shifts = _shifts(bits)[::-1]
        return mx.sum(mx.unflatten(q, -1, (-1, shifts.size)) << shifts, axis=-1)


@_quantising
class packed_across_the_row(_InSteps):
    def pack(self, q: Array, bits: int) -> Array:
        shifts = _shifts(bits)
        lanes = mx.unflatten(q, -1, (shifts.size, -1))
        return mx.sum(lanes << shifts[:, None], axis=-2)


@_quantising
class packed_into_bytes(_InSteps):
    def pack(self, q: Array, bits: int) -> Array:
        return super().pack(q, bits).view(mx.uint8)


@_quantising
class packed_as_signed(_InSteps):
    def pack(self, q: Array, bits: int) -> Array:
        return super().pack(q, bits).astype(mx.int32)


@_quantising
class not_packed(_InSteps):
    def pack(self, q: Array, bits: int) -> Array:
        del bits
        return q


@specimen(1, symbol=QUANTIZE)
def one_group_for_each_row(w: Array, group_size: int, bits: int) -> Stored:
    del group_size
    return right_quantize(w, w.shape[-1], bits)


@specimen(1, symbol=QUANTIZE)
def scales_before_the_integers(w: Array, group_size: int, bits: int) -> Stored:
    packed, scales, biases = right_quantize(w, group_size, bits)
    return scales, biases, packed


def _restored(q: Array, scales: Array, biases: Array, group_size: int) -> Array:
    """Scale and shift integers, rightly."""
    groups = mx.unflatten(q.astype(scales.dtype), -1, (-1, group_size))
    return mx.flatten(groups * scales[..., None] + biases[..., None], -2, -1)


def _integers(packed: Array, bits: int) -> Array:
    """Unpack, rightly."""
    fields = (packed[..., None] >> _shifts(bits)) & (2**bits - 1)
    return mx.flatten(fields, -2, -1)


@specimen(2, symbol=DEQUANTIZE)
def unpacked_from_the_high_end(
    packed: Array, scales: Array, biases: Array, group_size: int, bits: int
) -> Array:
    fields = (packed[..., None] >> _shifts(bits)[::-1]) & (2**bits - 1)
    return _restored(mx.flatten(fields, -2, -1), scales, biases, group_size)


@specimen(2, symbol=DEQUANTIZE)
def unpacked_across_the_row(
    packed: Array, scales: Array, biases: Array, group_size: int, bits: int
) -> Array:
    fields = (packed[..., None, :] >> _shifts(bits)[:, None]) & (2**bits - 1)
    return _restored(mx.flatten(fields, -2, -1), scales, biases, group_size)


@specimen(2, symbol=DEQUANTIZE)
def higher_bits_left_in(
    packed: Array, scales: Array, biases: Array, group_size: int, bits: int
) -> Array:
    fields = packed[..., None] >> _shifts(bits)
    return _restored(mx.flatten(fields, -2, -1), scales, biases, group_size)


@specimen(2, symbol=DEQUANTIZE)
def four_bits_assumed(
    packed: Array, scales: Array, biases: Array, group_size: int, bits: int
) -> Array:
    del bits
    return _restored(_integers(packed, 4), scales, biases, group_size)


@specimen(2, symbol=DEQUANTIZE)
def groups_of_64_assumed(
    packed: Array, scales: Array, biases: Array, group_size: int, bits: int
) -> Array:
    del group_size
    return _restored(_integers(packed, bits), scales, biases, 64)


@specimen(2, symbol=DEQUANTIZE)
def bias_taken_for_a_zero_point(
    packed: Array, scales: Array, biases: Array, group_size: int, bits: int
) -> Array:
    q = mx.unflatten(_integers(packed, bits).astype(scales.dtype), -1, (-1, group_size))
    return mx.flatten(scales[..., None] * (q - biases[..., None]), -2, -1)


@specimen(2, symbol=DEQUANTIZE)
def bias_scaled_as_well(
    packed: Array, scales: Array, biases: Array, group_size: int, bits: int
) -> Array:
    q = mx.unflatten(_integers(packed, bits).astype(scales.dtype), -1, (-1, group_size))
    return mx.flatten(scales[..., None] * (q + biases[..., None]), -2, -1)


@specimen(2, symbol=DEQUANTIZE)
def bias_not_added(
    packed: Array, scales: Array, biases: Array, group_size: int, bits: int
) -> Array:
    return _restored(_integers(packed, bits), scales, mx.zeros_like(biases), group_size)


@specimen(2, symbol=DEQUANTIZE)
def scales_taken_in_turns(
    packed: Array, scales: Array, biases: Array, group_size: int, bits: int
) -> Array:
    q = _integers(packed, bits).astype(scales.dtype)
    times = (*[1] * (scales.ndim - 1), group_size)
    return q * mx.tile(scales, times) + mx.tile(biases, times)


@specimen(2, symbol=DEQUANTIZE)
def weights_left_in_float32(
    packed: Array, scales: Array, biases: Array, group_size: int, bits: int
) -> Array:
    wide_scales, wide_biases = scales.astype(mx.float32), biases.astype(mx.float32)
    return dequantize(packed, wide_scales, wide_biases, group_size, bits)


@specimen(2, symbol=DEQUANTIZE)
def rounded_only_once(
    packed: Array, scales: Array, biases: Array, group_size: int, bits: int
) -> Array:
    wide = weights_left_in_float32(packed, scales, biases, group_size, bits)
    return wide.astype(scales.dtype)


@specimen(2, symbol=DEQUANTIZE)
def rows_flattened(
    packed: Array, scales: Array, biases: Array, group_size: int, bits: int
) -> Array:
    whole = dequantize(packed, scales, biases, group_size, bits)
    return whole.reshape(-1, whole.shape[-1])


@specimen(3, symbol=MATMUL)
def never_transposed(  # noqa: PLR0913, PLR0917 - the course's public names fix these
    scales: Array,
    biases: Array,
    group_size: int,
    bits: int,
    a: Array,
    b: Array,
    transpose_b: bool = False,
) -> Array:
    del transpose_b
    return a @ dequantize(b, scales, biases, group_size, bits)


@specimen(3, symbol=MATMUL)
def always_transposed(  # noqa: PLR0913, PLR0917 - the course's public names fix these
    scales: Array,
    biases: Array,
    group_size: int,
    bits: int,
    a: Array,
    b: Array,
    transpose_b: bool = False,
) -> Array:
    del transpose_b
    return a @ dequantize(b, scales, biases, group_size, bits).T


@specimen(3, symbol=MATMUL)
def words_transposed(  # noqa: PLR0913, PLR0917 - the course's public names fix these
    scales: Array,
    biases: Array,
    group_size: int,
    bits: int,
    a: Array,
    b: Array,
    transpose_b: bool = False,
) -> Array:
    if transpose_b:
        b, scales, biases = b.T, scales.T, biases.T
    return a @ dequantize(b, scales, biases, group_size, bits)


@specimen(3, symbol=MATMUL)
def product_left_in_float32(  # noqa: PLR0913, PLR0917 - the course's names fix these
    scales: Array,
    biases: Array,
    group_size: int,
    bits: int,
    a: Array,
    b: Array,
    transpose_b: bool = False,
) -> Array:
    a, scales, biases = (one.astype(mx.float32) for one in (a, scales, biases))
    return right_matmul(scales, biases, group_size, bits, a, b, transpose_b)


class _ByGroups:
    """The product with the transpose as sums over groups, in steps to get wrong."""

    def __call__(  # noqa: PLR0913, PLR0917 - the course's public names fix these
        self,
        scales: Array,
        biases: Array,
        group_size: int,
        bits: int,
        a: Array,
        b: Array,
        transpose_b: bool = False,
    ) -> Array:
        if not transpose_b:
            return right_matmul(scales, biases, group_size, bits, a, b)
        q = mx.unflatten(_integers(b, bits).astype(a.dtype), -1, (-1, group_size))
        x = mx.unflatten(a, -1, (-1, group_size))
        sums = mx.einsum("...gi,ogi->...og", x, q)
        return self.shifted(mx.sum(sums * scales, axis=-1), x, biases)

    def shifted(self, y: Array, x: Array, biases: Array) -> Array:
        return y + x.sum(axis=-1) @ biases.T


def _by_groups(steps: type[_ByGroups]) -> Callable[..., Array]:
    """Make a task 3 mistake of wrong steps."""

    def multiply(*args: Any, **settings: Any) -> Array:  # noqa: ANN401
        return steps()(*args, **settings)

    multiply.__name__ = steps.__name__
    return specimen(3, symbol=MATMUL)(multiply)


@_by_groups
class sum_of_the_biases_forgotten(_ByGroups):
    def shifted(self, y: Array, x: Array, biases: Array) -> Array:
        del x, biases
        return y


@_by_groups
class biases_added_once_for_each_group(_ByGroups):
    def shifted(self, y: Array, x: Array, biases: Array) -> Array:
        del x
        return y + biases.sum(axis=-1)


@_by_groups
class biases_times_the_sum_of_the_row(_ByGroups):
    def shifted(self, y: Array, x: Array, biases: Array) -> Array:
        return y + x.sum(axis=(-2, -1))[..., None] * biases.sum(axis=-1)


@specimen(3, symbol=WEIGHTS)
class parts_in_the_order_of_quantize(QuantizedWeights):
    def __init__(
        self,
        weight: Array,
        scales: Array,
        biases: Any,  # noqa: ANN401 - whatever the caller thinks this is
        group_size: Any,  # noqa: ANN401
        bits: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(scales, biases, group_size, bits, weight)


@specimen(3, symbol=WEIGHTS)
class settings_assumed(QuantizedWeights):
    @staticmethod
    def from_mlx_layer(layer: Any) -> QuantizedWeights:  # noqa: ANN401 - untyped
        return QuantizedWeights(layer.scales, layer.biases, 64, 4, layer.weight)


@specimen(3, symbol=WEIGHTS)
class bias_of_the_layer_for_its_biases(QuantizedWeights):
    @staticmethod
    def from_mlx_layer(layer: Any) -> QuantizedWeights:  # noqa: ANN401 - untyped
        settings = (layer.group_size, layer.bits)
        return QuantizedWeights(layer.scales, layer.bias, *settings, layer.weight)


@specimen(3, symbol=WEIGHTS)
class unpacked_when_loaded(QuantizedWeights):
    @staticmethod
    def from_mlx_layer(layer: Any) -> QuantizedWeights:  # noqa: ANN401 - untyped
        parts = (layer.scales, layer.biases, layer.group_size, layer.bits)
        return QuantizedWeights(*parts, dequantize(layer.weight, *parts))


@specimen(3, symbol=LINEAR)
def linear_not_transposed(
    x: Array, w: QuantizedWeights, bias: Array | None = None
) -> Array:
    y = right_matmul(w.scales, w.biases, w.group_size, w.bits, x, w.weight)
    return y if bias is None else y + bias


@specimen(3, symbol=LINEAR)
def bias_of_the_layer_forgotten(
    x: Array, w: QuantizedWeights, bias: Array | None = None
) -> Array:
    del bias
    return right_matmul(w.scales, w.biases, w.group_size, w.bits, x, w.weight, True)


@specimen(3, symbol=LINEAR)
def bias_always_expected(
    x: Array, w: QuantizedWeights, bias: Array | None = None
) -> Array:
    y = right_matmul(w.scales, w.biases, w.group_size, w.bits, x, w.weight, True)
    return y + cast("Array", bias)
