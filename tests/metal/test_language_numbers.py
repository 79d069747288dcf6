"""Numbers of 16 bits: each operation rounds as the specification says, to the last bit.

Metal rounds to the nearest, ties to even (MSL 8.2). So do numpy for halves and MLX for
the conversion to bfloat, which all else about bfloats follows from.
"""

from collections.abc import Callable

import mlx.core as mx
import numpy as np
import pytest

EVERY = np.arange(2**16, dtype=np.uint16)
RNG = np.random.default_rng(7)

# Pairs of any bits at all: subnormal numbers, infinities and what is no number too.
LEFT, RIGHT = RNG.integers(0, 2**16, (2, 20_000), dtype=np.uint16)
N = len(LEFT)


def half(bits: np.ndarray) -> mx.array:
    return mx.array(bits).view(mx.float16)


def bfloat(bits: np.ndarray) -> mx.array:
    return mx.array(bits).view(mx.bfloat16)


def wide(bits: np.ndarray) -> np.ndarray:
    """Return bfloats of these bits as floats."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def assert_same_bits(got: mx.array, expected: np.ndarray) -> None:
    """Compare bit by bit. What is no number is one thing, whatever its bits."""
    bits = np.array(got.view(mx.uint16))
    is_same = bits == expected.view(np.uint16)
    if got.dtype == mx.float16:
        neither = np.isnan(bits.view(np.float16)) & np.isnan(expected.view(np.float16))
    else:
        neither = np.isnan(wide(bits)) & np.isnan(wide(expected.view(np.uint16)))
    assert np.flatnonzero(~(is_same | neither)).tolist() == []


def rounded(values: np.ndarray) -> np.ndarray:
    """Return the bits of the bfloats nearest to some floats, by MLX."""
    return np.array(mx.array(values).astype(mx.bfloat16).view(mx.uint16))


ARITHMETIC = "uint i = thread_position_in_grid.x; out[i] = a[i] {} b[i];"


@pytest.mark.parametrize("sign", ["+", "-", "*", "/"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_arithmetic_of_halves_rounds_each_time(run_body: Callable, sign: str) -> None:
    x, y = LEFT.view(np.float16), RIGHT.view(np.float16)

    (got,) = run_body(
        ARITHMETIC.format(sign),
        {"a": half(LEFT), "b": half(RIGHT)},
        [((N,), mx.float16)],
        N,
    )

    operation = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[sign]
    assert_same_bits(got, operation(x, y))


@pytest.mark.parametrize("sign", ["+", "-", "*", "/"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_arithmetic_of_bfloats_rounds_each_time(run_body: Callable, sign: str) -> None:
    (got,) = run_body(
        ARITHMETIC.format(sign),
        {"a": bfloat(LEFT), "b": bfloat(RIGHT)},
        [((N,), mx.bfloat16)],
        N,
    )

    operation = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[sign]
    assert_same_bits(got, rounded(operation(wide(LEFT), wide(RIGHT))))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_step_of_two_operations_is_rounded_twice(run_body: Callable) -> None:
    """A product that stays in float until the sum would be off by one bit at times."""
    x, y = LEFT.view(np.float16), RIGHT.view(np.float16)

    got, fused = run_body(
        "uint i = thread_position_in_grid.x; half x = a[i], y = b[i];\n"
        "out[i] = x * y + x; out1[i] = fma(x, y, x);",
        {"a": half(LEFT), "b": half(RIGHT)},
        [((N,), mx.float16)] * 2,
        N,
    )

    assert_same_bits(got, x * y + x)
    exact = x.astype(np.longdouble) * y + x  # 64 bits hold all but the smallest
    assert_same_bits(fused, exact.astype(np.float16))


CONVERSIONS = """\
uint i = thread_position_in_grid.x;
out[i] = float(h[i]); out1[i] = float(b[i]);
"""


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_half_and_bfloat_becomes_the_same_float(run_body: Callable) -> None:
    halves, bfloats = run_body(
        CONVERSIONS,
        {"h": half(EVERY), "b": bfloat(EVERY)},
        [((2**16,), mx.float32)] * 2,
        2**16,
    )

    assert np.array_equal(np.array(halves), EVERY.view(np.float16), equal_nan=True)
    assert np.array_equal(np.array(bfloats), wide(EVERY), equal_nan=True)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_floats_are_rounded_to_the_nearest_ties_to_even(run_body: Callable) -> None:
    """Those that lie half-way between two, and their neighbours, are among them."""
    ties = [(EVERY.astype(np.uint32) << 16) + step for step in (0x7FFF, 0x8000, 0x8001)]
    half_ties = EVERY.view(np.float16).astype(np.float32).view(np.uint32) + 0x1000
    bits = np.concatenate([*ties, half_ties, half_ties - 1, half_ties + 1])[::3]
    floats = bits.astype(np.uint32).view(np.float32)

    halves, bfloats = run_body(
        "uint i = thread_position_in_grid.x;\n"
        "out[i] = half(f[i]); out1[i] = bfloat(f[i]);",
        {"f": mx.array(floats)},
        [((len(bits),), mx.float16), ((len(bits),), mx.bfloat16)],
        len(bits),
    )

    assert_same_bits(halves, floats.astype(np.float16))
    assert_same_bits(bfloats, rounded(floats))


def test_types_of_mixed_operations(run_body: Callable) -> None:
    """A half beside a float is one; a whole number beside a half is a half."""
    (got,) = run_body(
        """\
