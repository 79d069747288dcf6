"""The function around a body is the one that MLX makes, argument by argument."""

import mlx.core as mx
import pytest

from tiny_llm_course.metal.arguments import Kind, attributes
from tiny_llm_course.metal.signature import Assembled, Definition, assemble


def head(source: str, kind: Kind, template: tuple = (), *, atomic: bool = False) -> str:
    """Return the head of a kernel with an input `x` and an output `out`."""
    definition = Definition("k", ["x"], ["out"], source, "", atomic)
    return head_of(assemble(definition, [kind], [mx.float32], template))


def head_of(assembled: Assembled) -> str:
    return assembled.metal[: assembled.metal.index("{")].strip()


MANY = Kind(mx.float32, 1, 8)


@pytest.mark.parametrize(
    ("kind", "argument"),
    [
        (Kind(mx.float32, 2, 64), "const device float* x"),
        (Kind(mx.float16, 1, 8), "const device float16_t* x"),
        (Kind(mx.bfloat16, 1, 7), "const constant bfloat16_t* x"),
        (Kind(mx.uint32, 0, 1), "const constant uint32_t& x"),
        (Kind(mx.bool_, 3, 100), "const device bool* x"),
        (Kind(mx.int8, 1, 0), "const constant int8_t* x"),
    ],
)
def test_few_elements_are_constant_and_none_of_a_dimension_is_a_reference(
    kind: Kind, argument: str
) -> None:
    expected = f"[[kernel]] void custom_kernel_k({argument}, device float* out)"

    assert head("", kind) == expected


def test_shape_strides_and_ndim_come_where_the_source_names_them() -> None:
    source = "out[0] = x_ndim * x_strides[0];"

    assert "x, const constant int64_t* x_strides, const constant int& x_ndim, " in head(
        source, MANY
    )
    assert "x_shape" not in head(source, MANY)


def test_a_number_has_no_shape() -> None:
    assert "x_shape" not in head("// x_shape", Kind(mx.float32, 0, 1))


def test_a_word_in_a_comment_counts_as_named() -> None:
    """MLX looks for the name anywhere in the text."""
    assert head("// thread_index_in_simdgroup", MANY).endswith(
        "device float* out, uint thread_index_in_simdgroup)"
    )


def test_a_template_stands_before_it() -> None:
    template = (("T", mx.bfloat16), ("N", 4), ("B", True))

    assert head("", MANY, template).startswith("template <typename T, int N, bool B>\n")


def test_atomic_outputs() -> None:
    assert "device atomic<float>* out" in head("", MANY, atomic=True)


def test_attributes_are_those_that_are_named() -> None:
    source = (
        "thread_position_in_grid threads_per_threadgroup simdgroups_per_threadgroup"
    )

    names = {name: type_ for name, type_, _ in attributes(source)}

    assert names == {
        "thread_position_in_grid": "uint3",
        "threads_per_threadgroup": "uint3",
        "simdgroups_per_threadgroup": "uint",
    }


def test_lines_of_body_and_header_are_those_of_the_files() -> None:
    definition = Definition("k", ["x"], ["out"], "a;\nb;", "c;\nd;")

    lines = assemble(definition, [MANY], [mx.float32]).text.splitlines()

    body = lines.index('#line 1 "kernel.metal"')
    header = lines.index('#line 1 "header.metal"')
    assert lines[body + 1 : body + 3] == ["a;", "b;"]
    assert lines[header + 1 : header + 3] == ["c;", "d;"]


def test_an_array_of_complex_numbers_is_refused() -> None:
    with pytest.raises(ValueError, match="real dtype"):
        head("", Kind(mx.complex64, 1, 8))
