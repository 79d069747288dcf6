"""Week 3, day 7, task 5: a model on several processes.

The chapter: book/en/week-3-day-7-several-machines.md
"""

from typing import Any

import mlx.core as mx
import pytest
from mlx import nn

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.exact import assert_exactly
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import each_dtype, normal
from tiny_llm_course.grading.scenarios.architecture import (
    Architecture,
    Weights,
    dequantised,
    embedded,
    mlx_model,
    model_weights,
)
from tiny_llm_course.grading.scenarios.pieces import RUN_PIECES, Step
from tiny_llm_course.grading.scenarios.splitting import SAID, SPLIT, Cut, Held, Split
from tiny_llm_course.oracle.cached import qwen2
from tiny_llm_course.oracle.stored import dequantised as unpacked
from tiny_llm_course.oracle.stored import drawn

COLUMNS = "distributed.shard_columns"
ROWS = "distributed.shard_rows"

TEXTS = ((3, 1, 4, 1, 5, 9, 2, 6), (5, 35, 8))
STEPS: tuple[Step, ...] = ({0: 3, 1: 2}, {0: 5, 1: 1})

MANY_HEADS = Architecture(hidden_size=64, num_attention_heads=8, num_key_value_heads=4)
PACKED = Architecture(hidden_size=128, intermediate_size=192, num_attention_heads=4)
"""Half of its channels are a group of 64 and a half."""

each_process = pytest.mark.parametrize(
    ("rank", "size"), [(0, 1), (0, 2), (1, 2), (0, 4), (2, 4), (3, 4)]
)
each_format = pytest.mark.parametrize(
    ("bits", "group_size"), [(4, 32), (4, 64), (8, 32), (8, 64), (2, 32)]
)
each_rank = pytest.mark.parametrize("rank", [0, 1])


@each_process
@each_dtype
def test_task_5_columns_are_some_of_the_outputs(
    grade: Grader, dtype: mx.Dtype, rank: int, size: int
) -> None:
    w = normal(24, 16, dtype=dtype)
    here = slice(rank * 24 // size, (rank + 1) * 24 // size)

    assert_exactly(grade, Cut(COLUMNS, (w, rank, size)), w[here], "part")


@each_process
def test_task_5_columns_of_a_bias_are_some_of_its_numbers(
    grade: Grader, rank: int, size: int
) -> None:
    bias = normal(24)
    here = slice(rank * 24 // size, (rank + 1) * 24 // size)

    assert_exactly(grade, Cut(COLUMNS, (bias, rank, size)), bias[here], "part")


@each_process
@each_format
def test_task_5_columns_may_be_packed(
    grade: Grader, bits: int, group_size: int, rank: int, size: int
) -> None:
    stored = drawn((24, 128), group_size, bits)
    here = slice(rank * 24 // size, (rank + 1) * 24 // size)

    call = Cut(COLUMNS, (stored, rank, size))

    assert_exactly(grade, call, unpacked(stored)[here], "part")


@each_process
@each_dtype
def test_task_5_rows_are_some_of_the_inputs(
    grade: Grader, dtype: mx.Dtype, rank: int, size: int
) -> None:
    w = normal(16, 24, dtype=dtype)
    here = slice(rank * 24 // size, (rank + 1) * 24 // size)

    assert_exactly(grade, Cut(ROWS, (w, rank, size)), w[:, here], "part")


@each_process
@each_format
def test_task_5_rows_may_be_packed(
    grade: Grader, bits: int, group_size: int, rank: int, size: int
) -> None:
    stored = drawn((24, 256), group_size, bits)
    here = slice(rank * 256 // size, (rank + 1) * 256 // size)

    call = Cut(ROWS, (stored, rank, size))

    assert_exactly(grade, call, unpacked(stored)[:, here], "part")


@each_rank
@pytest.mark.parametrize("bits", [4, 8])
def test_task_5_a_cut_may_go_through_a_group(
    grade: Grader, bits: int, rank: int
) -> None:
    """Half of 192 inputs are a group of 64 and a half: both sides keep its scale."""
    stored = drawn((24, 192), 64, bits)

    call = Cut(ROWS, (stored, rank, 2))

    here = slice(rank * 96, (rank + 1) * 96)
    assert_exactly(grade, call, unpacked(stored)[:, here], "part")


@each_rank
@each_dtype
def test_task_5_two_processes_agree_with_one(
    grade: Grader, dtype: mx.Dtype, rank: int
) -> None:
    """In steps of several texts, whatever each process has seen of them before."""
    sizes = Architecture()
    weights = model_weights(sizes, dtype)

    _assert_truth(grade, mlx_model(sizes, weights), weights, sizes, 2, rank)


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_task_5_four_processes_agree_with_one(grade: Grader, rank: int) -> None:
    weights = model_weights(MANY_HEADS, mx.float32)
    model = mlx_model(MANY_HEADS, weights)

    _assert_truth(grade, model, weights, MANY_HEADS, 4, rank)


def test_task_5_one_process_has_everything(grade: Grader) -> None:
    sizes = Architecture()
    weights = model_weights(sizes, mx.float32)

    _assert_truth(grade, mlx_model(sizes, weights), weights, sizes, 1, 0)


@each_rank
def test_task_5_the_head_may_be_of_its_own(grade: Grader, rank: int) -> None:
    sizes = Architecture(tie_word_embeddings=False)
    weights = model_weights(sizes, mx.float32)

    _assert_truth(grade, mlx_model(sizes, weights), weights, sizes, 2, rank)


@each_rank
def test_task_5_a_quantised_model_may_be_split(grade: Grader, rank: int) -> None:
    model = mlx_model(PACKED, model_weights(PACKED, mx.float32))
    nn.quantize(model, group_size=64, bits=8)

    _assert_truth(grade, model, dequantised(model), PACKED, 2, rank)


def test_task_5_the_checkpoint_that_comes_along_may_be_split(grade: Grader) -> None:
    sizes, weights = embedded()

    _assert_truth(grade, mlx_model(sizes, weights), weights, sizes, 2, 0)


@each_rank
@pytest.mark.parametrize("size", [2, 4])
def test_task_5_a_process_holds_its_part(grade: Grader, rank: int, size: int) -> None:
    """Otherwise each of them would compute everything."""
    sizes = MANY_HEADS
    model = mlx_model(sizes, model_weights(sizes, mx.float32))
    matrices = 3 * sizes.intermediate_size + 3 * sizes.hidden_size
    in_layers = sizes.num_hidden_layers * sizes.hidden_size * matrices

    call = Held(SPLIT, (model, rank, size))

    fewer, expected = grade.run(call), in_layers - in_layers // size
    complaint = say(f"{SAID}.holds", got=fewer, least=expected)
    grade.assert_that(fewer >= expected, call, complaint)


def _assert_truth(
    grade: Grader,
    model: Any,  # noqa: ANN401 - untyped
    weights: Weights,
    sizes: Architecture,
    size: int,
    rank: int,
) -> None:
    """Compare the logits of a process with those of each text by itself."""
    texts = [qwen2.model(mx.array([text]), weights, sizes) for text in TEXTS]

    call = Split(RUN_PIECES, (model,), texts=TEXTS, steps=STEPS, size=size, rank=rank)

    truth = call.truth(texts)
    grade.assert_close(call, truth, weights["model.norm.weight"].dtype)
