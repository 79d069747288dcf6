"""Day 3: other right ways to make, read and multiply by quantised weights."""

from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import numpy as np

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.quantize import QuantizedWeights, dequantize, quantized_matmul

QUANTIZE = "quantize.quantize"
DEQUANTIZE = "quantize.dequantize"
WEIGHTS = "quantize.QuantizedWeights"
MATMUL = "quantize.quantized_matmul"
LINEAR = "quantize.quantized_linear"

Array = mx.array
Stored = tuple[Array, Array, Array]


@specimen(1, symbol=QUANTIZE)
def quantised_with_numpy(w: Array, group_size: int, bits: int) -> Stored:
    """Choose signs by a factor, and pack with a product."""
    largest = np.float32(2**bits - 1)
    wide = np.array(w.astype(mx.float32))
    groups = wide.reshape(*w.shape[:-1], -1, group_size)
    low, high = groups.min(-1, keepdims=True), groups.max(-1, keepdims=True)
    from_low = np.abs(low) > np.abs(high)
    edge = np.where(from_low, low, high)
    step = np.maximum((high - low) / largest, np.float32(1e-7))
    step *= np.where(from_low, np.float32(1), np.float32(-1))
    steps = np.rint(edge / step)
    scale = np.where(steps == 0, step, edge / np.where(steps == 0, 1, steps))
    bias = np.where(steps == 0, np.float32(0), edge)
    q = np.clip(np.rint((groups - bias) / scale), 0, largest).astype(np.uint32)
    words = q.reshape(*w.shape[:-1], -1, 32 // bits)
    places = (2 ** (bits * np.arange(32 // bits))).astype(np.uint32)
    packed = (words * places).sum(-1, dtype=np.uint32)
    halves = [mx.array(one[..., 0]).astype(w.dtype) for one in (scale, bias)]
    return mx.array(packed), halves[0], halves[1]


@specimen(1, symbol=QUANTIZE)
def quantised_place_by_place(w: Array, group_size: int, bits: int) -> Stored:
    """Give the step its sign first, and pack place by place."""
    groups = w.astype(mx.float32).reshape(*w.shape[:-1], -1, group_size)
    low, high = groups.min(-1, keepdims=True), groups.max(-1, keepdims=True)
    sign = mx.where(mx.abs(low) > mx.abs(high), 1.0, -1.0)
    edge = mx.where(sign > 0, low, high)
    step = sign * mx.maximum((high - low) / (2**bits - 1), 1e-7)
    steps = mx.round(edge / step)
    scale = mx.where(steps == 0, step, edge / mx.where(steps == 0, 1, steps))
    bias = mx.where(steps == 0, 0, edge)
    q = mx.minimum(mx.maximum(mx.round((groups - bias) / scale), 0), 2**bits - 1)
    q = q.astype(mx.uint32).reshape(*w.shape[:-1], -1, 32 // bits)
    packed = q[..., 0]
    for place in range(1, 32 // bits):
        packed = packed | (q[..., place] << (place * bits))
    return packed, scale.squeeze(-1).astype(w.dtype), bias.squeeze(-1).astype(w.dtype)


@specimen(1, symbol=QUANTIZE)
def quantised_row_by_row(w: Array, group_size: int, bits: int) -> Stored:
    """Take each group by itself, in plain Python, and let numpy read the words."""
    rows = np.array(w.astype(mx.float32)).reshape(-1, group_size)
    made = [_group(row, np.float32(2**bits - 1)) for row in rows]
    scales, biases, integers = zip(*made, strict=True)
    numbers = [
        sum(int(q) << (bits * place) for place, q in enumerate(word))
        for word in np.concatenate(integers).reshape(-1, 32 // bits)
    ]
    packed = np.array(numbers, np.uint32).reshape(*w.shape[:-1], -1)
    shape = (*w.shape[:-1], w.shape[-1] // group_size)
    halves = [
        mx.array(np.array(one, np.float32).reshape(shape)).astype(w.dtype)
        for one in (scales, biases)
    ]
    return mx.array(packed), halves[0], halves[1]


def _group(row: Any, largest: Any) -> tuple[Any, Any, Any]:  # noqa: ANN401 - numpy's
    """Return scale, bias and integers of one group."""
    low, high = row.min(), row.max()
    step = max((high - low) / largest, np.float32(1e-7))
    edge, step = (low, step) if abs(low) > abs(high) else (high, -step)
    steps = np.rint(edge / step)
    scale, bias = (edge / steps, edge) if steps else (step, np.float32(0))
    return scale, bias, np.clip(np.rint((row - bias) / scale), 0, largest)


@specimen(1, symbol=QUANTIZE)
def quantised_by_the_library(w: Array, group_size: int, bits: int) -> Stored:
    packed, scales, biases = mx.quantize(w, group_size, bits, stream=mx.cpu)
    return packed, scales, biases


@specimen(2, symbol=DEQUANTIZE)
def dequantised_by_the_library(
    packed: Array, scales: Array, biases: Array, group_size: int, bits: int
) -> Array:
    return mx.dequantize(packed, scales, biases, group_size, bits, stream=mx.cpu)


@specimen(2, symbol=DEQUANTIZE)
def dequantised_by_division(
    packed: Array, scales: Array, biases: Array, group_size: int, bits: int
) -> Array:
    """Read the digits of a word to the base 2^bits, and repeat scales and biases."""
    digits: list[Array] = []
    for _ in range(32 // bits):
        digits.append(packed % 2**bits)
        packed = packed // 2**bits
    q = mx.stack(digits, axis=-1).reshape(*packed.shape[:-1], -1)
    wide = mx.repeat(scales, group_size, axis=-1)
    return wide * q.astype(scales.dtype) + mx.repeat(biases, group_size, axis=-1)


@specimen(2, symbol=DEQUANTIZE)
def dequantised_byte_by_byte(
    packed: Array, scales: Array, biases: Array, group_size: int, bits: int
) -> Array:
    """See the words as bytes, and look the numbers up that a byte can hold."""
    places = mx.arange(0, 8, bits)
    table = (mx.arange(256)[:, None] >> places) & (2**bits - 1)
    q = mx.flatten(table[packed.view(mx.uint8)], -2, -1).astype(scales.dtype)
    groups = q.reshape(*scales.shape, group_size)
    made = mx.expand_dims(scales, -1) * groups + mx.expand_dims(biases, -1)
    return made.reshape(*packed.shape[:-1], -1)


@specimen(2, symbol=DEQUANTIZE)
def dequantised_with_shifts_to_the_left(
    packed: Array, scales: Array, biases: Array, group_size: int, bits: int
) -> Array:
    """Push what is above an integer out of the word, then the integer down."""
    tops = mx.arange(32 - bits, -1, -bits, dtype=mx.uint32)
    q = (packed[..., None] << tops) >> (32 - bits)
    q = q.reshape(*scales.shape, group_size).astype(scales.dtype)
    made = q * scales[..., None] + biases[..., None]
    return made.reshape(*packed.shape[:-1], -1)


@specimen(3, symbol=MATMUL)
def product_by_groups(  # noqa: PLR0913, PLR0917 - the course's public names fix these
    scales: Array,
    biases: Array,
    group_size: int,
    bits: int,
    a: Array,
    b: Array,
    transpose_b: bool = False,
) -> Array:
    """Multiply by the integers, then scale sums: the trick of the kernels to come."""
    ones = mx.ones(scales.shape)
    q = dequantize(b, ones, mx.zeros(scales.shape), group_size, bits)
    x, wide_scales, wide_biases = (
        one.astype(mx.float32) for one in (a, scales, biases)
    )
    if not transpose_b:
        spread = [mx.repeat(one, group_size, -1) for one in (wide_scales, wide_biases)]
        return (x @ (q * spread[0] + spread[1])).astype(a.dtype)
    x, q = mx.unflatten(x, -1, (-1, group_size)), mx.unflatten(q, -1, (-1, group_size))
    sums = mx.einsum("...gi,ogi->...og", x, q)
    y = mx.sum(sums * wide_scales, axis=-1) + x.sum(axis=-1) @ wide_biases.T
    return y.astype(a.dtype)


@specimen(3, symbol=MATMUL)
def product_in_float32(  # noqa: PLR0913, PLR0917 - the course's public names fix these
    scales: Array,
    biases: Array,
    group_size: int,
    bits: int,
    a: Array,
    b: Array,
    transpose_b: bool = False,
) -> Array:
    wide_scales, wide_biases = scales.astype(mx.float32), biases.astype(mx.float32)
    w = dequantize(b, wide_scales, wide_biases, group_size, bits)
    y = a.astype(mx.float32) @ (w.swapaxes(-1, -2) if transpose_b else w)
    return y.astype(a.dtype)


@specimen(3, symbol=MATMUL)
def product_row_by_row(  # noqa: PLR0913, PLR0917 - the course's public names fix these
    scales: Array,
    biases: Array,
    group_size: int,
    bits: int,
    a: Array,
    b: Array,
    transpose_b: bool = False,
) -> Array:
    """Unpack one row at a time, so that the whole matrix is never there."""
    rows = [
        dequantize(b[row], scales[row], biases[row], group_size, bits)
        for row in range(b.shape[0])
    ]
    if transpose_b:
        return mx.stack([a @ row for row in rows], axis=-1)
    wide = a.astype(mx.float32)
    total = sum((wide[..., i, None] * row for i, row in enumerate(rows)), mx.array(0.0))
    return total.astype(a.dtype)


@specimen(3, symbol=MATMUL)
def product_of_the_library(  # noqa: PLR0913, PLR0917 - the course's names fix these
    scales: Array,
    biases: Array,
    group_size: int,
    bits: int,
    a: Array,
    b: Array,
    transpose_b: bool = False,
) -> Array:
    return mx.quantized_matmul(a, b, scales, biases, transpose_b, group_size, bits)


@specimen(3, symbol=WEIGHTS)
@dataclass(frozen=True)
class weights_as_a_dataclass(QuantizedWeights):
    scales: Array
    biases: Array
    group_size: int
    bits: int
    weight: Array

    @staticmethod
    def from_mlx_layer(layer: Any) -> "weights_as_a_dataclass":  # noqa: ANN401
        names = ("scales", "biases", "group_size", "bits", "weight")
        return weights_as_a_dataclass(*(getattr(layer, name) for name in names))


@specimen(3, symbol=LINEAR)
def linear_of_the_dense_weight(
    x: Array, w: QuantizedWeights, bias: Array | None = None
) -> Array:
    dense = dequantize(w.weight, w.scales, w.biases, w.group_size, w.bits)
    y = x @ mx.transpose(dense)
    return y + (0 if bias is None else bias)


@specimen(3, symbol=LINEAR)
def linear_with_the_bias_in_float32(
    x: Array, w: QuantizedWeights, bias: Array | None = None
) -> Array:
    wide = (w.scales.astype(mx.float32), w.biases.astype(mx.float32))
    settings = (w.group_size, w.bits)
    y = quantized_matmul(*wide, *settings, x.astype(mx.float32), w.weight, True)
    return (y if bias is None else y + bias.astype(mx.float32)).astype(x.dtype)
