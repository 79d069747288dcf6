"""What is not Metal is refused: named by kind, with its line and a sentence.

Most of it would compile as C++, run, and be wrong on a GPU or not compile there.
"""

import mlx.core as mx
import pytest

from tiny_llm_course.catalogue import sentences
from tiny_llm_course.language import ENGLISH, folder_of
from tiny_llm_course.metal.arguments import Kind
from tiny_llm_course.metal.dialect import check
from tiny_llm_course.metal.refusals import Refusal
from tiny_llm_course.metal.signature import Definition, assemble


def refusals(
    source: str, header: str = "", dtype: mx.Dtype = mx.float32
) -> list[Refusal]:
    """Check a body with an input `x` of many elements and an output `out`."""
    definition = Definition("checked", ["x", "few"], ["out"], source, header)
    kinds = [Kind(dtype, 1, 100), Kind(mx.float32, 1, 4)]
    template = [("T", dtype), ("N", 4)]
    return check(assemble(definition, kinds, [dtype], template))


IN_THE_BODY = [
    ("double", "double y = 1.0;"),
    ("double", "long double y = 1.0;"),
    ("double", "out[0] = 1.0L;"),
    ("double", "out[0] = double(x[0]);"),
    ("long_long", "long long y = 1;"),
    ("static", "static int count = 0; count++;"),
    ("static", "static threadgroup float part[32]; part[0] = 1;"),
    ("goto", "again: goto again;"),
    ("allocation", "thread float* p = new float[4]; out[0] = p[0];"),
    ("allocation", "thread float* p = nullptr; delete p;"),
    ("exception", "try { out[0] = 1; } catch (...) { }"),
    ("exception", "throw 1;"),
    ("virtual", "struct S { virtual float f() { return 1; } }; S s; out[0] = s.f();"),
    ("assembly", 'asm("nop");'),
    ("assembly", '__asm__ volatile("nop");'),
    ("type_identification", "out[0] = typeid(x[0]).hash_code();"),
    ("storage", "register int i = 0; out[i] = 1;"),
    ("storage", "thread_local int i = 0; out[i] = 1;"),
    ("own_word", "const uint half = 4; out[half] = 1;"),
    ("own_word", "uint thread; thread = 1; out[thread] = 1;"),
    ("own_word", "float device[4]; out[0] = device[0];"),
    ("own_word", "for (uint kernel = 0; kernel < 4; ++kernel) out[kernel] = 1;"),
    ("std", "out[0] = std::max(x[0], x[1]);"),
    ("std", "std::array<float, 4> a;"),
    ("include", "#include <cmath>\nout[0] = 1;"),
    ("include", '#include "mine.h"\nout[0] = 1;'),
    ("lambda", "auto twice = [](float y) { return 2 * y; }; out[0] = twice(x[0]);"),
    ("function_pointer", "float (*f)(float) = exp; out[0] = f(x[0]);"),
    ("variable_array", "uint n = thread_position_in_grid.x; float a[n]; a[0] = 1;"),
    ("pointer", "float y = 1; float* p = &y; out[0] = *p;"),
    ("pointer", "float y = 1; float& z = y; out[0] = z;"),
    ("pointer", "float y[2] = {1, 2}; out[0] = *(float*)y;"),
    ("space", "threadgroup float t[4]; threadgroup float* p = out; p[0] = t[0];"),
    ("space", "device float* p = (device float*)few; p[0] = 1;"),
    ("space", "auto p = (threadgroup float*)out; p[0] = 1;"),
    ("space", "auto p = reinterpret_cast<threadgroup float4*>(out); p[0] = 1;"),
    ("space", "threadgroup float t[64]; simdgroup_float8x8 m(0); device float* p = t;"),
    ("space", "float y = 1; device float* p = &y; p[0] = 1;"),
    ("const", "x[0] = 1;"),
    ("const", "few[0] += 1;"),
    ("const", "const float y = 1; y = 2;"),
    ("const", "x_shape[0] = 1;"),
    ("threadgroup_value", "threadgroup float total = 0; out[0] = total;"),
    ("threadgroup_value", "threadgroup float t[2] = {1, 2}; out[0] = t[0];"),
    ("threadgroup_value", "threadgroup float t[2]{}; out[0] = t[0];"),
    ("unknown", "out[0] = expf(x[0]);"),
    ("unknown", "out[0] = sqrtf(x[0]);"),
    ("unknown", "out[0] = fmaxf(x[0], 0.0);"),
    ("unknown", "out[0] = metal::expf(x[0]);"),
    ("unknown", 'printf("%f", x[0]);'),
    ("unknown", "out[0] = __builtin_sqrtf(x[0]);"),
    ("unknown", "out[0] = __shfl_down_sync(~0u, x[0], 1);"),
    ("unknown", "__syncthreads();"),
    ("unknown", "out[0] = __sync_fetch_and_add((thread int*)0, 1);"),
    ("unknown", "__shared__ float t[32];"),
    ("unknown", "out[threadIdx.x] = 1;"),
    ("unknown", "out[0] = x[thread_position_in_gird.x];"),
    ("unknown", "vector<float, 4> v;"),
    ("unknown", "string s;"),
    ("unknown", "atomicAdd(&out[0], 1.0f);"),
    ("unknown", "out[0] = rand();"),
    ("unknown", "memcpy(out, x, 4);"),
    ("unknown", "out[0] = M_PI;"),
    ("ambiguous", "out[0] = max(x[0], 0);"),
    ("ambiguous", "int i = 1; out[0] = min(i, 3u);"),
    ("vector", "float4 v = float4(x[0], x[1]); out[0] = v.x;"),
    ("vector", "float2 v = float2(float4(1)); out[0] = v.x;"),
    ("arguments", "atomic_fetch_add_explicit(&out[0], 1.0f, memory_order_relaxed);"),
    ("arguments", "simdgroup_load(1.0f, x, 8);"),
    ("arguments", "out[0] = simd_sum(out);"),
    ("compiler", "out[0] = x[0]"),
    ("compiler", "int i = out;"),
    ("compiler", "float4 v = 1; out[0] = v.xyq;"),
    ("compiler", "simdgroup_matrix<float, 4, 4> m(0);"),
]


