"""Day 5: what goes wrong when a quantised matrix meets many vectors.

The kernels are in C++. Here is what they return, computed with arrays.
"""

from collections.abc import Callable
from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tiny_llm_course.specimens import specimen
from tiny_llm_ref import kernels
from tiny_llm_ref.quantize import QuantizedWeights, dequantize
from tiny_llm_ref.quantize import quantized_linear as right_linear

NAIVE = "kernels.matmul_naive"
BLOCKED = "kernels.matmul_blocked"
PACK = "kernels.pack_panel"
INT8 = "kernels.matmul_int8"
THREADED = "kernels.matmul_threaded"
LINEAR = "quantize.quantized_linear"

Array = mx.array
Numbers = NDArray[Any]
Packed = tuple[Array, Array, Array]


def _integers(w: QuantizedWeights) -> Numbers:
    """Unpack the integers, rightly."""
    shifts = mx.arange(0, 32, w.bits, dtype=mx.uint32)
    fields = (w.weight[..., None] >> shifts) & (2**w.bits - 1)
    return np.array(mx.flatten(fields, -2, -1)).astype(np.int64)


def _wide(x: Array) -> Numbers:
    """Return an array in float32 of numpy."""
    return np.array(x.astype(mx.float32))


class _Floats:
    """A product in floats, of which each mistake below replaces a step."""

    def __call__(self, x: Array, w: QuantizedWeights) -> Array:
        y = self.product(_wide(x).astype(np.float64), self.unpacked(w))
        return mx.array(y.astype(np.float32)).astype(x.dtype)

    def unpacked(self, w: QuantizedWeights) -> Numbers:
        group = self.group_of(np.arange(self.integers(w).shape[1]), w.group_size)
        scales, biases = _wide(w.scales)[:, group], _wide(w.biases)[:, group]
        return self.weights(scales, self.integers(w), biases).astype(np.float64)

    def integers(self, w: QuantizedWeights) -> Numbers:
        return _integers(w)

    def group_of(self, column: Numbers, group_size: int) -> Numbers:
        return column // group_size

    def weights(self, scales: Numbers, q: Numbers, biases: Numbers) -> Numbers:
        return scales * q + biases

    def product(self, x: Numbers, w: Numbers) -> Numbers:
        return x @ w.T


def _with(
    task: int, symbol: str
) -> Callable[[type[Any]], Callable[[Array, QuantizedWeights], Array]]:
    """Make a mistake of wrong steps."""

    def decorate(steps: type[Any]) -> Callable[[Array, QuantizedWeights], Array]:
        def product(x: Array, w: QuantizedWeights) -> Array:
            return steps()(x, w)

        product.__name__ = steps.__name__
        return specimen(task, symbol=symbol)(product)

    return decorate


@_with(1, NAIVE)
class biases_of_groups_forgotten(_Floats):
    def weights(self, scales: Numbers, q: Numbers, biases: Numbers) -> Numbers:
        del biases
        return scales * q


@_with(1, NAIVE)
class first_group_for_the_whole_row(_Floats):
    def group_of(self, column: Numbers, group_size: int) -> Numbers:
        del group_size
        return np.zeros_like(column)


@_with(1, NAIVE)
class upper_half_of_a_byte_first(_Floats):
    def integers(self, w: QuantizedWeights) -> Numbers:
        per_byte = 8 // w.bits
        q = _integers(w)
        return q.reshape(len(q), -1, per_byte)[..., ::-1].reshape(q.shape)


@_with(1, NAIVE)
class outputs_before_tokens(_Floats):
    def product(self, x: Numbers, w: Numbers) -> Numbers:
        return (w @ x.T).reshape(len(x), len(w))


@_with(1, NAIVE)
class every_token_is_the_first(_Floats):
    def product(self, x: Numbers, w: Numbers) -> Numbers:
        return np.broadcast_to(x[:1] @ w.T, (len(x), len(w)))


@specimen(1, symbol=NAIVE)
def summed_in_half_precision(x: Array, w: QuantizedWeights) -> Array:
    if x.dtype != mx.float16:
        return kernels.matmul_naive(x, w)
    dense = _Floats().unpacked(w).astype(np.float16)
    terms = _wide(x).astype(np.float16)[:, None] * dense
    return mx.array(np.cumsum(terms, axis=-1, dtype=np.float16)[..., -1])


