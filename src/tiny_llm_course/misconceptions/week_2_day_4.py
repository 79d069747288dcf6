"""Day 4: what goes wrong in the rungs of the matrix-vector product.

A rung is C++; what stands here computes what a wrong one would.
"""

from collections.abc import Callable
from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.quantize import QuantizedWeights

NAIVE = "kernels.matvec_naive"
BLOCKED = "kernels.matvec_blocked"
SIMD = "kernels.matvec_simd"
INT8 = "kernels.matvec_int8"
THREADED = "kernels.matvec_threaded"

Array = mx.array
Numbers = NDArray[Any]
Rung = Callable[[Array, QuantizedWeights], Array]


def _floats(x: Array) -> Numbers:
    return np.array(x.astype(mx.float32))


class _InFloats:
    """A rung in steps, of which each mistake below replaces one."""

    def __call__(self, x: Array, w: QuantizedWeights) -> Array:
        self.w = w
        with np.errstate(all="ignore"):
            y = self.finished(self.product(_floats(x)))
        return mx.array(y.astype(np.float32)).astype(x.dtype)

    def product(self, x: Numbers) -> Numbers:
        dots = self.dots(self.integers(), x)
        return (self.scales() * dots + self.offsets(x)).sum(-1)

    def integers(self) -> Numbers:
        """Unpack: O x I."""
        words = np.array(self.w.weight)
        q = (words[..., None] >> self.shifts()) & np.uint32(self.mask())
        return q.reshape(words.shape[0], -1).astype(np.float64)

    def shifts(self) -> Numbers:
        return np.arange(0, 32, self.w.bits, dtype=np.uint32)

    def mask(self) -> int:
        return 2**self.w.bits - 1

    def in_groups(self, entries: Numbers) -> Numbers:
        return entries.reshape(*entries.shape[:-1], -1, self.w.group_size)

    def dots(self, q: Numbers, x: Numbers) -> Numbers:
        """Multiply and add up group by group: O x G."""
        return np.einsum("ogi,gi->og", self.in_groups(q), self.in_groups(x))

    def scales(self) -> Numbers:
        return _floats(self.w.scales).astype(np.float64)

    def biases(self) -> Numbers:
        return _floats(self.w.biases).astype(np.float64)

    def offsets(self, x: Numbers) -> Numbers:
        """Return what the biases contribute: O x G."""
        return self.biases() * self.sums(x)

    def sums(self, x: Numbers) -> Numbers:
        return self.in_groups(x.astype(np.float64)).sum(-1)

    def finished(self, y: Numbers) -> Numbers:
        return y


def _rung(symbol: str, *tasks: int) -> Callable[[type[_InFloats]], Rung]:
    """Make a mistake in a rung of wrong steps."""

    def mark(steps: type[_InFloats]) -> Rung:
        def rung(x: Array, w: QuantizedWeights) -> Array:
            return steps()(x, w)

        rung.__name__ = steps.__name__
        return specimen(*tasks, symbol=symbol)(rung)

    return mark


