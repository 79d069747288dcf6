"""Day 5: what goes wrong in a product with many vectors, where no text says it.

The other mistakes are records, beside this file.
"""

import mlx.core as mx
import numpy as np

from tiny_llm_course.specimens import specimen
from tiny_llm_ref import kernels
from tiny_llm_ref.quantize import QuantizedWeights, dequantize
from tiny_llm_ref.quantize import quantized_linear as right_linear

NAIVE = "kernels.matmul_naive"
THREADED = "kernels.matmul_threaded"
LINEAR = "quantize.quantized_linear"

Array = mx.array


@specimen(1, symbol=NAIVE)
def summed_in_half_precision(x: Array, w: QuantizedWeights) -> Array:
    """A kernel gets floats, whatever the dtype of x."""
    if x.dtype != mx.float16:
        return kernels.matmul_naive(x, w)
    scales, biases = w.scales.astype(mx.float32), w.biases.astype(mx.float32)
    dense = dequantize(w.weight, scales, biases, w.group_size, w.bits)
    terms = np.array(x)[:, None] * np.array(dense).astype(np.float16)
    return mx.array(np.cumsum(terms, axis=-1, dtype=np.float16)[..., -1])


@specimen(4, symbol=THREADED)
def threads_share_one_panel(x: Array, w: QuantizedWeights) -> Array:
    """A race: the panel that was packed last is what all threads multiply by."""
    y = kernels.matmul_int8(x, w)
    first = (y.shape[1] - 1) // 16 * 16
    last = np.resize(np.array(y[:, first:].astype(mx.float32)), (len(y), 16))
    shared = np.tile(last, (1, first // 16 + 1))[:, : y.shape[1]]
    return mx.array(shared).astype(x.dtype)


@specimen(5, symbol=LINEAR)
def always_dequantised(
    x: Array, w: QuantizedWeights, bias: Array | None = None
) -> Array:
    dense = dequantize(w.weight, w.scales, w.biases, w.group_size, w.bits)
    y = x @ dense.T
    return y if bias is None else y + bias


@specimen(5, symbol=LINEAR)
def dequantised_for_several_tokens(
    x: Array, w: QuantizedWeights, bias: Array | None = None
) -> Array:
    if x.size > x.shape[-1]:
        return always_dequantised(x, w, bias)
    return right_linear(x, w, bias)


@specimen(5, symbol=LINEAR)
def kernels_whether_on_or_off(
    x: Array, w: QuantizedWeights, bias: Array | None = None
) -> Array:
    return kernels.quantized_linear(x, w, bias)


@specimen(5, symbol=LINEAR)
def bias_forgotten_on_kernels(
    x: Array, w: QuantizedWeights, bias: Array | None = None
) -> Array:
    return right_linear(x, w, None if kernels.are_on() else bias)


@specimen(5, symbol=LINEAR)
def leading_axes_flattened(
    x: Array, w: QuantizedWeights, bias: Array | None = None
) -> Array:
    y = right_linear(x, w, bias)
    return y.reshape(-1, y.shape[-1]) if kernels.are_on() else y


@specimen(5, symbol=LINEAR)
def kernels_return_float32(
    x: Array, w: QuantizedWeights, bias: Array | None = None
) -> Array:
    if not kernels.are_on():
        return right_linear(x, w, bias)
    y = kernels.quantized_linear(x.astype(mx.float32), w)
    return y if bias is None else y + bias.astype(mx.float32)


@specimen(5, symbol=LINEAR)
def first_vector_only(
    x: Array, w: QuantizedWeights, bias: Array | None = None
) -> Array:
    y = right_linear(x, w, bias)
    if not kernels.are_on() or x.ndim == 1:
        return y
    flat = y.reshape(-1, y.shape[-1])
    return mx.broadcast_to(flat[:1], flat.shape).reshape(y.shape)