half h = half(x[0]); bfloat b = bfloat(x[0]); int i = 3; short s = 1; uchar c = 200;
out[0] = sizeof(h * 1.0f); out[1] = sizeof(h * 1.0); out[2] = sizeof(h * i);
out[3] = sizeof(b * x[0]); out[4] = sizeof(b * b); out[5] = sizeof(b * i);
out[6] = sizeof(h * 1.0h); out[7] = sizeof(s + s); out[8] = c + c > 255;
out[9] = sizeof(1e-3); out[10] = sizeof(.5); out[11] = sizeof(1.h);
out[12] = is_same_v<decltype(1.5), float>; out[13] = sizeof(true ? h : 1.0f);
""",
        {"x": mx.ones((100,))},
        [((14,), mx.int32)],
        1,
    )

    assert got.tolist() == [4, 4, 2, 4, 2, 2, 2, 4, 1, 4, 4, 2, 1, 4]


def test_widths_and_shifts_of_whole_numbers(run_body: Callable) -> None:
    (got,) = run_body(
        """\
int i = int(x[0]); uint u = uint(x[0]); uint big = 0xFFFFFFFFu;
out[0] = sizeof(long); out[1] = sizeof(ulong4); out[2] = sizeof(float3);
out[3] = sizeof(half3); out[4] = sizeof(packed_float3); out[5] = sizeof(bool4);
out[6] = -7 / 2; out[7] = -7 % 2; out[8] = -8 >> 1; out[9] = int(big >> 28);
out[10] = (uint4(1) << uint4(33)).x; out[11] = int(-1.9); out[12] = int(char(200));
out[13] = 2147483647 + i < 0; out[14] = (u - 2u) > 5u; out[15] = as_type<int>(1.0);
""",
        {"x": mx.ones((100,))},
        [((16,), mx.int32)],
        1,
    )

    expected = [8, 32, 16, 8, 12, 4, -3, -1, -4, 15, 2, -1, -56, 1, 1, 0x3F800000]
    assert got.tolist() == expected


def test_limits(run_body: Callable) -> None:
    (got,) = run_body(
        """\
out[0] = numeric_limits<half>::max(); out[1] = numeric_limits<half>::min();
out[2] = numeric_limits<bfloat>::max(); out[3] = numeric_limits<bfloat>::epsilon();
out[4] = Limits<float>::min; out[5] = Limits<half>::finite_max; out[6] = HALF_MAX;
out[7] = Limits<bfloat16_t>::max; out[8] = numeric_limits<int>::max();
""",
        {"x": mx.ones((100,))},
        [((9,), mx.float32)],
        1,
    )

    bfloat_max = float(wide(np.array([0x7F7F], np.uint16))[0])
    assert got.tolist() == [
        *(65504, 2.0**-14, bfloat_max, 2.0**-7, -np.inf, 65504, 65504, np.inf, 2.0**31)
    ]