class _Blocks(_Floats):
    """A product block by block, likewise."""

    rows, columns = 16, 256

    def product(self, x: Numbers, w: Numbers) -> Numbers:
        y = np.zeros((len(x), len(w)))
        for first in range(0, self.end(len(w), self.rows), self.rows):
            rows = slice(first, first + self.rows)
            for column in range(0, self.end(w.shape[1], self.columns), self.columns):
                columns = slice(column, column + self.columns)
                self.add(y[:, rows], x[:, columns] @ w[rows, columns].T)
        return y

    def end(self, length: int, block: int) -> int:
        del block
        return length

    def add(self, y: Numbers, part: Numbers) -> None:
        y += part


@_with(1, BLOCKED)
class last_block_of_inputs_only(_Blocks):
    def add(self, y: Numbers, part: Numbers) -> None:
        y[:] = part


@_with(1, BLOCKED)
class incomplete_blocks_left_out(_Blocks):
    def end(self, length: int, block: int) -> int:
        return length // block * block


@_with(1, BLOCKED)
class block_used_for_one_token(_Blocks):
    def add(self, y: Numbers, part: Numbers) -> None:
        y[:1] += part[:1]


@_with(1, BLOCKED)
class groups_counted_from_the_block(_Blocks):
    def group_of(self, column: Numbers, group_size: int) -> Numbers:
        return column % self.columns // group_size


@_with(1, BLOCKED)
class first_token_of_the_block_for_all(_Blocks):
    def add(self, y: Numbers, part: Numbers) -> None:
        y += part[:1]


