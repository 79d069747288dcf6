"""Week 2, day 7, task 5: a whole layer in one operation.

The chapter: book/en/week-2-day-7-whole-layer.md
"""

from dataclasses import dataclass, replace

import mlx.core as mx
import pytest

from tiny_llm_course.grading.judgement.call import Call, dtype_name
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import DTYPES, normal
from tiny_llm_course.grading.scenarios.architecture import Architecture
from tiny_llm_course.grading.scenarios.whole_layer import InBuffers, filled_buffers
from tiny_llm_course.oracle.cached import qwen2
from tiny_llm_course.oracle.stored import packed_layer

RUN_LAYER = "kernels.run_layer"
LAYER = "kernels.Layer"
WEIGHTS = "quantize.QuantizedWeights"

RESULTS = ("stream", "keys", "values")

GROUPED = Architecture(hidden_size=64, intermediate_size=96)
"""Two query heads for each key head."""


@dataclass(frozen=True)
class _Packed:
    """A layer with packed weights, and how much is in its cache.

    Attributes:
        sizes: Of the model.
        offset: How many tokens came before.
        bits: Of each integer of its matrices.
        dtype: Of all else that is stored.
    """

    sizes: Architecture
    offset: int
    bits: int = 8
    dtype: mx.Dtype = mx.float32


each_result = pytest.mark.parametrize(
    "index", [0, 1, 2], ids=["stream", "keys", "values"]
)
"""Runs a test for the three results of `run_layer`."""


@each_result
@pytest.mark.parametrize("offset", [0, 5])
@pytest.mark.parametrize("num_tokens", [1, 7])
def test_task_5_agrees_with_transformers(
    grade: Grader, num_tokens: int, offset: int, index: int
) -> None:
    """A prompt, a prompt's second piece, the first token, and one with a cache."""
    x = normal(1, num_tokens, 64, scale=0.5)

    _assert_runs(grade, x, _Packed(GROUPED, offset), index)


@each_result
@pytest.mark.parametrize("num_tokens", [1, 7])
@pytest.mark.parametrize(
    ("num_heads", "num_kv_heads"), [(2, 2), (3, 1), (6, 2)], ids=["2-2", "3-1", "6-2"]
)
def test_task_5_heads_may_share_keys_or_not(
    grade: Grader, num_heads: int, num_kv_heads: int, num_tokens: int, index: int
) -> None:
    sizes = replace(
        GROUPED,
        hidden_size=96,
        num_attention_heads=num_heads,
        num_key_value_heads=num_kv_heads,
    )
    x = normal(1, num_tokens, 96, scale=0.5)

    _assert_runs(grade, x, _Packed(sizes, 5), index)


@each_result
@pytest.mark.parametrize("num_tokens", [1, 7])
def test_task_5_reads_eps_from_the_norms(
    grade: Grader, num_tokens: int, index: int
) -> None:
    """Small rows, and an eps that is as large as their mean square."""
    sizes = replace(GROUPED, rms_norm_eps=0.05)
    x = normal(1, num_tokens, 64, scale=0.2)

    _assert_runs(grade, x, _Packed(sizes, 5), index)


@each_result
@pytest.mark.parametrize("num_tokens", [1, 7])
def test_task_5_rotates_by_the_base_it_is_given(
    grade: Grader, num_tokens: int, index: int
) -> None:
    sizes = replace(GROUPED, rope_theta=50.0)
    x = normal(1, num_tokens, 64, scale=0.5)

    _assert_runs(grade, x, _Packed(sizes, 11), index)


@each_result
@pytest.mark.parametrize("dtype", DTYPES, ids=dtype_name)
def test_task_5_scales_may_be_stored_in_half_precision(
    grade: Grader, dtype: mx.Dtype, index: int
) -> None:
    x = normal(1, 7, 64, scale=0.5)

    _assert_runs(grade, x, _Packed(GROUPED, 5, bits=4, dtype=dtype), index)


@each_result
def test_task_5_agrees_on_a_long_prompt(grade: Grader, index: int) -> None:
    """Threads share the rows, and attention goes tile by tile."""
    x = normal(1, 150, 64, scale=0.5)

    _assert_runs(grade, x, _Packed(GROUPED, 40), index)


def _assert_runs(grade: Grader, x: mx.array, case: _Packed, index: int) -> None:
    """Run a layer, and compare one of its results with `transformers`."""
    sizes, offset = case.sizes, case.offset
    packed = packed_layer(sizes, 32, case.bits, case.dtype)
    buffers = filled_buffers(sizes, offset, offset + x.shape[1] + 3)
    matrices = [grade.run(Call(WEIGHTS, one.fields())) for one in packed.matrices]
    constants = {
        "num_heads": sizes.num_attention_heads,
        "eps": sizes.rms_norm_eps,
        "base": sizes.rope_theta,
    }
    layer = grade.run(Call(LAYER, (matrices, packed.vectors), constants))

    call = InBuffers(
        RUN_LAYER, (layer, x, *buffers, offset), index=index, names=RESULTS
    )

    right = qwen2.block_in_buffers(x, packed.dense, sizes, buffers, offset)
    grade.assert_close(call, right[index], mx.float32)
