"""Week 2, day 7: fused kernels, and the model with all kernels on.

The chapter: book/en/week-2-day-7-fused-kernels.md
"""

import functools
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import pytest
from mlx import nn

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.closeness import Truth
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import each_dtype, gain, normal
from tiny_llm_course.grading.scenarios.architecture import (
    IDS,
    UNUSUAL,
    Architecture,
    dequantised,
    embedded,
    mlx_model,
    model_weights,
)
from tiny_llm_course.grading.scenarios.multiple_outputs import OneOf
from tiny_llm_course.grading.scenarios.predicting import (
    PeakBytes,
    Predicting,
    assert_near,
    story,
)
from tiny_llm_course.oracle.cached import fused, layer_norm, positional_encoding, qwen2

RMS_NORM = "kernels.rms_norm"
ADD_RMS_NORM = "kernels.add_rms_norm"
ROPE = "kernels.rope"
SWIGLU = "kernels.swiglu"
MODEL = "qwen2_week2.Qwen2ModelWeek2"

RESULTS = ("sum", "norm_of_sum")

each_result = pytest.mark.parametrize("index", [0, 1], ids=["sum", "norm"])
"""Runs a test for both results of `add_rms_norm`."""

each_shape = pytest.mark.parametrize(
    "shape",
    [(8,), (1,), (3, 7), (3, 17), (2, 4, 1), (5, 64), (2, 1, 3, 33), (2, 63), (2, 896)],
    ids=str,
)
"""Lengths that fill vector registers, leave a remainder, or are one short."""


@dataclass(frozen=True)
class _Quantised:
    """A quantised model, and what it is shown.

    Attributes:
        pieces: How many tokens it is shown at a time.
        group_size: Of its weights.
        dtype: Of all that is stored, but for the integers.
        num_texts: How many it is shown at once.
    """

    pieces: tuple[int, ...]
    group_size: int = 64
    dtype: mx.Dtype = mx.float32
    num_texts: int = 1

    @property
    def ids(self) -> mx.array:
        """What comes one after the other in a story, in as many rows."""
        num_tokens = sum(self.pieces)
        return story(self.num_texts * num_tokens).reshape(self.num_texts, num_tokens)


def _cut(pieces: tuple[int, ...]) -> str:
    """Return how a text is cut, as part of a test's name."""
    return f"{len(pieces)}-pieces"


@each_dtype
@each_shape
def test_task_1_norm_agrees_with_torch(
    grade: Grader, shape: tuple[int, ...], dtype: mx.Dtype
) -> None:
    """Lengths that fill vector registers, and lengths that leave a remainder."""
    x = _rows(shape, dtype)

    _assert_normalises(grade, x)


@each_dtype
@pytest.mark.parametrize(
    ("size", "eps"), [(1e-4, 1e-6), (1e-3, 1e-6), (1e-2, 1e-6), (0.1, 1e-2)]
)
def test_task_1_norm_adds_eps_to_the_mean_square(
    grade: Grader, size: float, eps: float, dtype: mx.Dtype
) -> None:
    """Rows so small that eps decides, on both sides of sqrt(eps)."""
    x = normal(4, 19, dtype=dtype, scale=size)

    _assert_normalises(grade, x, eps)


@each_dtype
def test_task_1_norm_keeps_a_row_of_zeros(grade: Grader, dtype: mx.Dtype) -> None:
    x = mx.concatenate([mx.zeros((1, 6)), normal(2, 6)]).astype(dtype)

    _assert_normalises(grade, x)


@pytest.mark.parametrize("size", [100, 1000, 15000])
def test_task_1_norm_squares_in_float32(grade: Grader, size: float) -> None:
    """The square of a float16 overflows from 256 on, the sum of squares earlier."""
    x = normal(3, 64, dtype=mx.float16, scale=size)

    _assert_normalises(grade, x)


@pytest.mark.parametrize("rows", [(64,), (3, 100)], ids=str)
def test_task_1_norm_agrees_where_threads_share_the_rows(
    grade: Grader, rows: tuple[int, ...]
) -> None:
    x = _rows((*rows, 896), mx.float32)

    _assert_normalises(grade, x)


def test_task_1_norm_reads_rows_that_lie_apart(grade: Grader) -> None:
    """Part of the columns of a transposed matrix: a stride along each axis."""
    x = normal(40, 6).T[:, 2:35:2]

    _assert_normalises(grade, x)


@each_dtype
@each_result
@each_shape
def test_task_1_sum_and_norm_agree_with_torch(
    grade: Grader, shape: tuple[int, ...], index: int, dtype: mx.Dtype
) -> None:
    x, residual = _rows(shape, dtype), _rows(shape, dtype, "residual")

    _assert_adds(grade, x, residual, index)