class _Packing:
    """The layout of a panel, of which each mistake below replaces a step."""

    def __call__(self, w: QuantizedWeights, first_row: int) -> Packed:
        rows = np.minimum(self.row(first_row) + np.arange(16), len(w.scales) - 1)
        q = _integers(w)[rows][:, self.places(w.weight.shape[1] * 32 // w.bits, w)]
        numbers = self.numbers(_wide(w.scales)[rows], _wide(w.biases)[rows])
        panel = np.ascontiguousarray(self.quads(q)).astype(np.uint8)
        parts = [panel, *map(np.ascontiguousarray, numbers)]
        return mx.array(parts[0]), mx.array(parts[1]), mx.array(parts[2])

    def row(self, first_row: int) -> int:
        return first_row

    def places(self, length: int, w: QuantizedWeights) -> Numbers:
        per_byte = 8 // w.bits
        columns = np.arange(length).reshape(-1, self.block(w) // per_byte, per_byte)
        return columns.transpose(0, 2, 1).reshape(-1)

    def block(self, w: QuantizedWeights) -> int:
        return min(w.group_size, 64)

    def quads(self, q: Numbers) -> Numbers:
        return q.reshape(16, -1, 4).transpose(1, 0, 2)

    def numbers(self, scales: Numbers, biases: Numbers) -> tuple[Numbers, Numbers]:
        return scales.T, biases.T


def _packing(steps: type[_Packing]) -> Callable[[QuantizedWeights, int], Packed]:
    """Make a task 2 mistake of wrong steps."""

    def pack(w: QuantizedWeights, first_row: int) -> Packed:
        return steps()(w, first_row)

    pack.__name__ = steps.__name__
    return specimen(2, symbol=PACK)(pack)


@_packing
class columns_left_in_order(_Packing):
    def places(self, length: int, w: QuantizedWeights) -> Numbers:
        del w
        return np.arange(length)


@_packing
class odd_columns_first(_Packing):
    def places(self, length: int, w: QuantizedWeights) -> Numbers:
        per_byte = 8 // w.bits
        columns = np.arange(length).reshape(-1, self.block(w) // per_byte, per_byte)
        return columns[..., ::-1].transpose(0, 2, 1).reshape(-1)


@_packing
class whole_row_split_in_two(_Packing):
    def places(self, length: int, w: QuantizedWeights) -> Numbers:
        return np.arange(length).reshape(-1, 8 // w.bits).T.reshape(-1)


@_packing
class blocks_as_long_as_groups(_Packing):
    def block(self, w: QuantizedWeights) -> int:
        return w.group_size


@_packing
class blocks_of_64_in_groups_of_32(_Packing):
    def block(self, w: QuantizedWeights) -> int:
        del w
        return 64


@_packing
class rows_one_behind_the_other(_Packing):
    def quads(self, q: Numbers) -> Numbers:
        return q.reshape(-1, 16, 4)


@_packing
class one_input_at_a_time(_Packing):
    def quads(self, q: Numbers) -> Numbers:
        return q.T.reshape(-1, 16, 4)


@_packing
class four_outputs_side_by_side(_Packing):
    def quads(self, q: Numbers) -> Numbers:
        return q.reshape(4, 4, -1, 4).transpose(2, 0, 3, 1).reshape(-1, 16, 4)


@_packing
class scales_one_row_after_the_other(_Packing):
    def numbers(self, scales: Numbers, biases: Numbers) -> tuple[Numbers, Numbers]:
        return scales.reshape(-1, 16), biases.reshape(-1, 16)


@_packing
class biases_before_scales(_Packing):
    def numbers(self, scales: Numbers, biases: Numbers) -> tuple[Numbers, Numbers]:
        return biases.T, scales.T


@_packing
class always_the_first_panel(_Packing):
    def row(self, first_row: int) -> int:
        del first_row
        return 0


@_packing
class number_of_the_panel_for_its_row(_Packing):
    def row(self, first_row: int) -> int:
        return first_row * 16


@_packing
class begins_at_a_multiple_of_16(_Packing):
    def row(self, first_row: int) -> int:
        return first_row // 16 * 16


class _Tiles:
    """The product in integers, of which each mistake below replaces a step."""

    def __call__(self, x: Array, w: QuantizedWeights) -> Array:
        groups = _wide(x).reshape(len(x), -1, w.group_size)
        with np.errstate(all="ignore"):
            steps = self.steps(groups)
            e = self.rounded(groups / self.divisor(steps))
            q = self.integers(w).reshape(len(w.scales), -1, w.group_size)
            dots = self.dots(self.ordered(e, w), q)
            y = self.combined(dots, e, steps, w)
        return mx.array(self.written(y).astype(np.float32)).astype(x.dtype)

    def steps(self, groups: Numbers) -> Numbers:
        return np.abs(groups).max(-1, keepdims=True) / 127

    def divisor(self, steps: Numbers) -> Numbers:
        return np.where(steps == 0, 1, steps)

    def rounded(self, e: Numbers) -> Numbers:
        return np.clip(np.rint(e), -127, 127).astype(np.float64)

    def integers(self, w: QuantizedWeights) -> Numbers:
        return _integers(w)

    def ordered(self, e: Numbers, w: QuantizedWeights) -> Numbers:
        del w
        return e

    def dots(self, e: Numbers, q: Numbers) -> Numbers:
        return np.einsum("lgi,ogi->log", e, q.astype(np.float64))

    def combined(
        self, dots: Numbers, e: Numbers, steps: Numbers, w: QuantizedWeights
    ) -> Numbers:
        scaled = self.scaled(dots, steps) * _wide(w.scales)
        return (scaled + self.sums(e, steps)[:, None] * _wide(w.biases)).sum(-1)

    def scaled(self, dots: Numbers, steps: Numbers) -> Numbers:
        return dots * steps[:, None, :, 0]

    def sums(self, e: Numbers, steps: Numbers) -> Numbers:
        return e.sum(-1) * steps[..., 0]

    def written(self, y: Numbers) -> Numbers:
        return y


@_with(3, INT8)
class scale_of_activations_forgotten(_Tiles):
    def scaled(self, dots: Numbers, steps: Numbers) -> Numbers:
        del steps
        return dots


@_with(3, INT8)
class one_scale_for_each_token(_Tiles):
    def steps(self, groups: Numbers) -> Numbers:
        steps = super().steps(groups).max(1, keepdims=True)
        return np.broadcast_to(steps, (*groups.shape[:2], 1))


@_with(3, INT8)
class largest_without_its_sign(_Tiles):
    def steps(self, groups: Numbers) -> Numbers:
        return groups.max(-1, keepdims=True) / 127


@_with(3, INT8)
class divided_by_128(_Tiles):
    def steps(self, groups: Numbers) -> Numbers:
        return np.abs(groups).max(-1, keepdims=True) / 128


@_with(3, INT8)
class activations_cut_off(_Tiles):
    def rounded(self, e: Numbers) -> Numbers:
        return np.clip(np.trunc(e), -127, 127).astype(np.float64)


@_with(3, INT8)
class zeros_divided_by_zero(_Tiles):
    def divisor(self, steps: Numbers) -> Numbers:
        return steps


@_with(3, INT8)
class biases_left_out(_Tiles):
    def sums(self, e: Numbers, steps: Numbers) -> Numbers:
        del steps
        return np.zeros(e.shape[:2])


@_with(3, INT8)
class sums_of_integers(_Tiles):
    def sums(self, e: Numbers, steps: Numbers) -> Numbers:
        del steps
        return e.sum(-1)


@_with(3, INT8)
class biases_without_activations(_Tiles):
    def sums(self, e: Numbers, steps: Numbers) -> Numbers:
        del steps
        return np.ones(e.shape[:2])


@_with(3, INT8)
class weights_taken_as_signed(_Tiles):
    def integers(self, w: QuantizedWeights) -> Numbers:
        return _integers(w).astype(np.uint8).view(np.int8).astype(np.int64)


@_with(3, INT8)
class sums_held_in_16_bits(_Tiles):
    def dots(self, e: Numbers, q: Numbers) -> Numbers:
        products = np.einsum("lgi,ogi->logi", e, q.astype(np.float64))
        pairs = products.reshape(*products.shape[:-1], -1, 2).sum(-1)
        return np.clip(pairs, -32768, 32767).sum(-1)


@_with(3, INT8)
class activations_in_another_order(_Tiles):
    def ordered(self, e: Numbers, w: QuantizedWeights) -> Numbers:
        block = min(w.group_size, 64)
        per_byte = 8 // w.bits
        planes = e.reshape(*e.shape[:2], -1, per_byte, block // per_byte)
        return planes.swapaxes(-1, -2).reshape(e.shape)


@_with(3, INT8)
class sums_not_cleared_between_groups(_Tiles):
    def scaled(self, dots: Numbers, steps: Numbers) -> Numbers:
        return super().scaled(np.cumsum(dots, axis=-1), steps)


@_with(3, INT8)
class scaled_after_all_groups(_Tiles):
    def combined(
        self, dots: Numbers, e: Numbers, steps: Numbers, w: QuantizedWeights
    ) -> Numbers:
        last = self.scaled(dots.sum(-1, keepdims=True), steps[:, -1:])[..., 0]
        shifts = self.sums(e, steps)[:, None] * _wide(w.biases)
        return last * _wide(w.scales)[:, -1] + shifts.sum(-1)


@_with(3, INT8)
class incomplete_tile_left_out(_Tiles):
    def written(self, y: Numbers) -> Numbers:
        whole = np.arange(len(y)) < len(y) // 12 * 12
        return y * whole[:, None]


@_with(3, INT8)
class incomplete_panel_left_out(_Tiles):
    def written(self, y: Numbers) -> Numbers:
        return y * (np.arange(y.shape[1]) < y.shape[1] // 16 * 16)


@_with(3, INT8)
class tokens_a_panel_apart(_Tiles):
    def written(self, y: Numbers) -> Numbers:
        # Each token is written 16 floats behind the one before it, not O.
        tokens, outputs = y.shape
        flat = np.zeros(y.size)
        for first in range(0, outputs, 16):
            for t in range(tokens):
                part = y[t, first : first + 16]
                at = min(first + t * 16, y.size - len(part))
                flat[at : at + len(part)] = part
        return flat.reshape(y.shape)


@_with(4, THREADED)
class rest_of_the_panels_left_out(_Tiles):
    def written(self, y: Numbers) -> Numbers:
        panels = (y.shape[1] + 15) // 16
        return y * (np.arange(y.shape[1]) < panels // 2 * 2 * 16)


@_with(4, THREADED)
class every_thread_adds_everything(_Tiles):
    def written(self, y: Numbers) -> Numbers:
        return y * 2


@_with(4, THREADED)
class threads_share_one_panel(_Tiles):
    def written(self, y: Numbers) -> Numbers:
        # The panel that was packed last is what all threads multiply by.
        first = (y.shape[1] - 1) // 16 * 16
        last = np.resize(y[:, first:], (len(y), 16))
        return np.tile(last, (1, first // 16 + 1))[:, : y.shape[1]]


@_with(4, THREADED)
class first_piece_only(_Tiles):
    def written(self, y: Numbers) -> Numbers:
        return y * (np.arange(y.shape[1]) < 16)


@_with(4, THREADED)
class numbers_of_pieces_for_rows(_Tiles):
    def written(self, y: Numbers) -> Numbers:
        # Piece p computes the rows p to p + 15, not those from 16 * p on.
        written = np.zeros_like(y)
        end = (y.shape[1] + 15) // 16 + 15
        written[:, :end] = y[:, :end]
        return written


@_with(4, THREADED)
class first_tile_rounded_only(_Tiles):
    def written(self, y: Numbers) -> Numbers:
        return y * (np.arange(len(y)) < 12)[:, None]


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
