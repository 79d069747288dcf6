"""What is rewritten for the C++ compiler; nothing else is, and no line moves."""

import pytest

from tiny_llm_course.metal.rewriting import members_like_swizzles, to_check, to_cpp
from tiny_llm_course.metal.shared_variables import shared_variables

LITERALS = [
    ("1.0", "1.0f"),
    (".5", ".5f"),
    ("2.", "2.f"),
    ("1e-6", "1e-6f"),
    ("1.5e+3", "1.5e+3f"),
    ("1.0f", "1.0f"),
    ("1.0F", "1.0F"),
    ("0.5h", "half(0.5f)"),
    ("1bf", "1bf"),
    ("1.0bf", "bfloat(1.0f)"),
    ("10", "10"),
    ("0x1e5", "0x1e5"),
    ("0x1p-3f", "0x1p-3f"),
    ("0x1.8p3", "0x1.8p3f"),
    ("7u", "7u"),
    ("x[1].y", "x[1].y"),
    ("'.5'", "'.5'"),
    ("// 1.0", "// 1.0"),
    ("/* 1.0\n */ 2.0", "/* 1.0\n */ 2.0f"),
    ('"1.0"', '"1.0"'),
    ("#define HALF 0.5", "#define HALF 0.5f"),
]


@pytest.mark.parametrize(("source", "expected"), LITERALS)
def test_literals_with_a_point_are_floats(source: str, expected: str) -> None:
    assert to_cpp(source) == expected


SWIZZLES = [
    ("v.xy", "v.template at<0, 1>()"),
    ("p->zw", "p->template at<2, 3>()"),
    ("v.bgra", "v.template at<2, 1, 0, 3>()"),
    ("v.xy = w;", "v.template part<0, 1>() = w;"),
    ("v.xy == w", "v.template at<0, 1>() == w"),
    ("v.yz += 1", "v.template part<1, 2>() += 1"),
    ("v.x = 1", "v.x = 1"),
    ("v.xyzwx", "v.xyzwx"),
    ("v.xg", "v.xg"),
    ("xy + yx", "xy + yx"),
]


@pytest.mark.parametrize(("source", "expected"), SWIZZLES)
def test_swizzles_are_asked_for_by_number(source: str, expected: str) -> None:
    assert to_cpp(f"{source};") == f"{expected};"


def test_a_member_of_a_structure_is_no_swizzle() -> None:
    source = "struct P { float2 xy; struct { int rg; } in; }; P p; p.xy = v.zw;"

    assert members_like_swizzles(source) == {"xy", "rg"}
    assert "p.xy = v.template at" in to_cpp(
        source, members=members_like_swizzles(source)
    )


SHARED = [
    ("threadgroup float a[256];", [("a", "float[256]")]),
    ("threadgroup T a;", [("a", "T")]),
    (
        "threadgroup float a[N][M + 1], b[2];",
        [("a", "float[ N ][ M +1]"), ("b", "float[2]")],
    ),
    ("threadgroup vec<float, 4> a[8];", [("a", "vec<float, 4>[8]")]),
    ("threadgroup atomic_int count;", [("count", "atomic_int")]),
    ("{ threadgroup float a[2]; }", [("a", "float[2]")]),
    ("threadgroup float* p = a + 4;", []),
    ("threadgroup float& first = a[0];", []),
    ("float f(threadgroup float* p);", []),
    ("const threadgroup float* p = a;", []),
    ("p = (threadgroup float*)q;", []),
]


@pytest.mark.parametrize(("source", "expected"), SHARED)
def test_threadgroup_variables_are_found(
    source: str, expected: list[tuple[str, str]]
) -> None:
    found = [each for group in shared_variables(source) for each in group]

    assert [(each.name, each.type) for each in found] == expected


@pytest.mark.parametrize("rest", ["= 0;", "[2] = {1, 2};", "{};", "[2]{};"])
def test_a_value_is_noticed(rest: str) -> None:
    ((variable,),) = shared_variables(f"threadgroup float a{rest}")

    assert variable.has_value


def test_threadgroup_variables_are_counted() -> None:
    source = "threadgroup float a[2], b;\nthreadgroup int c;"

    rewritten = to_cpp(source, first_variable=3)

    assert rewritten.splitlines() == [
        'auto& a = simulator::shared<float[2]>(3, "a"); '
        'auto& b = simulator::shared<float>(4, "b");',
        'auto& c = simulator::shared<int>(5, "c");',
    ]


def test_no_line_moves() -> None:
    source = "threadgroup float a[2],\n  b[4];\n#include <metal_stdlib>\nint c;"

    assert to_cpp(source).splitlines()[3] == "int c;"
    assert to_check(source).splitlines()[3] == "int c;"


def test_only_the_body_leaves_the_kernel() -> None:
    source = "if (i >= n) return;"

    assert to_cpp(source) == source
    assert to_cpp(source, is_body=True) == "if (i >= n) return simulator::leave();"


def test_clang_is_given_what_it_understands() -> None:
    source = "threadgroup float a[2]; v = vec<float, 2>(1.0, 2); vec<T, 4> w;"

    assert to_check(source) == (
        "static threadgroup float a[2]; v = make_vec<float, 2>(1.0f, 2); vec<T, 4> w;"
    )
