"""Rotary position embedding: where a token stands, told by turning its vectors."""

import mlx.core as mx
from jaxtyping import Float

from tiny_llm_course import todo


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
        todo("week 1, day 2, task 1")

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
        todo("week 1, day 2, task 1")


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
    todo("week 1, day 2, task 3")