@each_dtype
@each_result
@pytest.mark.parametrize(
    ("size", "eps"), [(1e-4, 1e-6), (1e-3, 1e-6), (1e-2, 1e-6), (0.1, 1e-2)]
)
def test_task_1_sum_and_norm_agree_where_eps_decides(
    grade: Grader, size: float, eps: float, index: int, dtype: mx.Dtype
) -> None:
    x = normal(4, 19, dtype=dtype, scale=size)
    residual = normal(4, 19, dtype=dtype, scale=size, name="residual")

    _assert_adds(grade, x, residual, index, eps)


@each_result
def test_task_1_sum_and_norm_agree_where_both_cancel(grade: Grader, index: int) -> None:
    """The sum has a row of zeros, and neither input does."""
    x = _rows((3, 17), mx.float32)
    residual = mx.concatenate([-x[:1], _rows((2, 17), mx.float32, "residual")])

    _assert_adds(grade, x, residual, index)


@each_result
@pytest.mark.parametrize("size", [100, 1000, 10000])
def test_task_1_sum_and_norm_are_computed_in_float32(
    grade: Grader, size: float, index: int
) -> None:
    x = normal(3, 64, dtype=mx.float16, scale=size)
    residual = normal(3, 64, dtype=mx.float16, scale=size, name="residual")

    _assert_adds(grade, x, residual, index)


@each_result
def test_task_1_sum_and_norm_agree_where_threads_share_the_rows(
    grade: Grader, index: int
) -> None:
    x, residual = _rows((64, 896), mx.float32), _rows((64, 896), mx.float32, "other")

    _assert_adds(grade, x, residual, index)


@each_result
def test_task_1_sum_and_norm_read_rows_that_lie_apart(
    grade: Grader, index: int
) -> None:
    x = normal(40, 6).T[:, 2:35:2]
    residual = mx.broadcast_to(normal(17, name="residual"), (6, 17))

    _assert_adds(grade, x, residual, index)


@each_dtype
@pytest.mark.parametrize(
    "shape",
    [(1, 5, 1, 2), (2, 4, 3, 8), (3, 1, 2, 6), (2, 3, 3, 34), (1, 3, 14, 64)],
    ids=str,
)
def test_task_2_agrees_with_complex_numbers(
    grade: Grader, shape: tuple[int, ...], dtype: mx.Dtype
) -> None:
    """One case is a batch whose sequences all begin at the same position."""
    _assert_rotates(grade, normal(*shape, dtype=dtype))


@each_dtype
@pytest.mark.parametrize("offset", [1, 7, 1023, 1024, 5000])
def test_task_2_starts_at_the_offset(
    grade: Grader, offset: int, dtype: mx.Dtype
) -> None:
    _assert_rotates(grade, normal(2, 4, 3, 8, dtype=dtype), offset)


def test_task_2_fills_the_last_row_that_is_asked_for(grade: Grader) -> None:
    """Watched, a table of 1024 rows is filled in parts, the first up to row 340.

    The base is one that no other test has asked for a longer table of.
    """
    _assert_rotates(grade, normal(1, 4, 2, 8), 339, 20000.0)


@pytest.mark.parametrize("base", [100.0, 500.5, 1000000.0])
def test_task_2_uses_the_base_it_is_given(grade: Grader, base: float) -> None:
    _assert_rotates(grade, normal(1, 6, 2, 8), 3, base)


@each_dtype
def test_task_2_is_exact_at_the_last_position_of_qwen2(
    grade: Grader, dtype: mx.Dtype
) -> None:
    _assert_rotates(grade, normal(1, 2, 2, 64, dtype=dtype), 32766, 1000000.0)


def test_task_2_agrees_where_threads_share_the_tokens(grade: Grader) -> None:
    _assert_rotates(grade, normal(2, 40, 14, 64), 100, 1000000.0)


def test_task_2_reads_heads_that_lie_apart(grade: Grader) -> None:
    """A single product for queries, keys and values leaves the keys in this layout."""
    x = normal(2, 5, 7, 16)[:, :, 3:5]

    _assert_rotates(grade, x, 9)


@each_dtype
@pytest.mark.parametrize(
    "shape", [(), (1,), (5,), (2, 17), (3, 4, 7), (2, 2, 2, 3), (1, 1, 4864)], ids=str
)
def test_task_3_agrees_with_torch(
    grade: Grader, shape: tuple[int, ...], dtype: mx.Dtype
) -> None:
    gate = normal(*shape, dtype=dtype, scale=3, name="gate")
    up = normal(*shape, dtype=dtype, scale=3, name="up")

    _assert_gates(grade, gate, up)


