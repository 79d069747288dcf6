# ruff: noqa: E501 - what is replaced stands in one line
"""Day G1 as a first user writes it: SiLU times up, and a row summed in three ways."""

from pathlib import Path

import mlx.core as mx
import pytest

from tiny_llm_course.grading.judgement.closeness import Truth, is_close
from tiny_llm_course.grading.judgement.inputs import each_dtype, normal
from tiny_llm_course.metal.kernel import Result, metal_kernel
from tiny_llm_course.oracle.exact import as_numpy, exact
from tiny_llm_course.oracle.fused import swiglu

SEEDS = (0, 1, 2)
THREADS = 64
ROW_SUMS = ("one_thread", "tree", "simd")


def source_of(name: str) -> str:
    path = Path(__file__).with_name("kernels") / f"{name}.metal"
    return path.read_text(encoding="utf-8")


def changed(source: str, old: str, new: str) -> str:
    """Put a mistake into a kernel, at the one place where `old` stands."""
    assert source.count(old) == 1
    return source.replace(old, new)


def assert_names(result: Result, kind: str, *parts: str) -> None:
    """The first fault is of this kind, and its lines contain these parts."""
    assert result.faults, "no fault was found"
    fault = result.faults[0]
    assert fault.kind == kind, fault.sentence
    for side, part in zip((fault.here, fault.there), parts, strict=False):
        assert side is not None
        assert part in side.text, fault.sentence


def run_silu(
    source: str,
    gate: mx.array,
    up: mx.array,
    *,
    grid: int,
    threads: int = THREADS,
) -> Result:
    kernel = metal_kernel("silu_times_up", ["gate", "up", "size"], ["out"], source)
    return kernel.run(
        inputs=[gate, up, gate.size],
        output_shapes=[gate.shape],
        output_dtypes=[gate.dtype],
        grid=(grid, 1, 1),
        threadgroup=(threads, 1, 1),
        template=[("T", gate.dtype)],
        seeds=SEEDS,
    )


def run_sum(
    which: str,
    source: str,
    x: mx.array,
    threads: int = THREADS,
    *,
    counts_costs: bool = False,
) -> Result:
    kernel = metal_kernel(f"row_sum_{which}", ["x"], ["out"], source)
    rows = len(x)
    return kernel.run(
        inputs=[x],
        output_shapes=[(rows,)],
        output_dtypes=[mx.float32],
        grid=(rows + 5 if which == "one_thread" else rows * threads, 1, 1),
        threadgroup=(threads, 1, 1),
        template=[("T", x.dtype), ("THREADS", threads)],
        seeds=SEEDS,
        counts_costs=counts_costs,
    )


def sums(x: mx.array) -> Truth:
    """The error scale is the sum of the absolute values: the terms may cancel."""
    inputs = exact(x)
    return Truth(as_numpy(inputs.sum(-1)), as_numpy(inputs.abs().sum(-1)))