@pytest.mark.parametrize(("kind", "source"), IN_THE_BODY)
def test_what_is_not_metal_is_refused_with_its_line(kind: str, source: str) -> None:
    wrong_line = source.count("\n", 0, max(source.rfind("\n"), 0)) + 3

    found = refusals(f"uint lane = thread_index_in_simdgroup;\n\n{source}\n")

    assert [(each.kind, each.line) for each in found[:1]] == [(kind, wrong_line)]
    assert found[0].sentence


IN_THE_HEADER = [
    ("recursion", "int f(int n) {\n  return n < 2 ? 1 : n * f(n - 1);\n}", 2),
    (
        "recursion",
        "int g(int n);\nint f(int n) { return g(n); }\nint g(int n) { return f(n); }",
        2,
    ),
    (
        "recursion",
        "template <typename U> U f(U n) {\n  return n < 2 ? n : f(n - 1);\n}",
        2,
    ),
    (
        "recursion",
        "#define CALLED(end) pow##end\nint power(int n) { return CALLED(er)(n - 1); }",
        2,
    ),
    ("pointer", "\nfloat first(const float* p) { return p[0]; }", 2),
    ("pointer", "void twice(float& y) { y *= 2; }", 1),
    ("pointer", "float sum(float values[4]) { return values[0]; }", 1),
    ("pointer", "struct S {\n  float* p;\n};", 2),
    (
        "pointer",
        "device float* same(device float* p) { return p; }\nfloat* other();",
        2,
    ),
    ("threadgroup_place", "threadgroup float part[32];", 1),
    (
        "threadgroup_place",
        "float f() {\n  threadgroup float part[32];\n  return 1; }",
        2,
    ),
    ("static", "int f() {\n  static int n = 0;\n  return n; }", 2),
    ("program_scope", "float scale = 2.0;", 1),
    ("program_scope", "\nconstexpr int WIDTH = 4;", 2),
    ("program_scope", "namespace ours {\nconst int width = 4;\n}", 2),
    ("program_scope", "struct S {\n  static constexpr int n = 4;\n};", 2),
    ("lambda", "float f() { auto g = [](float y) { return y; }; return g(1); }", 1),
    ("function_pointer", "float f(float (*g)(float)) { return g(1); }", 1),
    ("include", "#include <vector>", 1),
    ("double", "\nconstant double pi = 3.14;", 2),
    ("space", "device float* f(threadgroup float* p) {\n  return p;\n}", 2),
    ("const", "constant float table[2] = {1, 2};\nvoid f() { table[0] = 3; }", 2),
    ("unknown", "#define SAFE(y) expf(y)\nfloat f(float y) { return SAFE(y); }", 2),
]


