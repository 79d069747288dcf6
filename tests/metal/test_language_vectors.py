"""Vectors: how they are put together, taken apart, compared and laid out."""

from collections.abc import Callable

import mlx.core as mx
import pytest

CASES = {
    "constructors": (
        "float4 a = float4(x[1], x[2], x[3], x[4]), b = float4(a.xy, a.z, 9), c = 5;\n"
        "float4 d = {1, 2, 3, 4}; float4 e(a.zw, a.xy);"
        "float4 f = float4(float3(7), 8);",
        "a b c d e f",
        [1, 2, 3, 4, 1, 2, 3, 9, 5, 5, 5, 5, 1, 2, 3, 4, 3, 4, 1, 2, 7, 7, 7, 8],
    ),
    "a swizzle that is read": (
        "float4 a = float4(1, 2, 3, 4);"
        "float4 b = a.wzyx, c = a.xxyy, d = float4(a.bgr, 0);"
        "float4 e = float4(a.zw * 2, a.xy.yx);",
        "b c d e",
        [4, 3, 2, 1, 1, 1, 2, 2, 3, 2, 1, 0, 6, 8, 2, 1],
    ),
    "a swizzle that is written": (
        "float4 a = float4(1, 2, 3, 4), b = a, c = a, d = a; a.yx = float2(8, 9);"
        "b.zw += 10; c.xyz = c.yzx; d.xw = 0; d.y = 7; d[2] *= 5;",
        "a b c d",
        [9, 8, 3, 4, 1, 2, 13, 14, 2, 3, 1, 4, 0, 7, 15, 0],
    ),
    "arithmetic with a scalar": (
        "float4 a = float4(1, 2, 3, 4);"
        "float4 b = 2 * a, c = a - 1.0, d = 12 / a, e = -a;"
        "e += 1; e *= a; int4 i = int4(a) % 3; float4 f = float4(i);",
        "b c d e f",
        [2, 4, 6, 8, 0, 1, 2, 3, 12, 6, 4, 3, 0, -2, -6, -12, 1, 2, 0, 1],
    ),
    "comparisons and choices": (
        "float4 a = float4(1, 2, 3, 4), b = 2.5; bool4 less = a < b;"
        "float4 c = select(a, b, less), d = float4(less), e = float4(!less && a != 4);"
        "float4 f = float4(any(less), all(less), any(a > 4), all(a > 0));",
        "c d e f",
        [2.5, 2.5, 3, 4, 1, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1],
    ),
    "bits of whole numbers": (
        "uint4 a = uint4(0xF0, 0x0F, 0xFF, 0);"
        "uchar4 c = as_type<uchar4>(0x04030201u);"
        "float4 b = float4(a >> 4), d = float4(a & 0x3Cu), e = float4(c);"
        "ushort4 s = ushort4(a) << 8; float4 f = float4(s);",
        "b d e f",
        [15, 0, 15, 0, 48, 12, 60, 0, 1, 2, 3, 4, 61440, 3840, 65280, 0],
    ),
    "vectors in memory": (
        "float4 a = ((const device float4*)x)[1];"
        "float4 b = *(const device float4*)(x + 8);"
        "threadgroup float4 t[2]; t[1] = a; t[1].yz = b.xy; float4 c = t[1];"
        "packed_float3 p = packed_float3(1, 2, 3); p.y += 5;"
        "float4 d = float4(float3(p), 0);",
        "a b c d",
        [4, 5, 6, 7, 8, 9, 10, 11, 4, 8, 9, 7, 1, 7, 3, 0],
    ),
    "geometry": (
        "float3 a = float3(1, 2, 2), b = float3(0, 3, 4);"
        "float4 c = float4(dot(a, b), length(a), distance(a, a + b), 0);"
        "c.w = length_squared(b);"
        "float4 d = float4(cross(a, b), 0), e = float4(normalize(b) * 5, 0);"
        "float4 f = float4(reflect(a, float3(1, 0, 0)), 0);",
        "c d e f",
        [14, 3, 5, 25, 2, -4, 3, 0, 0, 3, 4, 0, -1, 2, 2, 0],
    ),
    "names in a structure that look like swizzles": (
        "struct Pair { float xy; float2 rg; }; Pair p; p.xy = 3; p.rg = float2(4, 5);"
        "float4 a = float4(p.xy, p.rg.x, p.rg.y, 6); float4 b = a.zwzw;",
        "a b",
        [3, 4, 5, 6, 5, 6, 5, 6],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_vectors(run_body: Callable, name: str) -> None:
    source, shown, expected = CASES[name]
    stores = [
        f"out[{4 * place + lane}] = {vector}[{lane}];"
        for place, vector in enumerate(shown.split())
        for lane in range(4)
    ]

    (got,) = run_body(
        "\n".join([source, *stores]),
        {"x": mx.arange(100).astype(mx.float32)},
        [((len(expected),), mx.float32)],
        threads=1,
    )

    assert got.tolist() == expected
