"""Day 5: other right ways to multiply a quantised matrix by many vectors.

The kernels are in C++. Here is what others would return, computed with arrays.
"""

from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.quantize import QuantizedWeights, dequantize

NAIVE = "kernels.matmul_naive"
BLOCKED = "kernels.matmul_blocked"
PACK = "kernels.pack_panel"
INT8 = "kernels.matmul_int8"

Array = mx.array
Numbers = NDArray[Any]


def _dense(w: QuantizedWeights) -> Array:
    """Unpack the matrix into float32."""
    scales, biases = (one.astype(mx.float32) for one in (w.scales, w.biases))
    return dequantize(w.weight, scales, biases, w.group_size, w.bits)


@specimen(1, symbol=NAIVE)
def product_of_the_unpacked_matrix(x: Array, w: QuantizedWeights) -> Array:
    """Unpack it all, and leave the rest to MLX."""
    return (x.astype(mx.float32) @ _dense(w).T).astype(x.dtype)


@specimen(1, symbol=NAIVE)
def one_input_after_the_other(x: Array, w: QuantizedWeights) -> Array:
    """Go through the inputs outside, and add to all results."""
    dense, wide = np.array(_dense(w)), np.array(x.astype(mx.float32))
    y = np.zeros((len(wide), len(dense)), np.float32)
    for i in range(dense.shape[1]):
        y += wide[:, i : i + 1] * dense[:, i]
    return mx.array(y).astype(x.dtype)


@specimen(1, symbol=BLOCKED)
def biases_apart_from_integers(x: Array, w: QuantizedWeights) -> Array:
    """Multiply integers and sums of x, group by group, and scale afterwards."""
    ones, zeros = mx.ones(w.scales.shape), mx.zeros(w.scales.shape)
    plain = dequantize(w.weight, ones, zeros, w.group_size, w.bits)
    y = mx.zeros((len(x), len(plain)))
    for g in range(w.scales.shape[1]):
        columns = slice(g * w.group_size, (g + 1) * w.group_size)
        part = x[:, columns].astype(mx.float32)
        y = y + (part @ plain[:, columns].T) * w.scales[:, g].astype(mx.float32)
        y = y + mx.sum(part, axis=1, keepdims=True) * w.biases[:, g].astype(mx.float32)
    return y.astype(x.dtype)


@specimen(1, symbol=BLOCKED)
def blocks_from_the_end(x: Array, w: QuantizedWeights) -> Array:
    """Begin with the last block of inputs, of another size."""
    dense, wide = _dense(w), x.astype(mx.float32)
    y = mx.zeros((len(x), len(dense)))
    for first in range(0, wide.shape[1], 96)[::-1]:
        columns = slice(first, first + 96)
        y = y + wide[:, columns] @ dense[:, columns].T
    return y.astype(x.dtype)


def _integers(w: QuantizedWeights) -> Numbers:
    """Unpack the integers one place after the other."""
    words = np.array(w.weight)
    fields = [(words >> place) & (2**w.bits - 1) for place in range(0, 32, w.bits)]
    return np.stack(fields, axis=-1).reshape(len(words), -1)


def _column(place: int, w: QuantizedWeights) -> int:
    """Return the column at a place."""
    block, per_byte = min(w.group_size, 64), 8 // w.bits
    first, rest = place // block * block, place % block
    return first + rest % (block // per_byte) * per_byte + rest // (block // per_byte)


@specimen(2, symbol=PACK)
def packed_entry_by_entry(w: QuantizedWeights, first_row: int) -> tuple[Array, ...]:
    """Put each integer where it belongs, and zeros where there is none."""
    q, (rows, groups) = _integers(w), w.scales.shape
    panel = np.zeros((q.shape[1] // 4, 16, 4), np.uint8)
    numbers = np.zeros((2, groups, 16), np.float32)
    sources = [np.array(one.astype(mx.float32)) for one in (w.scales, w.biases)]
    for r in range(min(16, rows - first_row)):
        for place in range(q.shape[1]):
            panel[place // 4, r, place % 4] = q[first_row + r, _column(place, w)]
        for number, source in zip(numbers, sources, strict=True):
            number[:, r] = source[first_row + r]
    return mx.array(panel), mx.array(numbers[0]), mx.array(numbers[1])


def _in_integers(
    x: Array, w: QuantizedWeights, *, exact_sums: bool = False, halves_up: bool = False
) -> Array:
    """Multiply in 8 bits, with all groups at once."""
    groups = np.array(x.astype(mx.float32)).reshape(len(x), -1, w.group_size)
    steps = np.abs(groups).max(-1, keepdims=True) / np.float32(127)
    e = groups / np.where(steps == 0, 1, steps)
    e = np.copysign(np.floor(np.abs(e) + 0.5), e) if halves_up else np.rint(e)
    q = _integers(w).reshape(len(w.scales), -1, w.group_size).astype(np.float64)
    dots = np.einsum("lgi,ogi->log", e.astype(np.float64), q)
    scales, biases = (np.array(a.astype(mx.float32)) for a in (w.scales, w.biases))
    sums = groups.sum(-1) if exact_sums else e.sum(-1) * steps[..., 0]
    y = (dots * steps[:, None, :, 0] * scales + sums[:, None] * biases).sum(-1)
    return mx.array(y.astype(np.float32)).astype(x.dtype)


@specimen(3, symbol=INT8)
def all_groups_at_once(x: Array, w: QuantizedWeights) -> Array:
    """Sum over groups in the end."""
    return _in_integers(x, w)


@specimen(3, symbol=INT8)
def sums_of_x_before_it_is_rounded(x: Array, w: QuantizedWeights) -> Array:
    """Multiply the biases by the sums of x itself, as int8.h has them."""
    return _in_integers(x, w, exact_sums=True)


@specimen(3, symbol=INT8)
def halves_away_from_zero(x: Array, w: QuantizedWeights) -> Array:
    """Round as std::round does."""
    return _in_integers(x, w, halves_up=True)