@each_dtype
def test_task_3_has_a_dip_and_tails(grade: Grader, dtype: mx.Dtype) -> None:
    """From the least value of silu at -1.278 to where an exponential overflows."""
    dip = mx.linspace(-6, 6, 97)
    tails = mx.array([-1e4, -100.0, -88.0, -20.0, -11.0, 0.0, 11.0, 20.0, 90.0, 1e4])
    gate = mx.concatenate([dip, tails]).astype(dtype)

    _assert_gates(grade, gate, normal(gate.size, dtype=dtype))


def test_task_3_is_computed_in_float32(grade: Grader) -> None:
    """In float16 the gate would underflow here, or its product overflow."""
    gate = mx.linspace(-24, -8, 33).astype(mx.float16)
    up = normal(33, dtype=mx.float16, scale=20000)

    _assert_gates(grade, gate, mx.clip(up, -60000, 60000))


def test_task_3_agrees_where_threads_share_the_numbers(grade: Grader) -> None:
    gate, up = normal(9, 4864, name="gate"), normal(9, 4864, name="up")

    _assert_gates(grade, gate, up)


def test_task_3_reads_numbers_that_lie_apart(grade: Grader) -> None:
    """A single product for both leaves them in this layout."""
    both = normal(3, 5, 2, 33)

    _assert_gates(grade, both[:, :, 0], both[:, :, 1])


@pytest.mark.parametrize("group_size", [64, 32])
@pytest.mark.parametrize(
    "pieces", [(64,), (1, 62, 1), (40, 19, 5), (54, *[1] * 10)], ids=_cut
)
def test_task_4_model_predicts_what_the_dequantised_one_does(
    grade: Grader, pieces: tuple[int, ...], group_size: int
) -> None:
    """The text may be cut anywhere: a cache is filled, and then used."""
    _assert_predicts(grade, _Quantised(pieces, group_size))


def test_task_4_model_predicts_well_in_a_long_text(grade: Grader) -> None:
    """The text is longer than the kernels' blocks, and cut within one."""
    _assert_predicts(grade, _Quantised((301, 1, 1, 30)))


@pytest.mark.parametrize("enable_flash_attn", [True, False])
@pytest.mark.parametrize("kernels", ["own", "none"])
def test_task_4_model_predicts_well_whatever_is_on(
    grade: Grader, kernels: str, *, enable_flash_attn: bool
) -> None:
    _assert_predicts(
        grade, _Quantised((60, 4)), kernels=kernels, enable_flash_attn=enable_flash_attn
    )


def test_task_4_model_predicts_well_in_two_texts_at_once(grade: Grader) -> None:
    """A layer that is one operation may have been made for one."""
    _assert_predicts(grade, _Quantised((20, 1, 11), num_texts=2))


@pytest.mark.parametrize(
    "dtype", [mx.float16, mx.bfloat16], ids=["float16", "bfloat16"]
)
def test_task_4_model_computes_in_float32_where_the_kernels_are_on(
    grade: Grader, dtype: mx.Dtype
) -> None:
    """All that is stored has 16 bits, but for the integers."""
    _assert_predicts(grade, _Quantised((60, 4), dtype=dtype))