@each_dtype
@pytest.mark.parametrize("shape", [(9,), (2, 128), (3, 5, 67)], ids=str)
@pytest.mark.parametrize("name", ["silu_times_up", "silu_times_up_vectors"])
def test_silu_times_up(name: str, shape: tuple[int, ...], dtype: mx.Dtype) -> None:
    """Sizes with a tail, a whole number of threadgroups, and a single element."""
    gate = normal(*shape, dtype=dtype, scale=4.0, name="gate")
    up = normal(*shape, dtype=dtype, name="up")
    each = 4 if name.endswith("vectors") else 1
    needed = -(-gate.size // each)
    grid = -(-needed // THREADS) * THREADS

    result = run_silu(source_of(name), gate, up, grid=grid)

    assert result.faults == ()
    assert is_close(result.outputs[0], swiglu(gate, up))


def test_vectors_want_eight_elements() -> None:
    """MLX puts smaller inputs into constant memory: a cast to `device` is no Metal."""
    x = normal(7)

    result = run_silu(source_of("silu_times_up_vectors"), x, x, grid=2)

    assert_names(result, "language", "const device vec<T, 4>*")


def test_silu_of_very_negative_gates_is_zero() -> None:
    """The exponential overflows, and what is divided by infinity is 0."""
    gate, up = mx.array([-1e4, -200.0, 200.0]), mx.array([3.0, 2.0, 1.0])

    result = run_silu(source_of("silu_times_up"), gate, up, grid=3)

    assert result.outputs[0].tolist() == [0.0, 0.0, 200.0]


@each_dtype
@pytest.mark.parametrize("shape", [(1, 1), (3, 31), (2, 300)], ids=str)
@pytest.mark.parametrize("which", ROW_SUMS)
def test_a_row_is_summed(which: str, shape: tuple[int, ...], dtype: mx.Dtype) -> None:
    """Rows shorter than a threadgroup, as long, and longer with a tail."""
    x = normal(*shape, dtype=dtype, name="row")

    result = run_sum(which, source_of(f"row_sum_{which}"), x)

    assert result.faults == ()
    assert is_close(result.outputs[0], sums(x))


@pytest.mark.parametrize("threads", [1, 20, 32, 48, 1024])
def test_simd_sums_take_any_number_of_threads(threads: int) -> None:
    """A SIMD group may be a part, and a threadgroup may have 32 of them."""
    x = normal(2, 100, name="row")

    result = run_sum("simd", source_of("row_sum_simd"), x, threads)

    assert result.faults == ()
    assert is_close(result.outputs[0], sums(x))


def test_a_threadgroup_reads_whole_lines() -> None:
    """One thread for each row touches a line of memory for each float."""
    x = normal(64, 256, name="row")
    costs = {
        which: run_sum(which, source_of(f"row_sum_{which}"), x, counts_costs=True).costs
        for which in ROW_SUMS
    }

    assert costs["one_thread"].coalesced < 0.1
    assert costs["tree"].coalesced == costs["simd"].coalesced == 1.0
    assert costs["one_thread"].barriers == 0
    assert costs["tree"].barriers == 7 * costs["simd"].barriers


@pytest.mark.parametrize(
    ("old", "new", "kind", "part"),
    [
        ("if (i >= uint(size)) return;", "", "thread_beyond_array", "float g ="),
        ("i >= uint(size)", "i > uint(size)", "thread_beyond_array", "float g ="),
        ("out[i] = T", "out[i / 2] = T", "race", "out[i / 2]"),
        (
            "thread_position_in_grid.x",
            "thread_position_in_threadgroup.x",
            "race",
            "out[",
        ),
    ],
)
def test_mistakes_in_silu(old: str, new: str, kind: str, part: str) -> None:
    source = changed(source_of("silu_times_up"), old, new)
    gate, up = normal(100, name="gate"), normal(100, name="up")

    result = run_silu(source, gate, up, grid=128)

    assert_names(result, kind, part)


@pytest.mark.parametrize(
    ("old", "new", "kind", "part"),
    [
        ("first + 4 <= uint(size)", "first < uint(size)", "out_of_bounds_read", "g ="),
        ("} else {", "}\n{", "race", "(out + first)"),
        ("4 * thread_pos", "3 * thread_pos", "misaligned", "g ="),
        ("i < uint(size)", "i <= uint(size)", "out_of_bounds_read", "g ="),
    ],
)
def test_mistakes_in_silu_with_vectors(
    old: str, new: str, kind: str, part: str
) -> None:
    source = changed(source_of("silu_times_up_vectors"), old, new)
    gate, up = normal(102, name="gate"), normal(102, name="up")

    result = run_silu(source, gate, up, grid=26)

    assert_names(result, kind, part)


FIRST_BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);  // All have"
ROUND_BARRIER = "    threadgroup_barrier(mem_flags::mem_threadgroup);  // This"
FIRST_GROUP = "if (simdgroup_index_in_threadgroup == 0) {"
HAS_SLOT = "lane < simdgroups_per_threadgroup ? part[lane] : 0.0f"


@pytest.mark.parametrize(
    ("which", "old", "new", "kind", "part"),
    [
        ("one_thread", "return;", ";", "out_of_bounds_read", "sum +="),
        ("one_thread", "i < columns", "i <= columns", "out_of_bounds_read", "sum +="),
        ("one_thread", "float sum = 0.0f", "float sum", "uninitialised_read", "sum"),
        ("tree", FIRST_BARRIER, "//", "race", "part["),
        ("tree", ROUND_BARRIER, "//", "race", "part["),
        ("tree", "if (t < width)", "if (t <= width)", "out_of_bounds_read", "part[t]"),
        ("tree", "t < width) part[t] +=", "t < width) {part[t] +=", "divergent_barrier",
         "threadgroup_barrier"),
        ("tree", "if (t == 0) out", "out", "race", "out[row]"),
        ("simd", "threadgroup_barrier(mem_flags::mem_threadgroup)", "", "race", "part["),
        ("simd", "mem_threadgroup)", "mem_device)", "race", "part["),
        ("simd", HAS_SLOT, "part[lane]", "uninitialised_read", "part[lane]"),
        ("simd", FIRST_GROUP, "if (lane < simdgroups_per_threadgroup) {",
         "divergent_simd", "simd_sum"),
        ("simd", "part[32]", "part[1]", "out_of_bounds_write", "part["),
    ],
)  # fmt: skip
def test_mistakes_in_sums(which: str, old: str, new: str, kind: str, part: str) -> None:
    source = changed(source_of(f"row_sum_{which}"), old, new)
    if kind == "divergent_barrier":
        source = changed(source, "This round's are there.\n", "\n}\n")
    x = normal(3, 100, name="row")

    result = run_sum(which, source, x)

    assert_names(result, kind, part)
