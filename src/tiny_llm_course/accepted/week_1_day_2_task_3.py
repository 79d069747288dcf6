"""Day 2, task 3: other right ways to write sinusoidal positions."""

import math

import mlx.core as mx
import numpy as np

from tiny_llm_course.specimens import specimen

SINUSOIDS = "positional_encoding.sinusoidal_positions"


@specimen(3, symbol=SINUSOIDS)
def columns_assigned(num_positions: int, dim: int, base: float = 10000) -> mx.array:
    table = mx.zeros((num_positions, dim))
    falling = mx.exp(mx.arange(0, dim, 2) * (-math.log(base) / dim))
    angles = mx.arange(num_positions)[:, None] * falling
    table[:, 0::2] = mx.sin(angles)
    table[:, 1::2] = mx.cos(angles)
    return table


@specimen(3, symbol=SINUSOIDS)
def position_over_power(num_positions: int, dim: int, base: float = 10000) -> mx.array:
    waves: list[mx.array] = []
    positions = mx.arange(num_positions).astype(mx.float32)
    for pair in range(dim // 2):
        angles = positions / base ** (2 * pair / dim)
        waves += [mx.sin(angles), mx.cos(angles)]
    return mx.stack(waves, axis=1)


@specimen(3, symbol=SINUSOIDS)
def cosine_as_a_sine(num_positions: int, dim: int, base: float = 10000) -> mx.array:
    columns = mx.arange(dim)
    exponents = (columns - columns % 2) / dim
    angles = mx.outer(mx.arange(num_positions), 1 / mx.power(float(base), exponents))
    return mx.sin(angles + (columns % 2) * (math.pi / 2))


@specimen(3, symbol=SINUSOIDS)
def angles_repeated(num_positions: int, dim: int, base: float = 10000) -> mx.array:
    frequencies = 1 / mx.power(base, mx.arange(dim // 2) * 2 / dim)
    angles = mx.repeat(mx.outer(mx.arange(num_positions), frequencies), 2, axis=1)
    is_even = mx.arange(dim) % 2 == 0
    return mx.where(is_even, mx.sin(angles), mx.cos(angles))


@specimen(3, symbol=SINUSOIDS)
def numpy_in_float64(num_positions: int, dim: int, base: float = 10000) -> mx.array:
    angles = np.arange(num_positions)[:, None] / base ** (np.arange(0, dim, 2) / dim)
    waves = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    return mx.array(waves.reshape(num_positions, dim).astype(np.float32))


@specimen(3, symbol=SINUSOIDS)
def halves_put_in_turns(num_positions: int, dim: int, base: float = 10000) -> mx.array:
    frequencies = mx.power(base, mx.arange(0, dim, 2) / -dim)
    angles = mx.einsum(
        "p,i->pi", mx.arange(num_positions, dtype=mx.float32), frequencies
    )
    halves = mx.concatenate([mx.sin(angles), mx.cos(angles)], axis=-1)
    return halves.reshape(num_positions, 2, -1).swapaxes(1, 2).reshape(-1, dim)