@_rung(NAIVE, 1)
class higher_half_first(_InFloats):
    def shifts(self) -> Numbers:
        places = super().shifts().reshape(-1, 8 // self.w.bits)
        return places[:, ::-1].ravel()


@_rung(NAIVE, 1)
class words_from_the_high_end(_InFloats):
    def shifts(self) -> Numbers:
        return super().shifts()[::-1]


@_rung(NAIVE, 1)
class four_bits_assumed(_InFloats):
    def integers(self) -> Numbers:
        words = np.array(self.w.weight)
        length = self.w.scales.shape[1] * self.w.group_size
        places = np.arange(length)
        per_word = 32 // self.w.bits
        shifts = (places % per_word * 4 % 32).astype(np.uint32)
        return ((words[:, places // per_word] >> shifts) & 15).astype(np.float64)


@_rung(NAIVE, 1)
class higher_bits_left_in(_InFloats):
    def mask(self) -> int:
        return 2**32 - 1


@_rung(NAIVE, 1)
class bias_not_added(_InFloats):
    def biases(self) -> Numbers:
        return super().biases() * 0


@_rung(NAIVE, 1)
class bias_scaled_as_well(_InFloats):
    def biases(self) -> Numbers:
        return self.scales() * super().biases()


@_rung(NAIVE, 1)
class bias_taken_for_a_zero_point(_InFloats):
    def biases(self) -> Numbers:
        return -self.scales() * super().biases()


@_rung(NAIVE, 1)
class groups_of_64_assumed(_InFloats):
    def product(self, x: Numbers) -> Numbers:
        groups = np.arange(x.size) // 64 % self.w.scales.shape[1]
        weights = self.integers() * self.scales()[:, groups] + self.biases()[:, groups]
        return weights @ x


@_rung(NAIVE, 1)
class groups_counted_in_words(_InFloats):
    def product(self, x: Numbers) -> Numbers:
        groups = np.arange(x.size) * self.w.bits // 32 // self.w.group_size
        weights = self.integers() * self.scales()[:, groups] + self.biases()[:, groups]
        return weights @ x


@_rung(NAIVE, 1)
class scales_of_the_first_row(_InFloats):
    def scales(self) -> Numbers:
        return super().scales()[:1]

    def biases(self) -> Numbers:
        return super().biases()[:1]


@_rung(NAIVE, 1)
class scale_of_the_next_group(_InFloats):
    def scales(self) -> Numbers:
        return np.roll(super().scales().ravel(), -1).reshape(self.w.scales.shape)


@_rung(NAIVE, 1)
class half_types_taken_for_each_other(_InFloats):
    def scales(self) -> Numbers:
        return self._misread(self.w.scales)

    def biases(self) -> Numbers:
        return self._misread(self.w.biases)

    def _misread(self, numbers: Array) -> Numbers:
        other = {mx.float16: mx.bfloat16, mx.bfloat16: mx.float16}
        wrong = other.get(numbers.dtype)
        return _floats(numbers if wrong is None else numbers.view(wrong))


@_rung(NAIVE, 1)
class sum_not_begun_anew(_InFloats):
    def finished(self, y: Numbers) -> Numbers:
        return np.cumsum(y)


@_rung(NAIVE, 1)
class last_group_left_out(_InFloats):
    def product(self, x: Numbers) -> Numbers:
        terms = self.scales() * self.dots(self.integers(), x) + self.offsets(x)
        return terms[:, :-1].sum(-1)


@_rung(BLOCKED, 1)
class rows_beyond_the_last_block_left_out(_InFloats):
    def finished(self, y: Numbers) -> Numbers:
        y[y.size // 4 * 4 :] = 0
        return y


@_rung(BLOCKED, 1)
class first_row_of_a_block_for_all(_InFloats):
    def finished(self, y: Numbers) -> Numbers:
        return y[np.arange(y.size) // 4 * 4]


@_rung(BLOCKED, 1)
class scales_of_the_first_row_of_a_block(_InFloats):
    def scales(self) -> Numbers:
        rows = np.arange(self.w.scales.shape[0])
        return super().scales()[
            np.where(rows < rows.size // 4 * 4, rows // 4 * 4, rows)
        ]


@_rung(BLOCKED, 1)
class biases_added_once_for_each_group(_InFloats):
    def sums(self, x: Numbers) -> Numbers:
        return np.ones(self.w.scales.shape[1])


@_rung(BLOCKED, 1)
class biases_times_the_sum_of_the_row(_InFloats):
    def sums(self, x: Numbers) -> Numbers:
        return np.full(self.w.scales.shape[1], x.sum(dtype=np.float64))


@_rung(BLOCKED, 1)
class biases_times_the_sum_of_the_integers(_InFloats):
    def offsets(self, x: Numbers) -> Numbers:
        return self.biases() * self.in_groups(self.integers()).sum(-1)


@_rung(BLOCKED, 1)
class biases_scaled_with_the_dots(_InFloats):
    def offsets(self, x: Numbers) -> Numbers:
        return self.scales() * super().offsets(x)


@_rung(BLOCKED, 1)
class dots_not_begun_anew(_InFloats):
    def dots(self, q: Numbers, x: Numbers) -> Numbers:
        return np.cumsum(super().dots(q, x), axis=-1)


@_rung(BLOCKED, 1)
class words_not_shifted(_InFloats):
    def shifts(self) -> Numbers:
        return super().shifts() * np.uint32(0)


@_rung(BLOCKED, 1)
class scaled_once_for_the_row(_InFloats):
    def product(self, x: Numbers) -> Numbers:
        dots = self.dots(self.integers(), x).sum(-1)
        return self.scales()[:, -1] * dots + self.offsets(x).sum(-1)


def _across_words(x: Numbers, bits: int, lanes: int) -> Numbers:
    """Put x into the order in which words side by side give their weights."""
    return x.reshape(-1, lanes, 32 // bits).swapaxes(1, 2).ravel()


def _lanes(w: QuantizedWeights) -> int:
    return 2 if w.bits * w.group_size < 128 else 4


@_rung(SIMD, 2)
class vector_in_its_own_order(_InFloats):
    def dots(self, q: Numbers, x: Numbers) -> Numbers:
        rows = [_across_words(row, self.w.bits, _lanes(self.w)) for row in q]
        return super().dots(np.array(rows), x)


@_rung(SIMD, 2)
class only_the_first_lane_returned(_InFloats):
    def dots(self, q: Numbers, x: Numbers) -> Numbers:
        words = np.arange(x.size) * self.w.bits // 32
        return super().dots(q * (words % _lanes(self.w) == 0), x)


@_rung(SIMD, 2)
class half_of_the_lanes_added_up(_InFloats):
    def dots(self, q: Numbers, x: Numbers) -> Numbers:
        words = np.arange(x.size) * self.w.bits // 32
        return super().dots(q * (words % _lanes(self.w) < _lanes(self.w) // 2), x)


@_rung(SIMD, 2)
class bias_added_in_each_lane(_InFloats):
    def offsets(self, x: Numbers) -> Numbers:
        return _lanes(self.w) * super().offsets(x)


@_rung(SIMD, 2)
class words_of_a_vector_not_shifted(_InFloats):
    def shifts(self) -> Numbers:
        return super().shifts() * np.uint32(0)


@_rung(SIMD, 2)
class bytes_taken_for_signed(_InFloats):
    def integers(self) -> Numbers:
        q = super().integers()
        return np.where(q > 127, q - 256, q)


@_rung(SIMD, 2)
class vector_across_two_groups(_InFloats):
    def scales(self) -> Numbers:
        return self._of_the_first(super().scales())

    def biases(self) -> Numbers:
        return self._of_the_first(super().biases())

    def _of_the_first(self, numbers: Numbers) -> Numbers:
        together = max(1, 64 // self.w.group_size)
        groups = np.arange(numbers.shape[1])
        return numbers[:, groups // together * together]


@_rung(SIMD, 2)
class rest_of_the_row_left_out(_InFloats):
    def product(self, x: Numbers) -> Numbers:
        whole = np.arange(x.size) < x.size // 256 * 256
        return super().product(x * whole)


@_rung(SIMD, 2)
class one_sum_of_two_returned(_InFloats):
    def dots(self, q: Numbers, x: Numbers) -> Numbers:
        places = np.arange(x.size) % (32 // self.w.bits)
        return super().dots(q * (places % 2 == 0), x)


@_rung(SIMD, 2)
class lanes_averaged(_InFloats):
    def dots(self, q: Numbers, x: Numbers) -> Numbers:
        return super().dots(q, x) / _lanes(self.w)


class _InIntegers(_InFloats):
    """The rungs with activations of 8 bits, in steps."""

    def product(self, x: Numbers) -> Numbers:
        groups = self.in_groups(x)
        steps = self.steps(groups)
        q_x = self.held(self.rounded(self.divided(groups, steps)))
        dots = self.dots(self.weights(), q_x.reshape(-1))
        scaled = self.scales() * self.of_groups(steps) * dots
        return (scaled + self.biases() * self.sums_of(groups, q_x, steps)).sum(-1)

    def steps(self, groups: Numbers) -> Numbers:
        return np.abs(groups).max(-1) / self.largest()

    def largest(self) -> float:
        return 127.0

    def divided(self, groups: Numbers, steps: Numbers) -> Numbers:
        return groups / np.where(steps > 0, steps, 1)[:, None]

    def rounded(self, numbers: Numbers) -> Numbers:
        return np.rint(numbers)

    def held(self, q: Numbers) -> Numbers:
        return np.clip(q, -127, 127)

    def weights(self) -> Numbers:
        return self.integers()

    def of_groups(self, steps: Numbers) -> Numbers:
        return steps

    def sums_of(self, groups: Numbers, q: Numbers, steps: Numbers) -> Numbers:
        del groups
        return steps * q.sum(-1)

    def in_blocks(self, entries: Numbers, size: int) -> Numbers:
        """Put entries into the order of unpacked bytes, in blocks of a size."""
        per_byte = 8 // self.w.bits
        blocks = entries.reshape(*entries.shape[:-1], -1, size // per_byte, per_byte)
        return blocks.swapaxes(-1, -2).reshape(entries.shape)


@_rung(INT8, 3)
class rounded_toward_zero(_InIntegers):
    def rounded(self, numbers: Numbers) -> Numbers:
        # What is a whole number may have become a little less in the division.
        return np.trunc(numbers * (1 + 1e-6))


@_rung(INT8, 3)
class rounded_down(_InIntegers):
    def rounded(self, numbers: Numbers) -> Numbers:
        return np.floor(numbers + 1e-4)


@_rung(INT8, 3)
class divided_by_128(_InIntegers):
    def largest(self) -> float:
        return 128.0


@_rung(INT8, 3)
class wrapped_at_128(_InIntegers):
    def largest(self) -> float:
        return 128.0

    def held(self, q: Numbers) -> Numbers:
        return (q + 128) % 256 - 128


@_rung(INT8, 3)
class divided_by_255(_InIntegers):
    def largest(self) -> float:
        return 255.0


@_rung(INT8, 3)
class one_scale_for_the_vector(_InIntegers):
    def steps(self, groups: Numbers) -> Numbers:
        return np.full(groups.shape[0], np.abs(groups).max() / 127)


@_rung(INT8, 3)
class largest_without_its_sign(_InIntegers):
    def steps(self, groups: Numbers) -> Numbers:
        return np.maximum(groups.max(-1), 0) / 127


@_rung(INT8, 3)
class zeros_divide_by_zero(_InIntegers):
    def divided(self, groups: Numbers, steps: Numbers) -> Numbers:
        return groups / steps[:, None]


@_rung(INT8, 3)
class scale_of_the_activations_forgotten(_InIntegers):
    def of_groups(self, steps: Numbers) -> Numbers:
        return np.ones_like(steps)


@_rung(INT8, 3)
class scale_of_the_group_before(_InIntegers):
    def of_groups(self, steps: Numbers) -> Numbers:
        return np.roll(steps, 1)


@_rung(INT8, 3)
class sums_of_what_is_not_rounded(_InIntegers):
    def sums_of(self, groups: Numbers, q: Numbers, steps: Numbers) -> Numbers:
        return groups.sum(-1)


@_rung(INT8, 3)
class sums_without_their_scale(_InIntegers):
    def sums_of(self, groups: Numbers, q: Numbers, steps: Numbers) -> Numbers:
        return q.sum(-1)


@_rung(INT8, 3)
class biases_forgotten(_InIntegers):
    def sums_of(self, groups: Numbers, q: Numbers, steps: Numbers) -> Numbers:
        return steps * 0


@_rung(INT8, 3)
class activations_in_their_own_order(_InIntegers):
    def weights(self) -> Numbers:
        return self.in_blocks(self.integers(), min(self.w.group_size, 64))


@_rung(INT8, 3)
class odd_ones_first(_InIntegers):
    def weights(self) -> Numbers:
        per_byte = 8 // self.w.bits
        q = self.integers()
        return q.reshape(q.shape[0], -1, per_byte)[..., ::-1].reshape(q.shape)


@_rung(INT8, 3)
class planes_of_the_whole_group(_InIntegers):
    def weights(self) -> Numbers:
        # Where a weight comes in blocks of 64, and where one of the group is expected.
        here = self.in_blocks(np.arange(self.length()), min(self.w.group_size, 64))
        there = self.in_blocks(np.arange(self.length()), self.w.group_size)
        q = self.integers()
        met = np.empty_like(q)
        met[:, there] = q[:, here]
        return met

    def length(self) -> int:
        return self.w.scales.shape[1] * self.w.group_size


@_rung(INT8, 3)
class weights_taken_for_signed(_InIntegers):
    def weights(self) -> Numbers:
        q = self.integers()
        return np.where(q >= 2 ** (self.w.bits - 1), q - 2**self.w.bits, q)


@_rung(INT8, 3)
class activations_taken_for_unsigned(_InIntegers):
    def dots(self, q: Numbers, x: Numbers) -> Numbers:
        return super().dots(q, x % 256)


@_rung(INT8, 3)
class sums_held_in_16_bits(_InIntegers):
    def dots(self, q: Numbers, x: Numbers) -> Numbers:
        dots = super().dots(q, x)
        return (dots + 2**15) % 2**16 - 2**15


@_rung(INT8, 3)
class sums_saturated(_InIntegers):
    def dots(self, q: Numbers, x: Numbers) -> Numbers:
        size = min(self.w.group_size, 64)
        products = self.in_blocks(q * x, size)
        pairs = products.reshape(q.shape[0], -1, 2).sum(-1)
        held = np.clip(pairs, -(2**15), 2**15 - 1)
        return held.reshape(*self.w.scales.shape, -1).sum(-1)


@_rung(INT8, 3)
class half_of_the_range_unused(_InIntegers):
    def largest(self) -> float:
        return 63.0


@_rung(INT8, 3)
class rest_of_the_groups_left_out(_InIntegers):
    def of_groups(self, steps: Numbers) -> Numbers:
        groups = np.arange(steps.size)
        return np.where(groups < max(1, steps.size // 4 * 4), steps, 0)


@_rung(THREADED, 4)
class rows_beyond_the_last_piece_left_out(_InIntegers):
    def finished(self, y: Numbers) -> Numbers:
        y[y.size // 4 * 4 :] = 0
        return y


@_rung(THREADED, 4)
class last_row_of_a_piece_left_out(_InIntegers):
    def finished(self, y: Numbers) -> Numbers:
        for piece in np.array_split(np.arange(y.size), 2):
            y[piece[-1:]] = 0
        return y


@_rung(THREADED, 4)
class only_the_first_piece_computed(_InIntegers):
    def finished(self, y: Numbers) -> Numbers:
        y[(y.size + 1) // 2 :] = 0
        return y


@_rung(THREADED, 4)
class pieces_written_to_the_front(_InIntegers):
    def finished(self, y: Numbers) -> Numbers:
        half = (y.size + 1) // 2
        y[: y.size - half] = y[half:]
        y[half:] = 0
        return y


@_rung(THREADED, 4)
class pieces_of_the_first_rows(_InIntegers):
    def finished(self, y: Numbers) -> Numbers:
        half = (y.size + 1) // 2
        y[half:] = y[: y.size - half]
        return y


@_rung(THREADED, 4)
class fewer_rows_than_threads_left_out(_InIntegers):
    def finished(self, y: Numbers) -> Numbers:
        return y if y.size >= 2 else y * 0
