"""Day 2, task 3: what goes wrong in sinusoidal positions."""

import math

import mlx.core as mx

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.positional_encoding import sinusoidal_positions

SINUSOIDS = "positional_encoding.sinusoidal_positions"


def _angles(num_positions: int, exponents: mx.array, base: float) -> mx.array:
    """Divide each position by `base` to the power of each exponent."""
    positions = mx.arange(num_positions, dtype=mx.float32)
    return positions[:, None] / mx.power(base, exponents)


def _exponents(dim: int) -> mx.array:
    """Return the right exponents, one for each pair of columns."""
    return mx.arange(0, dim, 2, dtype=mx.float32) / dim


def _interleaved(even: mx.array, odd: mx.array) -> mx.array:
    """Put columns down in turns."""
    return mx.stack([even, odd], axis=-1).flatten(-2)


def _waves(angles: mx.array) -> mx.array:
    """Return sines and cosines in turns."""
    return _interleaved(mx.sin(angles), mx.cos(angles))


@specimen(3, symbol=SINUSOIDS)
def sinusoids_in_two_halves(
    num_positions: int, dim: int, base: float = 10000
) -> mx.array:
    angles = _angles(num_positions, _exponents(dim), base)
    return mx.concatenate([mx.sin(angles), mx.cos(angles)], axis=-1)


@specimen(3, symbol=SINUSOIDS)
def sinusoids_with_cosines_first(
    num_positions: int, dim: int, base: float = 10000
) -> mx.array:
    angles = _angles(num_positions, _exponents(dim), base)
    return _interleaved(mx.cos(angles), mx.sin(angles))


@specimen(3, symbol=SINUSOIDS)
def sinusoids_without_cosines(
    num_positions: int, dim: int, base: float = 10000
) -> mx.array:
    angles = _angles(num_positions, _exponents(dim), base)
    return _interleaved(mx.sin(angles), mx.sin(angles))


@specimen(3, symbol=SINUSOIDS)
def sinusoids_with_an_angle_for_each_column(
    num_positions: int, dim: int, base: float = 10000
) -> mx.array:
    angles = _angles(num_positions, mx.arange(dim, dtype=mx.float32) / dim, base)
    return mx.where(mx.arange(dim) % 2 == 0, mx.sin(angles), mx.cos(angles))


@specimen(3, symbol=SINUSOIDS)
def sinusoids_with_columns_in_the_exponent(
    num_positions: int, dim: int, base: float = 10000
) -> mx.array:
    return _waves(_angles(num_positions, 2 * _exponents(dim), base))


@specimen(3, symbol=SINUSOIDS)
def sinusoids_without_the_2(
    num_positions: int, dim: int, base: float = 10000
) -> mx.array:
    return _waves(_angles(num_positions, _exponents(dim) / 2, base))


@specimen(3, symbol=SINUSOIDS)
def sinusoids_multiplied_by_the_power(
    num_positions: int, dim: int, base: float = 10000
) -> mx.array:
    return _waves(_angles(num_positions, -_exponents(dim), base))


@specimen(3, symbol=SINUSOIDS)
def sinusoids_with_an_exponent_up_to_1(
    num_positions: int, dim: int, base: float = 10000
) -> mx.array:
    return _waves(_angles(num_positions, mx.linspace(0, 1, dim // 2), base))


@specimen(3, symbol=SINUSOIDS)
def sinusoids_with_pairs_from_1(
    num_positions: int, dim: int, base: float = 10000
) -> mx.array:
    return _waves(_angles(num_positions, _exponents(dim) + 2 / dim, base))


@specimen(3, symbol=SINUSOIDS)
def sinusoids_from_position_1(
    num_positions: int, dim: int, base: float = 10000
) -> mx.array:
    return sinusoidal_positions(num_positions + 1, dim, base)[1:]


@specimen(3, symbol=SINUSOIDS)
def sinusoids_of_base_10000_always(
    num_positions: int, dim: int, base: float = 10000
) -> mx.array:
    del base
    return sinusoidal_positions(num_positions, dim)


@specimen(3, symbol=SINUSOIDS)
def sinusoids_of_base_1000000_by_default(
    num_positions: int, dim: int, base: float = 1000000
) -> mx.array:
    return sinusoidal_positions(num_positions, dim, base)


@specimen(3, symbol=SINUSOIDS)
def sinusoids_in_whole_turns(
    num_positions: int, dim: int, base: float = 10000
) -> mx.array:
    return _waves(2 * math.pi * _angles(num_positions, _exponents(dim), base))


@specimen(3, symbol=SINUSOIDS)
def sinusoids_with_angles_in_float16(
    num_positions: int, dim: int, base: float = 10000
) -> mx.array:
    angles = _angles(num_positions, _exponents(dim), base).astype(mx.float16)
    return _waves(angles).astype(mx.float32)


@specimen(3, symbol=SINUSOIDS)
def sinusoids_rounded_to_float16(
    num_positions: int, dim: int, base: float = 10000
) -> mx.array:
    return sinusoidal_positions(num_positions, dim, base).astype(mx.float16)


@specimen(3, symbol=SINUSOIDS)
def sinusoids_with_positions_along_the_columns(
    num_positions: int, dim: int, base: float = 10000
) -> mx.array:
    return sinusoidal_positions(num_positions, dim, base).T
