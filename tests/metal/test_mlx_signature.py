"""The head of a kernel is, word by word, the one that MLX writes on this machine.

MLX writes the text of a kernel when it is called, and prints it if asked to. Without a
GPU of Apple's it refuses the call, except where a function is exported: there it traces
the call, and writes the text, on every machine.

One text of MLX's 0.32 is not compared, since it is no Metal: with two outputs or more,
a shape, strides or a number of dimensions, and no position of a thread, a brace stands
between the outputs.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import mlx.core as mx
import pytest

from tiny_llm_course.grading.engine.plugin import METAL_KERNEL
from tiny_llm_course.metal.arguments import Kind, attributes
from tiny_llm_course.metal.signature import Definition, Template, assemble

Written = Callable[..., str]

DTYPES = [
    *(mx.bool_, mx.uint8, mx.uint16, mx.uint32, mx.uint64),
    *(mx.int8, mx.int16, mx.int32, mx.int64, mx.float16, mx.float32, mx.bfloat16),
]
TEMPLATE = [("T", mx.bfloat16), ("N", -3), ("B", True), ("C", False), ("U", mx.float16)]

# A source that names all positions: what is no attribute to us is none in it.
ALL = " ".join(
    [
        *("dispatch_quadgroups_per_threadgroup", "dispatch_simdgroups_per_threadgroup"),
        *("dispatch_threads_per_threadgroup", "grid_origin", "grid_size"),
        *("quadgroup_index_in_threadgroup", "quadgroups_per_threadgroup"),
        *("simdgroup_index_in_threadgroup", "simdgroups_per_threadgroup"),
        *("thread_execution_width", "thread_index_in_quadgroup"),
        *("thread_index_in_simdgroup", "thread_index_in_threadgroup"),
        *("thread_position_in_grid", "thread_position_in_threadgroup"),
        *("threadgroup_position_in_grid", "threadgroups_per_grid", "threads_per_grid"),
        *("threads_per_simdgroup", "threads_per_threadgroup"),
        # None of MLX's, though Metal has them.
        *("simdgroup_size", "threads_per_quadgroup", "grid_extent"),
    ]
)


@pytest.fixture
def by_mlx(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Written:
    """Let MLX write a kernel of two outputs, up to its body."""

    def write(source: str, arrays: dict[str, mx.array], template: Template) -> str:
        kernel = METAL_KERNEL("k", list(arrays), ["y", "z"], source)

        def called(*given: mx.array) -> Sequence[mx.array]:
            return kernel(
                inputs=list(given),
                template=list(template),
                grid=(32, 1, 1),
                threadgroup=(32, 1, 1),
                output_shapes=[(4,), (4,)],
                output_dtypes=[mx.float16, mx.float32],
                stream=mx.gpu,
                verbose=True,
            )

        mx.export_function(str(tmp_path / "kernel.mlxfn"), called, *arrays.values())
        text = capfd.readouterr().out.split("```\n")[1]
        return plain(text[: text.index(f"{{\n{source}")])

    return write


def by_us(source: str, arrays: dict[str, mx.array], template: Template) -> str:
    kinds = [Kind(one.dtype, one.ndim, one.size) for one in arrays.values()]
    definition = Definition("k", list(arrays), ["y", "z"], source)
    text = assemble(definition, kinds, [mx.float16, mx.float32], template).metal
    return plain(text[: text.index(f"{{\n{source}")])


def plain(text: str) -> str:
    """Leave out what decides nothing: the kernel's name, numbers of buffers, spaces."""
    text = re.sub(r"custom_kernel_\w+", "k", text)
    text = re.sub(r" \[\[buffer\(\d+\)\]\]", "", text)
    text = re.sub(r"(\w+) \[\[\1\]\]", r"\1", text)  # an attribute has its own name
    return re.sub(r"\s+", " ", text).replace("( ", "(").strip()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_inputs_of_each_dtype(by_mlx: Written, dtype: mx.Dtype) -> None:
    """One number, seven and eight of them, none, and several dimensions."""
    arrays = {
        "a": mx.zeros((), dtype),
        "b": mx.zeros((7,), dtype),
        "c": mx.zeros((8,), dtype),
        "d": mx.zeros((0,), dtype),
        "e": mx.zeros((2, 3, 4), dtype),
    }
    source = "thread_position_in_grid"

    assert by_us(source, arrays, ()) == by_mlx(source, arrays, ())


def test_what_is_asked_about_arrays(by_mlx: Written) -> None:
    """Each of three words, of arrays whose names are in each other's."""
    arrays = {"x": mx.zeros((9,)), "max": mx.zeros(()), "w": mx.zeros((2, 2))}
    words = ["max_shape w_strides // x_ndim", "w_shape w_ndim x_strides", "max_ndim"]

    for word in words:
        source = f"{word} thread_position_in_grid"
        assert by_us(source, arrays, ()) == by_mlx(source, arrays, ())


def test_template(by_mlx: Written) -> None:
    source, arrays = "thread_position_in_grid", {"x": mx.zeros((9,))}

    assert by_us(source, arrays, TEMPLATE) == by_mlx(source, arrays, TEMPLATE)


def test_all_that_is_asked_of_a_thread(by_mlx: Written) -> None:
    arrays = {"x": mx.zeros((9,))}

    assert by_us(ALL, arrays, ()) == by_mlx(ALL, arrays, ())
    assert len(attributes(ALL)) == 20
