# ruff: noqa: RUF059 - what is replaced stands in one line
"""Day G5 as its first user writes it: flash attention."""

from pathlib import Path

import mlx.core as mx
import pytest

from tiny_llm_course.grading.judgement.closeness import Truth, is_close
from tiny_llm_course.grading.judgement.inputs import each_dtype, normal
from tiny_llm_course.metal.kernel import Result, metal_kernel
from tiny_llm_course.oracle.attention import attention, causal_mask

SEEDS = (0, 1)
GROUPS = 4
ONE_TOKEN, PROMPT = "attention_one_token", "attention_prompt"
Arrays = tuple[mx.array, mx.array, mx.array]


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


def run_attention(name: str, source: str, arrays: Arrays) -> Result:
    q, k, _ = arrays
    batch, heads, length, width = q.shape
    threads = 32 * GROUPS
    tiles = 1 if name == ONE_TOKEN else -(-length // 16)
    kernel = metal_kernel(name, ["q", "k", "v", "scale"], ["out"], source)
    return kernel.run(
        inputs=[*arrays, width**-0.5],
        output_shapes=[q.shape],
        output_dtypes=[q.dtype],
        grid=(threads * tiles, batch * heads, 1),
        threadgroup=(threads, 1, 1),
        template=[("T", q.dtype), ("D", width), ("GROUPS", GROUPS)],
        seeds=SEEDS,
    )


def drawn(
    heads: tuple[int, int],
    length: int,
    context: int,
    width: int,
    dtype: mx.Dtype = mx.float32,
) -> Arrays:
    q = normal(2, heads[0], length, width, dtype=dtype, name="q")
    k = normal(2, heads[1], context, width, dtype=dtype, name="k")
    v = normal(2, heads[1], context, width, dtype=dtype, name="v")
    return q, k, v


def causal(arrays: Arrays) -> Truth:
    q, k, _ = arrays
    mask = causal_mask(q.shape[2], k.shape[2])
    return attention(*arrays, mask=mx.array(mask, dtype=mx.float32))


@each_dtype
@pytest.mark.parametrize(
    ("heads", "context", "width"),
    [((1, 1), 1, 64), ((4, 2), 37, 40), ((6, 2), 70, 128)],
)
def test_attention_of_one_token(
    heads: tuple[int, int], context: int, width: int, dtype: mx.Dtype
) -> None:
    """Fewer keys than SIMD groups, a width that is no multiple of 32, and 128."""
    arrays = drawn(heads, 1, context, width, dtype)

    result = run_attention(ONE_TOKEN, source_of(ONE_TOKEN), arrays)

    assert result.faults == ()
    assert is_close(result.outputs[0], causal(arrays))


@each_dtype
@pytest.mark.parametrize(
    ("heads", "length", "context", "width"),
    [
        ((1, 1), 1, 1, 32),
        ((4, 2), 19, 19, 40),
        ((2, 1), 17, 70, 64),
        ((2, 2), 5, 33, 128),
    ],
)
def test_attention_of_a_prompt(
    heads: tuple[int, int], length: int, context: int, width: int, dtype: mx.Dtype
) -> None:
    """A prompt alone, and one behind keys of a cache."""
    arrays = drawn(heads, length, context, width, dtype)

    result = run_attention(PROMPT, source_of(PROMPT), arrays)

    assert result.faults == ()
    assert is_close(result.outputs[0], causal(arrays))


@pytest.mark.parametrize(("name", "length"), [(ONE_TOKEN, 1), (PROMPT, 9)])
def test_large_scores_do_not_overflow(name: str, length: int) -> None:
    """The exponential of a score of 1000 is infinite, that of a difference is not."""
    q, k, v = drawn((2, 1), length, 40, 64)
    arrays = (100 * q, 100 * k, v)

    result = run_attention(name, source_of(name), arrays)

    assert result.faults == ()
    assert is_close(result.outputs[0], causal(arrays))


BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);  // "


@pytest.mark.parametrize(
    ("old", "new", "kind", "part"),
    [
        (BARRIER + "Each", "//", "race", "all_"),
        ("if (lane == 0) {", "{", "race", "all_most[part]"),
        ("[GROUPS][D]", "[GROUPS - 1][D]", "out_of_bounds_write", "all_sums["),
        ("if (d < D) all_sums[part][d]", "all_sums[part][d]", "out_of_bounds_write",
         "all_sums["),
        ("if (d < D) product", "product", "out_of_bounds_read", "product +="),
        ("float score = simd_sum(product)",
         "float score = lane < D / each ? simd_sum(product) : 0.0f", "divergent_simd",
         "simd_sum"),
        ("head / shared_by * num_keys", "head * num_keys", "out_of_bounds_read",
         "product +="),
        ("most = -INFINITY, total", "most, total", "uninitialised_read", "most"),
    ],
)  # fmt: skip
def test_mistakes_with_one_token(old: str, new: str, kind: str, part: str) -> None:
    source = changed(source_of(ONE_TOKEN), old, new)

    result = run_attention(ONE_TOKEN, source, drawn((4, 2), 1, 37, 40))

    assert_names(result, kind, part)


@pytest.mark.parametrize(
    ("old", "new", "kind", "part"),
    [
        (BARRIER + "The values", "//", "race", "tile["),
        (BARRIER + "The keys are there", "//", "race", "tile["),
        (BARRIER + "The keys are used", "//", "race", "tile["),
        (BARRIER + "Values", "//", "race", "tile["),
        ("key < end ? float(k[", "true ? float(k[", "out_of_bounds_read", "k[start"),
        ("query < length && d < D", "d < D", "race", "out["),
        ("query < length ?", "true ?", "out_of_bounds_read", "q[(head"),
        ("weights[num_queries][num_keys]", "weights[own][num_keys]",
         "out_of_bounds_write", "weights["),
        ("tile[num_keys][D + 1]", "tile[6 * num_keys][D + 1]",
         "too_much_threadgroup_memory", "tile["),
        ("first_key < end; first_key", "first_key <= first_query + t; first_key",
         "divergent_barrier", "threadgroup_barrier"),
        ("for (uint d = 0; d < D; ++d)", "for (uint d = 0; d <= D; ++d)",
         "out_of_bounds_read", "score +="),
    ],
)  # fmt: skip
def test_mistakes_with_a_prompt(old: str, new: str, kind: str, part: str) -> None:
    source = changed(source_of(PROMPT), old, new)

    result = run_attention(PROMPT, source, drawn((4, 2), 19, 45, 40))

    assert_names(result, kind, part)
