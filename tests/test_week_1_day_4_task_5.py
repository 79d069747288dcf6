"""Week 1, day 4, task 5: pre-norm and post-norm.

The chapter: book/en/week-1-day-4-norm-placement.md
"""

import mlx.core as mx
import pytest

from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import each_dtype, gain, normal
from tiny_llm_course.grading.scenarios.parts import MLP, Attention, Norm, Parts
from tiny_llm_course.oracle.cached import transformer_block

BLOCKS = {
    "transformer_block.pre_norm_block": transformer_block.pre_norm,
    "transformer_block.post_norm_block": transformer_block.post_norm,
}

each_block = pytest.mark.parametrize("symbol", BLOCKS, ids=lambda one: one[18:])
"""Runs a test with the norms before the parts, and with those after the sums."""


def _drawn(dim: int, eps: float = 1e-6) -> Parts:
    """Return four parts, all different."""
    attention = Attention(gain(dim, name="attention"))
    mlp = MLP(gain(dim, name="mlp"))
    norms = (Norm(gain(dim, name=f"norm {one}"), eps) for one in (1, 2))
    return attention, mlp, *norms


def _assert_carries(
    grade: Grader,
    symbol: str,
    x: mx.array,
    parts: Parts | None = None,
) -> None:
    """Run a block, with random parts unless given; compare with PyTorch."""
    chosen = parts or _drawn(x.shape[-1])

    call = Call(symbol, (x, *chosen))

    grade.assert_close(call, BLOCKS[symbol](x, chosen), x.dtype)


@each_dtype
@pytest.mark.parametrize(
    "shape", [(3, 4), (1, 1), (2, 1, 7), (2, 3, 8), (2, 1, 5, 33)], ids=str
)
@each_block
def test_task_5_agrees_with_torch(
    grade: Grader, symbol: str, shape: tuple[int, ...], dtype: mx.Dtype
) -> None:
    """Vectors of different magnitudes, so that a missing norm shows."""
    x = normal(*shape, dtype=dtype) + normal(*shape[:-1], 1, dtype=dtype)

    _assert_carries(grade, symbol, x)


@each_dtype
@pytest.mark.parametrize("size", [1e-3, 100, 4000])
@each_block
def test_task_5_carries_small_and_large_streams(
    grade: Grader, symbol: str, size: float, dtype: mx.Dtype
) -> None:
    """The sizes are at the scale of eps, and where a square overflows in float16."""
    _assert_carries(grade, symbol, normal(2, 3, 8, dtype=dtype, scale=size))


@each_dtype
@each_block
def test_task_5_keeps_a_row_of_zeros(
    grade: Grader, symbol: str, dtype: mx.Dtype
) -> None:
    """This is the padding at the front of a batch."""
    x = mx.concatenate([mx.zeros((1, 6)), normal(2, 6)]).astype(dtype)

    _assert_carries(grade, symbol, x)


@each_block
def test_task_5_carries_the_stream_past_parts_that_add_nothing(
    grade: Grader, symbol: str
) -> None:
    """Pre-norm then returns x itself, and post-norm normalises it twice."""
    _, _, norm1, norm2 = _drawn(8)
    silent = (Attention(mx.zeros(8)), MLP(mx.zeros(8)), norm1, norm2)

    _assert_carries(grade, symbol, normal(2, 3, 8, scale=5), silent)


@each_block
def test_task_5_agrees_at_the_size_of_qwen2(grade: Grader, symbol: str) -> None:
    _assert_carries(grade, symbol, normal(1, 3, 896, scale=3))
