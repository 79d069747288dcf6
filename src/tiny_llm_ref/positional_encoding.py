"""Rotary position embedding: where a token stands, told by turning its vectors."""

import mlx.core as mx
from jaxtyping import Float


class RoPE:
    """Rotate pairs of channels by angles that grow with the position.

        angle(p, i) = p * base ^ (-2 i / D),   i = 0 .. D/2 - 1
        (a, b) -> (a cos - b sin, b cos + a sin)

    After it, the dot product of a query and a key depends on their distance alone.
    The pairs (a, b) are neighbours (x_0, x_1), (x_2, x_3), ... when `traditional`,
    and otherwise entries half a vector apart, (x_i, x_(i + D/2)), as in Qwen2.
    Angles reach thousands of radians, so they are computed in float32 whatever the
    dtype of the input: float16 cannot tell neighbouring positions apart from 2048 on.

    Args:
        dims: Width D of a head.
        seq_len: Number of positions in the table of angles.
        base: Ratio of the fastest to the slowest rotation, nearly. Qwen2 uses 1000000.
        traditional: Whether pairs are neighbours.

    Raises:
        ValueError: `dims` is odd.

    Source: Su et al. 2021 (arXiv:2104.09864), section 3.4.2, equation 34, for the
        traditional pairs. The halves come from the GPT-NeoX code.
    """

    def __init__(
        self, dims: int, seq_len: int, base: float = 10000, traditional: bool = False
    ) -> None:
        if dims % 2 != 0:
            raise ValueError(f"RoPE: expected an even number of dims, got {dims}")
        self.dims = dims
        self.seq_len = seq_len
        self.traditional = traditional
        frequencies = mx.power(base, -mx.arange(0, dims, 2, dtype=mx.float32) / dims)
        angles = mx.arange(seq_len, dtype=mx.float32)[:, None] * frequencies
        self.cos = mx.cos(angles)
        self.sin = mx.sin(angles)

    def __call__(
        self,
        x: Float[mx.array, "N L H D"],
        offset: slice | list[slice] | None = None,
    ) -> Float[mx.array, "N L H D"]:
        """Rotate `x` according to the positions of its tokens.

        Args:
            x: Queries or keys, heads after tokens.
            offset: The L positions of the tokens: None for 0 to L - 1, at every call,
                or a slice for the whole batch. From Week 3 on also a list: one slice
                for each of the N sequences.

        Raises:
            ValueError: A position lies past the table, a slice does not hold L
                positions, or there are not N slices.
        """
        N, L, _, D = x.shape  # noqa: N806 - the axes as in the shapes
        if self.dims != D:
            raise ValueError(f"RoPE: expected vectors of length {self.dims}, got {D}")
        slices = offset if isinstance(offset, list) else [offset or slice(0, L)]
        if isinstance(offset, list) and len(offset) != N:
            raise ValueError(f"RoPE: expected {N} offsets, got {len(slices)}")
        rows = [self._rows(positions, L) for positions in slices]
        cos = mx.stack([self.cos[row] for row in rows])[:, :, None, :]
        sin = mx.stack([self.sin[row] for row in rows])[:, :, None, :]

        pair_axis = -1 if self.traditional else -2
        pairs = (-1, 2) if self.traditional else (2, -1)
        wide = mx.unflatten(x.astype(mx.float32), -1, pairs)
        a, b = (part.squeeze(pair_axis) for part in mx.split(wide, 2, axis=pair_axis))
        rotated = mx.stack([a * cos - b * sin, b * cos + a * sin], axis=pair_axis)
        return mx.flatten(rotated, -2, -1).astype(x.dtype)

    def _rows(self, positions: slice, length: int) -> slice:
        """Check that `positions` are `length` rows of the table, and return them."""
        start = positions.start or 0
        stop = start + length if positions.stop is None else positions.stop
        if stop - start != length:
            raise ValueError(
                f"RoPE: expected a slice of {length} positions, got {positions}"
            )
        if start < 0 or stop > self.seq_len:
            raise ValueError(
                f"RoPE: expected positions below {self.seq_len}, got {start} to "
                f"{stop - 1}; make seq_len larger or the text shorter"
            )
        return slice(start, stop)


def sinusoidal_positions(
    num_positions: int, dim: int, base: float = 10000
) -> Float[mx.array, "num_positions dim"]:
    """Write down a vector for each position, made of sines and cosines.

        y[p, 2 i]     = sin(p / base ^ (2 i / dim)),   i = 0 .. dim/2 - 1
        y[p, 2 i + 1] = cos(p / base ^ (2 i / dim))

    The transformer of 2017 adds row p to the embedding of the token at position p.
    Angles reach thousands of radians; they and the result are float32.

    Args:
        num_positions: Number of rows, for positions 0 to num_positions - 1.
        dim: Length of the vectors.
        base: Ratio of the fastest to the slowest wave, nearly. The paper has 10000.

    Raises:
        ValueError: `dim` is odd.

    Source: Vaswani et al. 2017 (arXiv:1706.03762), section 3.5.
    """
    if dim % 2 != 0:
        raise ValueError(f"sinusoidal_positions: expected an even dim, got {dim}")
    frequencies = mx.power(base, -mx.arange(0, dim, 2, dtype=mx.float32) / dim)
    angles = mx.arange(num_positions, dtype=mx.float32)[:, None] * frequencies
    return mx.flatten(mx.stack([mx.sin(angles), mx.cos(angles)], axis=-1), -2, -1)
