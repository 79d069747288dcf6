"""Day 4: other right ways to multiply a quantised matrix by a vector."""

from typing import Any

import mlx.core as mx
import numpy as np

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.quantize import QuantizedWeights, dequantize

NAIVE = "kernels.matvec_naive"
BLOCKED = "kernels.matvec_blocked"
SIMD = "kernels.matvec_simd"
INT8 = "kernels.matvec_int8"
THREADED = "kernels.matvec_threaded"

Array = mx.array


def _floats(x: Array) -> Any:  # noqa: ANN401 - numpy's
    return np.array(x.astype(mx.float32))


def _unpacked(w: QuantizedWeights) -> Array:
    """Unpack the integers, and widen them: O x G x group_size."""
    ones = mx.ones(w.scales.shape)
    q = dequantize(w.weight, ones, mx.zeros(ones.shape), w.group_size, w.bits)
    return mx.unflatten(q, -1, (-1, w.group_size))


def _dense(w: QuantizedWeights) -> Array:
    """Unpack the weights in float32."""
    scales, biases = w.scales.astype(mx.float32), w.biases.astype(mx.float32)
    return dequantize(w.weight, scales, biases, w.group_size, w.bits)


@specimen(1, symbol=NAIVE)
def naive_of_the_dense_weight(x: Array, w: QuantizedWeights) -> Array:
    return mx.matmul(_dense(w), x.astype(mx.float32)).astype(x.dtype)


@specimen(1, symbol=NAIVE)
def naive_in_double(x: Array, w: QuantizedWeights) -> Array:
    y = np.array(_dense(w), np.float64) @ np.array(x.astype(mx.float32), np.float64)
    return mx.array(y.astype(np.float32)).astype(x.dtype)


@specimen(1, symbol=NAIVE)
def naive_column_by_column(x: Array, w: QuantizedWeights) -> Array:
    """Add what each entry of x contributes to all rows: another order of the sum."""
    y = np.zeros(w.scales.shape[0], np.float32)
    for column, number in zip(np.array(_dense(w)).T, _floats(x), strict=True):
        y += column * number
    return mx.array(y).astype(x.dtype)


@specimen(1, symbol=BLOCKED)
def blocked_with_all_biases_at_the_end(x: Array, w: QuantizedWeights) -> Array:
    groups = mx.unflatten(x.astype(mx.float32), -1, (-1, w.group_size))
    dots = mx.sum(_unpacked(w) * groups, axis=-1)
    scaled = mx.sum(dots * w.scales.astype(mx.float32), axis=-1)
    return (scaled + w.biases.astype(mx.float32) @ groups.sum(-1)).astype(x.dtype)


@specimen(2, symbol=SIMD)
def simd_with_scaled_lanes(x: Array, w: QuantizedWeights) -> Array:
    """Scale and shift in each of 8 lanes, and add the lanes up once, at the end."""
    wide = mx.unflatten(x.astype(mx.float32), -1, (-1, w.group_size))
    scales, biases = (one.astype(mx.float32)[..., None] for one in (w.scales, w.biases))
    terms = (_unpacked(w) * scales + biases) * wide
    lanes = mx.sum(terms.reshape(terms.shape[0], -1, 8), axis=1)
    return mx.sum(lanes, axis=-1).astype(x.dtype)


@specimen(2, symbol=SIMD)
def simd_of_the_dense_weight(x: Array, w: QuantizedWeights) -> Array:
    return naive_of_the_dense_weight(x, w)


def _steps(groups: Array) -> Array:
    """Return the step of each group."""
    return mx.max(mx.abs(groups), axis=-1, keepdims=True) / 127


def _product_with(rounded: Array, x: Array, w: QuantizedWeights) -> Array:
    """Multiply by what the groups of x are rounded to, and add up in float64.

    A sum over a row of float32 would be as exact as the BLAS at hand adds it up.
    """
    product = _floats(_dense(w)).astype(np.float64) @ _floats(mx.flatten(rounded))
    return mx.array(product.astype(np.float32)).astype(x.dtype)


@specimen(3, symbol=INT8)
def int8_by_division(x: Array, w: QuantizedWeights) -> Array:
    groups = mx.unflatten(x.astype(mx.float32), -1, (-1, w.group_size))
    steps = _steps(groups)
    divided = mx.where(steps > 0, groups / mx.where(steps > 0, steps, 1), 0)
    return _product_with(mx.round(divided) * steps, x, w)


@specimen(3, symbol=INT8)
def int8_with_halves_away_from_zero(x: Array, w: QuantizedWeights) -> Array:
    groups = mx.unflatten(x.astype(mx.float32), -1, (-1, w.group_size))
    steps = _steps(groups)
    sizes = mx.abs(groups) * mx.where(steps > 0, 1 / mx.where(steps > 0, steps, 1), 0)
    rounded = mx.sign(groups) * mx.minimum(mx.floor(sizes + 0.5), 127)
    return _product_with(rounded * steps, x, w)


@specimen(3, symbol=INT8)
def int8_in_integers(x: Array, w: QuantizedWeights) -> Array:
    """Add up integers, and scale the sum of a group with both scales, one by one."""
    groups = _floats(x).reshape(-1, w.group_size)
    steps = np.abs(groups).max(-1, keepdims=True) / np.float32(127)
    q_x = np.rint(groups / np.maximum(steps, np.float32(1e-30))).astype(np.int64)
    dots = (np.array(_unpacked(w)).astype(np.int64) * q_x).sum(-1)
    scales, biases = (_floats(one) for one in (w.scales, w.biases))
    y = dots * scales + q_x.sum(-1) * biases
    return mx.array((y @ steps[:, 0]).astype(np.float32)).astype(x.dtype)


@specimen(3, symbol=INT8)
def int8_around_the_middle(x: Array, w: QuantizedWeights) -> Array:
    """Move the weights to both sides of zero, for instructions of signed bytes."""
    groups = _floats(x).reshape(-1, w.group_size)
    steps = np.abs(groups).max(-1) / np.float32(127)
    q_x = np.rint(groups / np.maximum(steps, np.float32(1e-30))[:, None])
    middle = 2 ** (w.bits - 1)
    dots = ((np.array(_unpacked(w)) - middle) * q_x).sum(-1, dtype=np.float64)
    scales, biases = (_floats(one) for one in (w.scales, w.biases))
    moved = biases + middle * scales.astype(np.float64)
    y = (dots * scales + moved * q_x.sum(-1)) @ steps
    return mx.array(y.astype(np.float32)).astype(x.dtype)


@specimen(4, symbol=THREADED)
def threaded_by_division(x: Array, w: QuantizedWeights) -> Array:
    return int8_by_division(x, w)