@pytest.mark.parametrize(("kind", "header", "line"), IN_THE_HEADER)
def test_the_header_is_checked_as_well(kind: str, header: str, line: int) -> None:
    found = refusals("out[0] = 1;", header)

    first = [(each.kind, each.file, each.line) for each in found[:1]]
    assert first == [(kind, "header.metal", line)]


def test_a_float_becomes_no_bfloat_by_itself() -> None:
    """In MSL a bfloat converts to a float, and nothing converts to a bfloat."""
    found = refusals("float y = x[0];\nout[0] = y;\nout[1] = T(y);", dtype=mx.bfloat16)

    assert [(each.kind, each.line) for each in found] == [("bfloat", 2)]


def test_a_brace_that_is_missing_is_noticed_at_the_end() -> None:
    found = refusals("if (x[0] > 0) {\n  out[0] = 1;\nout[1] = 2;")

    assert [(each.kind, each.line) for each in found] == [("compiler", 3)]


def test_signs_beyond_ascii_do_not_confuse_the_places() -> None:
    """Places are counted in bytes. A comment may hold characters of several."""
    found = refusals("// café\nthread float y = 1; thread float* p = &y; *p = 2;")

    assert found == []


def test_functions_of_one_name_may_call_each_other() -> None:
    header = """
inline float f(float x, float y) { return x + y; }
inline float f(float x) { return f(x, x); }
template <int N> struct Sum {
  static float of(const device float* x) { return x[N - 1] + Sum<N - 1>::of(x); }
};
template <> struct Sum<0> {
  static float of(const device float*) { return 0; }
};
"""

    assert refusals("out[0] = f(x[0]) + Sum<4>::of(x);", header) == []


def test_a_half_becomes_a_bfloat_when_asked_to() -> None:
    assert refusals("half h = half(x[0]); out[0] = float(bfloat(h));") == []


def test_each_line_is_named_once() -> None:
    found = refusals("out[0] = expf(x[0]) + sqrtf(double(x[0]));\nout[1] = powf(1, 2);")

    assert [each.line for each in found] == [1, 2]


def test_a_pointer_of_the_wrong_memory_in_a_call_is_named_so() -> None:
    header = "float first(const device float* p) { return p[0]; }"

    found = refusals("threadgroup float t[4];\nout[0] = first(t);", header)

    assert [(each.kind, each.line) for each in found] == [("space", 2)]


def test_every_kind_has_a_sentence_and_a_test() -> None:
    entries = sentences(folder_of(ENGLISH) / "metal_language.toml")["refused"]

    tested = {kind for kind, *_ in [*IN_THE_BODY, *IN_THE_HEADER]} | {"bfloat"}

    assert tested == set(entries)