@each_dtype
@pytest.mark.parametrize("tie_word_embeddings", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize("pieces", [(7,), (3, 1, 2, 1)], ids=str)
def test_task_4_dense_model_agrees_with_transformers(
    grade: Grader,
    pieces: tuple[int, ...],
    dtype: mx.Dtype,
    *,
    tie_word_embeddings: bool,
) -> None:
    """Two sequences, weights that are not quantised, and so nothing is rounded."""
    sizes = Architecture(tie_word_embeddings=tie_word_embeddings)

    _assert_exact(grade, mx.array(IDS), sizes, pieces, dtype)


def test_task_4_dense_model_reads_its_sizes_from_the_checkpoint(grade: Grader) -> None:
    """Layers, heads, eps and base differ from any constants in the code."""
    _assert_exact(grade, mx.array(IDS), UNUSUAL, (3, 1, 2, 1))


def test_task_4_dense_model_agrees_on_a_long_text(grade: Grader) -> None:
    ids = mx.arange(150)[None] * 7 % 50
    sizes = Architecture(max_position_embeddings=150)

    _assert_exact(grade, ids, sizes, (131, 1, 18))


def test_task_4_model_has_no_matrix_of_scores_in_memory(grade: Grader) -> None:
    """The matrix of 16 heads and 1024 tokens takes 64 MB, everything else far less."""
    num_tokens = 1024
    sizes = Architecture(
        hidden_size=64, num_attention_heads=16, max_position_embeddings=num_tokens
    )
    model = mlx_model(sizes, model_weights(sizes, mx.float32))
    ids = mx.arange(num_tokens)[None] % 50

    call = PeakBytes(
        MODEL, (ids,), build=(model, True), pieces=(num_tokens,), num_caches=2
    )

    most_bytes = 32e6
    grade.assert_that(
        grade.run(call) < most_bytes,
        call,
        say(
            "week_2_day_7.complaints.matrix_in_memory",
            num_tokens=num_tokens,
            most_mb=most_bytes / 1e6,
        ),
    )


def _rows(shape: tuple[int, ...], dtype: mx.Dtype, name: str = "") -> mx.array:
    """Draw rows of different magnitudes and nonzero means."""
    shifts = normal(*shape[:-1], 1, dtype=dtype, name=name)
    return normal(*shape, dtype=dtype, name=name) + shifts


def _assert_normalises(grade: Grader, x: mx.array, eps: float = 1e-6) -> None:
    """Normalise, and compare with PyTorch."""
    weight = gain(x.shape[-1], x.dtype)

    call = Call(RMS_NORM, (x, weight, eps))

    grade.assert_close(call, layer_norm.rms_norm(x, weight, eps), x.dtype)


def _assert_adds(
    grade: Grader, x: mx.array, residual: mx.array, index: int, eps: float = 1e-6
) -> None:
    """Add and normalise, and compare one of both results with PyTorch."""
    weight = gain(x.shape[-1], x.dtype)

    call = OneOf(ADD_RMS_NORM, (x, residual, weight, eps), index=index, names=RESULTS)

    truth = (
        fused.added(x, residual)
        if index == 0
        else fused.add_rms_norm(x, residual, weight, eps)
    )
    grade.assert_close(call, truth, x.dtype)


def _assert_rotates(
    grade: Grader, x: mx.array, offset: int = 0, base: float = 10000.0
) -> None:
    """Rotate `x` from a position on, and compare with complex numbers."""
    batch, length = x.shape[:2]

    call = Call(ROPE, (x, offset, base))

    positions = [range(offset, offset + length)] * batch
    expected = positional_encoding.rope(x, positions, base=base, traditional=False)
    grade.assert_close(call, expected, x.dtype)


def _assert_gates(grade: Grader, gate: mx.array, up: mx.array) -> None:
    """Gate, and compare with PyTorch."""
    call = Call(SWIGLU, (gate, up))

    grade.assert_close(call, fused.swiglu(gate, up), gate.dtype)


def _assert_predicts(
    grade: Grader,
    case: _Quantised,
    *,
    kernels: str = "own",
    enable_flash_attn: bool = True,
) -> None:
    """Quantise the embedded model, and compare its predictions with `transformers`."""
    model, sizes = _quantised(case.group_size, case.dtype)

    call = Predicting(
        MODEL,
        (case.ids,),
        build=(model, enable_flash_attn),
        pieces=case.pieces,
        num_caches=sizes.num_hidden_layers,
        kernels=kernels,
    )

    assert_near(grade, call, _truth_of(case), mx.float32)


@functools.cache
def _quantised(group_size: int, dtype: mx.Dtype) -> tuple[Any, Architecture]:
    """Return the embedded model with 4 bits for each weight, and its sizes."""
    sizes, weights = embedded()
    stored = {name: array.astype(dtype) for name, array in weights.items()}
    model = mlx_model(sizes, stored)
    nn.quantize(model, group_size=group_size, bits=4)
    return model, sizes


@functools.cache
def _truth_of(case: _Quantised) -> Truth:
    """Return the expected logits of a quantised model for the story."""
    model, sizes = _quantised(case.group_size, case.dtype)
    return qwen2.model_in_pieces(case.ids, dequantised(model), sizes, case.pieces)


def _assert_exact(
    grade: Grader,
    ids: mx.array,
    sizes: Architecture,
    pieces: tuple[int, ...],
    dtype: mx.Dtype = mx.float32,
) -> None:
    """Run a model with dense weights on a text, and compare with `transformers`."""
    weights = model_weights(sizes, dtype)

    call = Predicting(
        MODEL,
        (ids,),
        build=(mlx_model(sizes, weights), True),
        pieces=pieces,
        num_caches=sizes.num_hidden_layers,
    )

    grade.assert_close(call, qwen2.model_in_pieces(ids, weights, sizes, pieces), dtype)
