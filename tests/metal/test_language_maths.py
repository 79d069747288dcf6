"""Functions of floats stay within the errors that the specification allows (MSL 8.4).

The truth is numpy's in 64 bits. An error is counted in units in the last place of the
true value, as the specification's table does.
"""

import math
from collections.abc import Callable

import mlx.core as mx
import numpy as np

N = 2000
RNG = np.random.default_rng(11)
SMALL = RNG.uniform(-4, 4, N).astype(np.float32)
POSITIVE = np.exp(RNG.uniform(-20, 20, N)).astype(np.float32)
UNIT = RNG.uniform(-1, 1, N).astype(np.float32)
ANY = (RNG.uniform(-1, 1, N) * np.exp(RNG.uniform(-30, 30, N))).astype(np.float32)

# Name, inputs, the truth, and the largest error that precise functions may have.
UNARY = [
    ("acos", UNIT, np.arccos, 4),
    ("acosh", 1 + POSITIVE, np.arccosh, 4),
    ("asin", UNIT, np.arcsin, 4),
    ("asinh", ANY, np.arcsinh, 4),
    ("atan", ANY, np.arctan, 5),
    ("atanh", UNIT, np.arctanh, 5),
    ("ceil", ANY, np.ceil, 0),
    ("cos", SMALL, np.cos, 4),
    ("cosh", SMALL, np.cosh, 4),
    ("cospi", SMALL, lambda x: np.cos(np.pi * x), 4),
    ("exp", SMALL, np.exp, 4),
    ("exp2", SMALL, np.exp2, 4),
    ("exp10", SMALL, lambda x: 10.0**x, 4),
    ("fabs", ANY, np.abs, 0),
    ("floor", ANY, np.floor, 0),
    ("fract", SMALL, lambda x: x - np.floor(x), 0.5),
    ("log", POSITIVE, np.log, 4),
    ("log2", POSITIVE, np.log2, 4),
    ("log10", POSITIVE, np.log10, 4),
    ("rint", SMALL, np.rint, 0),
    ("round", SMALL, lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5), 0),
    ("rsqrt", POSITIVE, lambda x: 1 / np.sqrt(x), 2),
    ("sin", SMALL, np.sin, 4),
    ("sinh", SMALL, np.sinh, 4),
    ("sinpi", SMALL, lambda x: np.sin(np.pi * x), 4),
    ("sqrt", POSITIVE, np.sqrt, 0.5),
    ("tan", SMALL, np.tan, 6),
    ("tanh", SMALL, np.tanh, 5),
    ("tanpi", SMALL, lambda x: np.tan(np.pi * x), 6),
    ("trunc", ANY, np.trunc, 0),
    ("saturate", SMALL, lambda x: np.clip(x, 0, 1), 0),
    ("sign", SMALL, np.sign, 0),
    ("abs", ANY, np.abs, 0),
]

BINARY = [
    ("atan2", np.arctan2, 6),
    ("copysign", np.copysign, 0),
    ("fdim", lambda x, y: np.maximum(x - y, 0), 0.5),
    ("fmax", np.fmax, 0),
    ("fmin", np.fmin, 0),
    ("fmod", np.fmod, 0),
    ("max", np.fmax, 0),
    ("min", np.fmin, 0),
    ("step", lambda x, y: (y >= x).astype(np.float64), 0),
]


