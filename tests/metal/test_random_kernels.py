"""Random kernels whose answer is known: the right are silent, each fault is found.

A kernel is compiled once for each shape; what is random are its numbers, among them the
barrier that it goes without.
"""

import mlx.core as mx
import numpy as np
import pytest

from tiny_llm_course.metal.kernel import Result, metal_kernel

WIDTH = 256
"""Threads of a threadgroup: eight SIMD groups, and eight steps of a tree."""

STRIDES = {"halving": [128, 64, 32, 16, 8, 4, 2, 1], "doubling": 2 ** np.arange(8)}

ADDS = {
    "halving": "if (t < {0}) part[t] += part[t + {0}];",
    "doubling": "if (t % (2 * {0}) == 0) part[t] += part[t + {0}];",
}

NONE, OF_SIMDGROUP, OF_THREADGROUP = 0, 1, 2


def tree(shape: str) -> str:
    """Write a sum whose barriers are chosen when it runs, the same by all threads."""
    barrier = (
        f"if (barriers[{{}}] == {OF_SIMDGROUP})"
        " simdgroup_barrier(mem_flags::mem_threadgroup);"
        f" else if (barriers[{{}}] == {OF_THREADGROUP})"
        " threadgroup_barrier(mem_flags::mem_threadgroup);"
    )
    lines = [
        f"threadgroup float part[{WIDTH}];",
        "uint t = thread_position_in_threadgroup.x;",
        "part[t] = x[thread_position_in_grid.x];",
        barrier.format(0, 0),
    ]
    for step, stride in enumerate(STRIDES[shape]):
        lines += [ADDS[shape].format(stride), barrier.format(step + 1, step + 1)]
    lines.append("if (t == 0) out[threadgroup_position_in_grid.x] = part[0];")
    return "\n".join(lines)


def is_ordered(shape: str, barriers: list[int]) -> bool:
    """Tell whether each thread that reads a sum comes after the one that wrote it.

    What lane t adds in a step, lane t + stride has written in the step before. That may
    be of another SIMD group, and then a barrier of the SIMD group is too weak.
    """
    for stride, barrier in zip(STRIDES[shape], barriers, strict=False):
        if barrier == NONE:
            return False
        if barrier == OF_SIMDGROUP and stride > 16:
            return False
    return True  # behind the last step, a thread reads what it wrote itself


def run_tree(shape: str, barriers: list[int], x: np.ndarray, seed: int) -> Result:
    num_groups = len(x) // WIDTH
    kernel = metal_kernel(shape, ["x", "barriers"], ["out"], tree(shape))
    return kernel.run(
        inputs=[mx.array(x.astype(np.float32)), mx.array(barriers)],
        output_shapes=[(num_groups,)],
        output_dtypes=[mx.float32],
        grid=(len(x), 1, 1),
        threadgroup=(WIDTH, 1, 1),
        seeds=(seed,),
    )


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("shape", STRIDES)
def test_a_tree_has_a_race_if_a_barrier_is_missing(shape: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    barriers = [OF_THREADGROUP] * 9
    changed = int(rng.integers(9))
    barriers[changed] = int(rng.integers(3))
    x = rng.integers(-9, 9, int(rng.integers(1, 4)) * WIDTH)

    result = run_tree(shape, barriers, x, seed)

    if is_ordered(shape, barriers):
        assert result.faults == ()
        assert result.outputs is not None
        assert result.outputs[0].tolist() == x.reshape(-1, WIDTH).sum(axis=1).tolist()
    else:
        faults = result.faults
        assert {fault.kind for fault in faults} == {"race"}
        before = 3 + 2 * changed  # the line in front of the barrier
        assert {faults[0].line, faults[0].other_line} <= {before, before + 2}


THREADS = 96

INDICES = {
    "affine": ("i * p[0] + p[1]", lambda i, p: i * p[0] + p[1]),
    "wrapped": ("(i * p[0] + p[1]) % p[2]", lambda i, p: (i * p[0] + p[1]) % p[2]),
    "in rows": (
        "i / p[0] * p[2] + i % p[0]",
        lambda i, p: i // p[0] * p[2] + i % p[0],
    ),
    "reversed": ("p[2] - 1 - i / p[0]", lambda i, p: p[2] - 1 - i // p[0]),
}


def indices(shape: str, seed: int) -> tuple[str, list[int], np.ndarray]:
    """Return an index as text, its numbers, and its value for each thread."""
    text, value = INDICES[shape]
    numbers = np.random.default_rng(seed).integers([1, 0, THREADS], [9, 50, 300])
    return text, numbers.tolist(), value(np.arange(THREADS), numbers)


def run_indexed(
    source: str, numbers: list[int], size: int, num_outputs: int, seed: int
) -> Result:
    kernel = metal_kernel("indexed", ["x", "p"], ["out"], source)
    return kernel.run(
        inputs=[mx.zeros(size), mx.array(numbers)],
        output_shapes=[(num_outputs,)],
        output_dtypes=[mx.float32],
        grid=(THREADS, 1, 1),
        threadgroup=(THREADS, 1, 1),
        init_value=0,
        seeds=(seed,),
    )


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("shape", INDICES)
def test_an_array_one_too_short_is_read_outside(shape: str, seed: int) -> None:
    text, numbers, of = indices(shape, seed)
    missing = seed % 2
    size = max(int(of.max()) + 1 - missing, 1)
    source = f"int i = int(thread_position_in_grid.x);\nout[i] = x[{text}];"

    faults = run_indexed(source, numbers, size, THREADS, seed).faults

    first = faults[0] if faults else None
    if of.max() < size:
        assert faults == ()
    else:
        assert first is not None
        assert first.kind in {"out_of_bounds_read", "thread_beyond_array"}
        assert (first.line, first.target.index) == (2, int(of.max()))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("shape", INDICES)
def test_two_threads_that_write_one_element_race(shape: str, seed: int) -> None:
    text, numbers, of = indices(shape, seed)
    source = f"int i = int(thread_position_in_grid.x);\nout[{text}] = x[0] + i;"

    faults = run_indexed(source, numbers, 1, int(of.max()) + 1, seed).faults

    are_different = len(np.unique(of)) == THREADS
    assert {fault.kind for fault in faults} == (set() if are_different else {"race"})
