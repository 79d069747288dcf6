"""Day 2: other ways to rotate pairs of channels by their position."""

import math
from collections.abc import Callable

import mlx.core as mx
import numpy as np

from tiny_llm_course.specimens import specimen

ROPE = "positional_encoding.RoPE"

Offset = slice | list[slice] | None


def _positions(x: mx.array, offset: Offset) -> mx.array:
    """Return the positions N x L of all tokens."""
    num_sequences, length = x.shape[:2]
    slices = offset if isinstance(offset, list) else [offset] * num_sequences
    starts = [0 if one is None else one.start for one in slices]
    return mx.array(starts)[:, None] + mx.arange(length)


def _rotated(x: mx.array, cos: mx.array, sin: mx.array, traditional: bool) -> mx.array:
    """Rotate by angles that broadcast to one per pair."""
    if traditional:
        a, b = x[..., 0::2], x[..., 1::2]
        pair = mx.stack([a * cos - b * sin, b * cos + a * sin], axis=-1)
        return pair.flatten(-2).astype(x.dtype)
    a, b = mx.split(x, 2, axis=-1)
    pair = mx.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)
    return pair.astype(x.dtype)


class _Stored:
    """Keep what the constructor gets, and a table of angles."""

    def __init__(
        self, dims: int, seq_len: int, base: float = 10000, traditional: bool = False
    ) -> None:
        self.dims = dims
        self.seq_len = seq_len
        self.base = base
        self.traditional = traditional
        exponents = mx.arange(dims // 2) * (2 / dims)
        self.frequencies = 1.0 / mx.power(base, exponents)
        self.table = mx.outer(mx.arange(seq_len), self.frequencies)

    def angles(self, x: mx.array, offset: Offset) -> mx.array:
        """Return angles N x L x 1 x D/2."""
        return mx.expand_dims(self.table[_positions(x, offset)], axis=2)


@specimen(1, 2, symbol=ROPE)
class library_rope(_Stored):
    """Call the operation of the library."""

    def __call__(self, x: mx.array, offset: Offset = None) -> mx.array:
        heads_first = x.swapaxes(1, 2)
        rotated = mx.fast.rope(
            heads_first,
            self.dims,
            traditional=self.traditional,
            base=self.base,
            scale=1.0,
            offset=_positions(x, offset)[:, 0],
        )
        return rotated.swapaxes(1, 2)


@specimen(1, 2, symbol=ROPE)
class complex_numbers(_Stored):
    """Multiply by exp(i angle)."""

    def __call__(self, x: mx.array, offset: Offset = None) -> mx.array:
        axis, shape = (-1, (-1, 2)) if self.traditional else (-2, (2, -1))
        real, imaginary = mx.split(mx.unflatten(x, -1, shape), 2, axis=axis)
        number = real.astype(mx.complex64) + 1j * imaginary.astype(mx.complex64)
        turned = number.squeeze(axis) * mx.exp(1j * self.angles(x, offset))
        parts = mx.stack([mx.real(turned), mx.imag(turned)], axis=axis)
        return parts.reshape(x.shape).astype(x.dtype)


@specimen(1, 2, symbol=ROPE)
class small_matrices(_Stored):
    """Multiply each pair by a matrix of its own, 2 x 2."""

    def __call__(self, x: mx.array, offset: Offset = None) -> mx.array:
        angles = self.table[_positions(x, offset)]
        cos, sin = mx.cos(angles), mx.sin(angles)
        rows = [mx.stack([cos, -sin], axis=-1), mx.stack([sin, cos], axis=-1)]
        matrices = mx.stack(rows, axis=-2)
        wide = x.astype(mx.float32)
        if self.traditional:
            pairs = wide.reshape(*x.shape[:-1], -1, 2)
            rotated = mx.einsum("nlipq,nlhiq->nlhip", matrices, pairs)
        else:
            pairs = wide.reshape(*x.shape[:-1], 2, -1)
            rotated = mx.einsum("nlipq,nlhqi->nlhpi", matrices, pairs)
        return rotated.reshape(x.shape).astype(x.dtype)


@specimen(1, 2, symbol=ROPE)
class one_large_matrix(_Stored):
    """Multiply each vector by a matrix D x D, which is nearly all zeros."""

    def __call__(self, x: mx.array, offset: Offset = None) -> mx.array:
        angles = self.table[_positions(x, offset)]
        first = mx.arange(self.dims // 2)
        second = first + self.dims // 2
        if self.traditional:
            first, second = 2 * first, 2 * first + 1
        matrix = mx.zeros((*angles.shape[:2], self.dims, self.dims))
        matrix[..., first, first] = mx.cos(angles)
        matrix[..., second, second] = mx.cos(angles)
        matrix[..., first, second] = mx.sin(angles)
        matrix[..., second, first] = -mx.sin(angles)
        return (x.astype(mx.float32) @ matrix).astype(x.dtype)


@specimen(1, 2, symbol=ROPE)
class turned_by_a_quarter(_Stored):
    """Add x cos and a quarter turn of x times sin, all of full width."""

    def __call__(self, x: mx.array, offset: Offset = None) -> mx.array:
        angles = self.angles(x, offset)
        if self.traditional:
            full = mx.repeat(angles, 2, axis=-1)
            quarter = mx.stack([-x[..., 1::2], x[..., ::2]], axis=-1).reshape(x.shape)
        else:
            full = mx.tile(angles, 2)
            first, second = mx.split(x, 2, axis=-1)
            quarter = mx.concatenate([-second, first], axis=-1)
        return (x * mx.cos(full) + quarter * mx.sin(full)).astype(x.dtype)


@specimen(1, 2, symbol=ROPE)
class all_in_the_input_dtype(_Stored):
    """Cast sine and cosine, never the angle, and rotate in the dtype of x."""

    def __call__(self, x: mx.array, offset: Offset = None) -> mx.array:
        angles = self.angles(x, offset)
        cos, sin = mx.cos(angles).astype(x.dtype), mx.sin(angles).astype(x.dtype)
        half = self.dims // 2
        if self.traditional:
            a, b = x[..., 0::2], x[..., 1::2]
        else:
            a, b = x[..., :half], x[..., half:]
        pair = [mx.subtract(cos * a, sin * b), mx.add(sin * a, cos * b)]
        if not self.traditional:
            return mx.concatenate(pair, axis=-1)
        return mx.concatenate([one[..., None] for one in pair], -1).flatten(-2)


@specimen(1, 2, symbol=ROPE)
class neighbours_by_permutation:
    """Sort the channels so that pairs are halves, rotate, and sort them back."""

    def __init__(
        self,
        dims: int,
        seq_len: int,
        base: float = 10000,
        traditional: bool = False,
        scale: float = 1.0,
    ) -> None:
        del seq_len  # angles are computed when they are needed
        order = np.arange(dims)
        if traditional:
            order = order.reshape(-1, 2).T.reshape(-1)
        self.order = mx.array(order)
        self.back = mx.array(np.argsort(order))
        self.frequencies = scale * base ** (-2 * mx.arange(dims // 2) / dims)

    def __call__(self, x: mx.array, offset: Offset = None) -> mx.array:
        angles = mx.einsum("nl,i->nli", _positions(x, offset), self.frequencies)
        cos, sin = mx.cos(angles)[:, :, None], mx.sin(angles)[:, :, None]
        sorted_x = mx.take(x.astype(mx.float32), self.order, axis=-1)
        a, b = mx.split(sorted_x, 2, axis=-1)
        rotated = mx.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)
        return mx.take(rotated, self.back, axis=-1).astype(x.dtype)


@specimen(1, 2, symbol=ROPE)
class written_into_slices(_Stored):
    """Fill an array of zeros, one sequence after the other."""

    def __call__(self, x: mx.array, offset: Offset = None) -> mx.array:
        half = self.dims // 2
        first = slice(0, None, 2) if self.traditional else slice(half)
        second = slice(1, None, 2) if self.traditional else slice(half, None)
        rotated = mx.zeros(x.shape, dtype=x.dtype)
        for row, positions in enumerate(_positions(x, offset)):
            angles = self.table[positions][:, None, :]
            cos, sin = mx.cos(angles), mx.sin(angles)
            a, b = x[row, ..., first], x[row, ..., second]
            rotated[row, ..., first] = (a * cos - b * sin).astype(x.dtype)
            rotated[row, ..., second] = (b * cos + a * sin).astype(x.dtype)
        return rotated


@specimen(1, 2, symbol=ROPE)
class exp_of_logarithms(_Stored):
    """Write base ^ (-2 i / D) as exp(-ln(base) 2 i / D)."""

    def angles(self, x: mx.array, offset: Offset) -> mx.array:
        steps = mx.arange(0, self.dims, 2, dtype=mx.float32)
        frequencies = mx.exp(steps * (-math.log(self.base) / self.dims))
        return _positions(x, offset)[:, :, None, None] * frequencies

    def __call__(self, x: mx.array, offset: Offset = None) -> mx.array:
        angles = self.angles(x, offset)
        return _rotated(x, mx.cos(angles), mx.sin(angles), self.traditional)


@specimen(1, 2, symbol=ROPE)
class tables_from_numpy:
    """Compute sines and cosines once, in float64, and keep them in float32."""

    def __init__(
        self, dims: int, seq_len: int, base: float = 10000, traditional: bool = False
    ) -> None:
        frequencies = float(base) ** (-np.arange(0, dims, 2) / dims)
        angles = np.arange(seq_len)[:, None] * frequencies
        self.cos = mx.array(np.cos(angles).astype(np.float32))
        self.sin = mx.array(np.sin(angles).astype(np.float32))
        self.traditional = traditional

    def __call__(self, x: mx.array, offset: Offset = None) -> mx.array:
        if isinstance(offset, list):
            cos = mx.stack([self.cos[one] for one in offset])
            sin = mx.stack([self.sin[one] for one in offset])
        else:
            rows = slice(x.shape[1]) if offset is None else offset
            cos, sin = self.cos[rows], self.sin[rows]
        return _rotated(x, cos[..., None, :], sin[..., None, :], self.traditional)


@specimen(1, 2, symbol=ROPE)
class polar_coordinates(_Stored):
    """Turn each pair into length and direction, and add the angle to the direction."""

    def __call__(self, x: mx.array, offset: Offset = None) -> mx.array:
        axis, shape = (-1, (-1, 2)) if self.traditional else (-2, (2, -1))
        pairs = mx.unflatten(x.astype(mx.float32), -1, shape)
        a, b = mx.take(pairs, 0, axis=axis), mx.take(pairs, 1, axis=axis)
        length = mx.linalg.norm(pairs, axis=axis)
        direction = mx.arctan2(b, a) + self.angles(x, offset)
        parts = [length * mx.cos(direction), length * mx.sin(direction)]
        return mx.stack(parts, axis=axis).reshape(x.shape).astype(x.dtype)


@specimen(1, 2, symbol=ROPE)
class table_that_grows(_Stored):
    """Keep sines and cosines of the positions that have been asked for."""

    num_known = 0

    def __call__(self, x: mx.array, offset: Offset = None) -> mx.array:
        positions = _positions(x, offset)
        num_needed = int(np.array(positions).max()) + 1
        if num_needed > self.num_known:
            self.num_known = num_needed
            angles = mx.arange(num_needed)[:, None] * self.frequencies
            self.cos, self.sin = mx.cos(angles), mx.sin(angles)
        cos = mx.take(self.cos, positions, axis=0)[..., None, :]
        sin = mx.take(self.sin, positions, axis=0)[..., None, :]
        return _rotated(x, cos, sin, self.traditional)


@specimen(1, 2, symbol=ROPE)
def function_inside_a_function(
    dims: int, seq_len: int, base: float = 10000, traditional: bool = False
) -> Callable[..., mx.array]:
    """Be a function that returns one, and put the heads before the tokens inside."""
    stored = _Stored(dims, seq_len, base, traditional)

    def rotate(x: mx.array, offset: Offset = None) -> mx.array:
        heads_first = mx.moveaxis(x, 2, 1)
        angles = mx.moveaxis(stored.angles(x, offset), 2, 1)
        rotated = _rotated(heads_first, mx.cos(angles), mx.sin(angles), traditional)
        return mx.moveaxis(rotated, 1, 2)

    return rotate


@specimen(1, 2, symbol=ROPE)
class table_filled_in_a_loop:
    """Compute one sine after the other in Python: right, and slow.

    A table of a million entries took it longer than a test may take, so it refuses
    more than a test has any need for.
    """

    def __init__(
        self, dims: int, seq_len: int, base: float = 10000, traditional: bool = False
    ) -> None:
        assert seq_len * dims // 2 <= 2**16, "a smaller table would do"
        speeds = [base ** (-2 * i / dims) for i in range(dims // 2)]
        rows = [[position * speed for speed in speeds] for position in range(seq_len)]
        self.cos = mx.array([[math.cos(angle) for angle in row] for row in rows])
        self.sin = mx.array([[math.sin(angle) for angle in row] for row in rows])
        self.traditional = traditional

    def __call__(self, x: mx.array, offset: slice | None = None) -> mx.array:
        rows = offset or slice(x.shape[1])
        cos, sin = self.cos[rows, None], self.sin[rows, None]
        return _rotated(x, cos, sin, self.traditional)