def errors(got: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Return how far off each result is, in units in the last place."""
    unit = np.spacing(np.abs(true).astype(np.float32)).astype(np.float64)
    return np.abs(got.astype(np.float64) - true) / unit


def test_functions_of_one_number_are_within_their_error(run_body: Callable) -> None:
    """One kernel computes all: each has an output of its own, in a row of `x`."""
    stores = [
        f"out[{row} * {N} + i] = {name}(x[{row} * {N} + i]);"
        for row, (name, *_) in enumerate(UNARY)
    ]
    inputs = np.stack([inputs for _, inputs, *_ in UNARY])

    (got,) = run_body(
        "uint i = thread_position_in_grid.x;\n" + "\n".join(stores),
        {"x": mx.array(inputs)},
        [(inputs.shape, mx.float32)],
        N,
    )

    far_off = {
        name: float(error)
        for (name, values, truth, allowed), row in zip(
            UNARY, np.array(got), strict=True
        )
        if not (error := errors(row, truth(values.astype(np.float64))).max()) <= allowed
    }
    assert far_off == {}


def test_functions_of_two_numbers_are_within_their_error(run_body: Callable) -> None:
    x, y = SMALL, SMALL[::-1].copy()
    stores = [
        f"out[{row} * {N} + i] = {name}(x[i], y[i]);"
        for row, (name, *_) in enumerate(BINARY)
    ]

    (got,) = run_body(
        "uint i = thread_position_in_grid.x;\n" + "\n".join(stores),
        {"x": mx.array(x), "y": mx.array(y)},
        [((len(BINARY), N), mx.float32)],
        N,
    )

    far_off = {
        name: float(error)
        for (name, truth, allowed), row in zip(BINARY, np.array(got), strict=True)
        if not (error := errors(row, truth(x.astype(np.float64), y)).max()) <= allowed
    }
    assert far_off == {}


def test_other_names_of_the_same_functions(run_body: Callable) -> None:
    (got,) = run_body(
        """\
float f = x[3]; float two = 2;
out[0] = metal::exp(f); out[1] = precise::exp(f); out[2] = metal::fast::exp(f);
out[3] = pow(f, 2); out[4] = powr(f, 0.5); out[5] = fma(f, two, f);
out[6] = clamp(f, 0.0, 1.0); out[7] = mix(f, two, 0.5);
out[8] = smoothstep(0.0, 6.0, f);
out[9] = max3(f, two, 7.0); out[10] = median3(f, two, 7.0);
out[11] = fmin3(f, two, 7.0);
float c; out[12] = sincos(f, c); out[13] = c;
int e; out[14] = frexp(f, e); out[15] = e; out[16] = ldexp(f, 3); out[17] = ilogb(f);
float whole; out[18] = modf(3.25, whole); out[19] = whole; out[20] = log1p(f);
out[21] = exp(half(f)); out[22] = rsqrt(bfloat(4));
out[23] = isnan(NAN) + isinf(-INFINITY);
""",
        {"x": mx.arange(100).astype(mx.float32)},
        [((24,), mx.float32)],
        1,
    )

    e3 = math.exp(3)
    expected = [
        *(
            e3,
            e3,
            e3,
            9,
            math.sqrt(3),
            9,
            1,
            2.5,
            0.5,
            7,
            3,
            2,
            math.sin(3),
            math.cos(3),
        ),
        *(0.75, 2, 24, 1, 0.25, 3, math.log(4), float(np.float16(e3)), 0.5, 2),
    ]
    assert np.abs(np.array(got) / np.array(expected) - 1).max() < 3e-7


def test_functions_of_whole_numbers(run_body: Callable) -> None:
    (got,) = run_body(
        """\
int i = int(x[7]); uint u = 0xF0F0u; int top = 2147483647; uchar c = 250;
out[0] = abs(-i); out[1] = max(i, 9); out[2] = min(i, 9); out[3] = clamp(i, 0, 5);
out[4] = popcount(u); out[5] = clz(u); out[6] = ctz(u); out[7] = int(reverse_bits(u));
out[8] = addsat(top, i); out[9] = subsat(-top, i); out[10] = int(absdiff(3u, u));
out[11] = hadd(3, 4); out[12] = rhadd(3, 4); out[13] = mulhi(top, top);
out[14] = int(rotate(u, 20u)); out[15] = int(extract_bits(u, 4u, 8u));
out[16] = extract_bits(int(u), 12u, 4u); out[17] = int(insert_bits(u, 5u, 0u, 4u));
out[18] = mad24(3, 4, 5); out[19] = madhi(top, 4, 5); out[20] = madsat(top, 2, 3);
out[21] = addsat(c, uchar(10)); out[22] = max3(1, 9, 4); out[23] = median3(1, 9, 4);
out[24] = popcount(int4(-1)).w; out[25] = int(clz(ushort(1)));
""",
        {"x": mx.arange(100).astype(mx.float32)},
        [((26,), mx.int32)],
        1,
    )

    top = 2**31 - 1
    assert got.tolist() == [
        *(7, 9, 7, 5, 8, 16, 4, 0x0F0F0000, top, -top - 1, 0xF0F0 - 3, 3, 4),
        *(2**30 - 1, 0x0F00000F, 0x0F, -1, 0xF0F5, 17, 6, top, 255, 9, 4, 32, 15),
    ]
