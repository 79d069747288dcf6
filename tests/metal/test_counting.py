"""Operations of floats are counted where they are written, and nothing else is."""

import subprocess

import mlx.core as mx
import pytest

from tiny_llm_course.metal.arguments import Kind
from tiny_llm_course.metal.counting import text_with_counts
from tiny_llm_course.metal.headers import LANGUAGE
from tiny_llm_course.metal.signature import Assembled, Definition, assemble

# In the body: x device float*; h half; v float4; i int; u uint; b bfloat.
BEFORE = "half h = 1; float4 v = 1; int i = 1; uint u = 1; bfloat b = 1; float y;"
CASES = [
    ("y = x[0] * x[1];", "y = (metal::counted<0, 1, 0>(), x[0] * x[1]);"),
    ("y = x[0] / 2.0;", "y = (metal::counted<0, 0, 1>(), x[0] / 2.0f);"),
    (
        "y = x[0] * x[1] + 1.0;",
        "y = (metal::counted<1, 0, 0>(), "
        "(metal::counted<0, 1, 0>(), x[0] * x[1]) + 1.0f);",
    ),
    (
        "y = 1 - (x[i * 2 + 1] - 2);",
        "y = (metal::counted<1, 0, 0>(), "
        "1 - ((metal::counted<1, 0, 0>(), x[i * 2 + 1] - 2)));",
    ),
    ("y += x[0];", "(metal::counted<1, 0, 0>(), y += x[0]);"),
    ("v *= 2;", "(metal::counted<0, 4, 0>(), v *= 2);"),
    (
        "v.xy += v.zw;",
        "(metal::counted<2, 0, 0>(), "
        "v.template part<0, 1>() += v.template at<2, 3>());",
    ),
    ("h = h + h;", "h = (metal::counted<1, 0, 0>(), h + h);"),
    ("y = b * b;", "y = (metal::counted<0, 1, 0>(), b * b);"),
    ("i = i * 2 + 1;", "i = i * 2 + 1;"),
    ("u = u / 2;", "u = u / 2;"),
    ("y = x[0] > 1 ? x[0] : 1;", "y = x[0] > 1 ? x[0] : 1;"),
    ("y = -x[0];", "y = -x[0];"),
    ("y = exp(x[0]);", "y = (metal::counted<0, 0, 1>(), exp(x[0]));"),
    ("v = fma(v, v, v);", "v = (metal::counted<4, 4, 0>(), fma(v, v, v));"),
    ("y = dot(v, v);", "y = (metal::counted<3, 4, 0>(), dot(v, v));"),
    ("v = normalize(v);", "v = (metal::counted<3, 8, 1>(), normalize(v));"),
    (
        "y += length(v);",
        "(metal::counted<1, 0, 0>(), y += (metal::counted<3, 4, 1>(), length(v)));",
    ),
    ("y = max(x[0], 0.0);", "y = max(x[0], 0.0f);"),
    ("y = simd_sum(x[0]);", "y = (metal::counted<1, 0, 0>(), simd_sum(x[0]));"),
    ("constexpr float k = 2.0 * 3.0;", None),
]


def assembled(source: str, header: str = "") -> Assembled:
    definition = Definition("counted", ["x"], ["out"], f"{BEFORE}\n{source}", header)
    return assemble(definition, [Kind(mx.float32, 1, 100)], [mx.float32])


@pytest.mark.parametrize(("source", "expected"), CASES)
def test_operations_of_floats_are_counted(source: str, expected: str | None) -> None:
    lines = text_with_counts(assembled(source)).splitlines()

    body = lines.index('#line 1 "kernel.metal"')
    assert expected is None or lines[body + 2] == expected


def test_a_template_of_the_header_asks_for_its_type() -> None:
    header = "template <typename U> U f(U value) { return exp(value * 2); }"

    text = text_with_counts(assembled("y = f(x[0]);", header))

    assert "(metal::counted_as<decltype(value * 2), 0, 1, 0>(), value * 2)" in text
    assert "metal::counted_as<decltype(exp(value * 2)), 0, 0, 1>()" in text


def test_what_is_counted_compiles() -> None:
    header = "template <typename U> U twice(U value) { return value * 2 + value; }"
    source = "\n".join([*(case for case, _ in CASES), "y = twice(h) + twice(v).x;"])
    text = text_with_counts(assembled(source, header))

    done = subprocess.run(
        [
            *("g++", "-std=c++20", "-fsyntax-only", "-w", "-ffp-contract=off"),
            *(f"-I{LANGUAGE}", "-x", "c++", "-"),
        ],
        input=text,
        text=True,
        capture_output=True,
        check=False,
    )

    assert done.stderr == ""
