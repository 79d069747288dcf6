"""Week 2, day 5: the product with many vectors, tiled, in C++.

The chapter: book/en/week-2-day-5-tiled-product.md
"""

from functools import partial

import mlx.core as mx
import numpy as np
import pytest

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call, dtype_name
from tiny_llm_course.grading.judgement.exact import assert_tuple
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import (
    DTYPES,
    each_dtype,
    each_group_size,
    each_width,
    normal,
    weight,
)
from tiny_llm_course.grading.judgement.memory import PeakOf
from tiny_llm_course.grading.scenarios.architecture import embedded
from tiny_llm_course.grading.scenarios.predicting import kernels_set_to
from tiny_llm_course.grading.scenarios.rounding import whole_steps
from tiny_llm_course.oracle.cached import kernels, quantize
from tiny_llm_course.oracle.stored import Stored, drawn, quantised

WEIGHTS = "quantize.QuantizedWeights"
NAIVE = "kernels.matmul_naive"
BLOCKED = "kernels.matmul_blocked"
PACK = "kernels.pack_panel"
INT8 = "kernels.matmul_int8"
THREADED = "kernels.matmul_threaded"
LINEAR = "quantize.quantized_linear"

_stored = partial(drawn, scale=0.02, bias=0.2)
"""Draws a matrix of small weights, as a trained one has."""

each_scale = pytest.mark.parametrize("scales", DTYPES, ids=dtype_name)
each_float_variant = pytest.mark.parametrize("variant", [NAIVE, BLOCKED])

SIZES = [(1, 1), (2, 7), (5, 16), (12, 17), (13, 40), (30, 70)]
"""Tokens and outputs: around the sides of a tile, 12 x 16, and of a block."""

each_size = pytest.mark.parametrize(("tokens", "outputs"), SIZES)


@each_float_variant
@each_dtype
@each_width
@each_group_size
def test_task_1_product_agrees_with_torch(
    grade: Grader, group_size: int, bits: int, dtype: mx.Dtype, variant: str
) -> None:
    stored = quantised(weight(19, 384), group_size, bits)
    x = normal(5, 384, dtype=dtype)

    _assert_product(grade, variant, x, stored)


@each_float_variant
@each_size
def test_task_1_any_number_of_tokens_and_outputs(
    grade: Grader, tokens: int, outputs: int, variant: str
) -> None:
    stored = quantised(weight(outputs, 320), 64, 4)
    x = normal(tokens, 320)

    _assert_product(grade, variant, x, stored)


@each_float_variant
@pytest.mark.parametrize(("length", "group_size"), [(1152, 128), (2080, 32)])
def test_task_1_long_rows(
    grade: Grader, length: int, group_size: int, variant: str
) -> None:
    stored = quantised(weight(19, length), group_size, 4)
    x = normal(3, length)

    _assert_product(grade, variant, x, stored)


@each_float_variant
def test_task_1_has_more_outputs_than_inputs(grade: Grader, variant: str) -> None:
    stored = quantised(weight(150, 64), 64, 4)
    x = normal(3, 64)

    _assert_product(grade, variant, x, stored)


@each_float_variant
@each_scale
def test_task_1_scales_may_be_stored_in_half_precision(
    grade: Grader, scales: mx.Dtype, variant: str
) -> None:
    """A checkpoint in bfloat16 has its scales in bfloat16, whatever x is."""
    stored = quantised(weight(19, 256, scales), 64, 4)
    x = normal(3, 256)

    _assert_product(grade, variant, x, stored)


@each_float_variant
def test_task_1_product_takes_every_other_token(grade: Grader, variant: str) -> None:
    """The arguments need not be contiguous."""
    stored = quantised(weight(19, 128), 64, 4)
    x = normal(10, 128)[::2]

    _assert_product(grade, variant, x, stored)


@each_float_variant
def test_task_1_half_precision_is_summed_in_float32(
    grade: Grader, variant: str
) -> None:
    """A thousand times 0.5: in float16 the sum stops growing."""
    stored = quantised(mx.abs(weight(17, 1024)) + 0.5, 64, 8)
    x = mx.abs(normal(2, 1024, dtype=mx.float16))

    _assert_product(grade, variant, x, stored)


@each_width
@each_group_size
@pytest.mark.parametrize("first_row", [0, 16, 3])
def test_task_2_panel_has_its_rows_in_order(
    grade: Grader, first_row: int, group_size: int, bits: int
) -> None:
    stored = _stored((32, 256), group_size, bits)

    call = Call(PACK, (_weights(grade, stored), first_row))

    assert_tuple(grade, call, kernels.panel(stored, first_row))


@each_width
def test_task_2_panel_of_three_small_groups(grade: Grader, bits: int) -> None:
    """Its rows are no whole number of 16 bytes, and it ends where they do."""
    stored = _stored((16, 96), 32, bits)

    call = Call(PACK, (_weights(grade, stored), 0))

    assert_tuple(grade, call, kernels.panel(stored, 0))


@each_scale
def test_task_2_panel_has_its_scales_in_float32(
    grade: Grader, scales: mx.Dtype
) -> None:
    stored = _stored((16, 128), 32, 4, scales)

    call = Call(PACK, (_weights(grade, stored), 0))

    assert_tuple(grade, call, kernels.panel(stored, 0))


@each_width
@pytest.mark.parametrize(("rows", "first_row"), [(1, 0), (20, 16), (31, 16)])
def test_task_2_last_panel_has_the_rows_that_are_left(
    grade: Grader, rows: int, first_row: int, bits: int
) -> None:
    """Its values for rows that do not exist are not looked at."""
    stored = _stored((rows, 128), 64, bits)
    expected = kernels.panel(stored, first_row)

    call = Call(PACK, (_weights(grade, stored), first_row))

    got = [np.array(part) for part in grade.run(call)]
    wanted = [np.array(part) for part in expected.values()]
    same = all(
        np.array_equal(part[:, : right.shape[1]], right)
        for part, right in zip(got, wanted, strict=True)
    )
    named = {"first": first_row, "last": rows - 1}
    complaint = say("week_2_day_5.complaints.other_rows", **named)
    grade.assert_that(same, call, complaint)


@each_width
@each_group_size
@each_size
def test_task_3_product_in_integers_is_exact(
    grade: Grader, tokens: int, outputs: int, group_size: int, bits: int
) -> None:
    """These activations are whole steps, so that rounding them changes nothing."""
    stored = _stored((outputs, 256), group_size, bits)
    x = whole_steps(tokens, 256, group_size)

    _assert_product(grade, INT8, x, stored)


@each_width
@pytest.mark.parametrize(("length", "group_size"), [(1152, 128), (2080, 32)])
def test_task_3_long_rows(
    grade: Grader, length: int, group_size: int, bits: int
) -> None:
    stored = _stored((19, length), group_size, bits)
    x = whole_steps(14, length, group_size)

    _assert_product(grade, INT8, x, stored)


def test_task_3_has_more_outputs_than_inputs(grade: Grader) -> None:
    stored = _stored((150, 64), 64, 4)
    x = whole_steps(3, 64, 64)

    _assert_product(grade, INT8, x, stored)


@each_width
@each_group_size
def test_task_3_largest_may_be_the_last_of_a_group(
    grade: Grader, group_size: int, bits: int
) -> None:
    stored = _stored((17, 256), group_size, bits)
    steps = normal(13, 256 // group_size, group_size)
    steps = mx.round(mx.clip(steps * 20, -60, 60))
    steps[..., -1] = 127
    x = steps.reshape(13, 256) / 64

    _assert_product(grade, INT8, x, stored)


@each_dtype
@each_scale
def test_task_3_product_has_the_dtype_of_the_activations(
    grade: Grader, scales: mx.Dtype, dtype: mx.Dtype
) -> None:
    stored = _stored((19, 256), 64, 4, scales)
    x = whole_steps(14, 256, 64).astype(dtype)

    _assert_product(grade, INT8, x, stored)


@each_width
@pytest.mark.parametrize("sign", [1, -1])
def test_task_3_largest_sums_fit(grade: Grader, sign: int, bits: int) -> None:
    """All integers at their largest: a sum of two products has 17 bits."""
    words = mx.full((17, 128 * bits // 32), 2**32 - 1, dtype=mx.uint32)
    scales = mx.ones((17, 1))
    stored = Stored(words, scales, -scales, 128, bits)
    x = mx.full((13, 128), 127.0 * sign)

    _assert_product(grade, INT8, x, stored)


def test_task_3_groups_of_zeros_contribute_nothing(grade: Grader) -> None:
    stored = _stored((17, 256), 64, 4)
    x = whole_steps(3, 256, 64)
    x[1] = 0
    x[2, 64:128] = 0

    _assert_product(grade, INT8, x, stored)


@each_dtype
@each_width
def test_task_3_rounding_costs_half_a_step_at_most(
    grade: Grader, bits: int, dtype: mx.Dtype
) -> None:
    stored = quantised(weight(19, 256), 64, bits)
    x = normal(14, 256, dtype=dtype)

    call = _product(grade, INT8, x, stored)

    grade.assert_close(call, kernels.rounded_matmul(x, stored), dtype)


@pytest.mark.parametrize("part", [0.6, 0.4])
def test_task_3_rounds_to_the_nearest_step(grade: Grader, part: float) -> None:
    """All entries are a fraction above a whole step, and all weights are positive."""
    steps = mx.floor(mx.abs(normal(3, 256)) * 30) + part
    x = mx.where(mx.arange(256) % 64 == 5, 127.0, mx.minimum(steps, 126 + part)) / 64
    stored = quantised(mx.abs(weight(17, 256)) + 0.1, 64, 4)

    call = _product(grade, INT8, x, stored)

    grade.assert_close(call, kernels.rounded_matmul(x, stored), mx.float32)


@each_width
@each_size
def test_task_4_threads_compute_all_of_it(
    grade: Grader, tokens: int, outputs: int, bits: int
) -> None:
    stored = _stored((outputs, 256), 64, bits)
    x = whole_steps(tokens, 256, 64)

    _assert_product(grade, THREADED, x, stored)


@each_width
@pytest.mark.parametrize(("length", "group_size"), [(256, 32), (256, 128), (1152, 128)])
def test_task_4_threads_compute_groups_of_any_size(
    grade: Grader, length: int, group_size: int, bits: int
) -> None:
    stored = _stored((37, length), group_size, bits)
    x = whole_steps(30, length, group_size)

    _assert_product(grade, THREADED, x, stored)


@each_dtype
@pytest.mark.parametrize("tokens", [37, 300])
def test_task_4_threads_agree_on_a_large_product(
    grade: Grader, tokens: int, dtype: mx.Dtype
) -> None:
    stored = _stored((475, 256), 64, 4)
    x = whole_steps(tokens, 256, 64).astype(dtype)

    _assert_product(grade, THREADED, x, stored)


def test_task_4_threads_return_the_same_each_time(grade: Grader) -> None:
    """The order of threads must not matter."""
    weights = _weights(grade, _stored((475, 256), 64, 4))
    x = normal(50, 256)

    call = Call(THREADED, (x, weights), times=20)

    first, *others = grade.run(call)
    same = all(bool(mx.array_equal(first, other)) for other in others)
    complaint = say("week_2_day_5.complaints.unsteady")
    grade.assert_that(same, call, complaint)


@each_dtype
@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("batch", [(), (1,), (2, 3), (1, 13)], ids=str)
def test_task_5_linear_is_that_of_the_kernels(
    grade: Grader,
    batch: tuple[int, ...],
    has_bias: bool,
    dtype: mx.Dtype,
) -> None:
    stored = _stored((128, 128), 64, 4, dtype)
    x = whole_steps(13, 128, 64).astype(dtype)[: int(np.prod(batch))]
    bias = (normal(128, dtype=dtype, name="bias"),) if has_bias else ()

    call = Call(LINEAR, (x.reshape(*batch, 128), _weights(grade, stored), *bias))

    right = quantize.matmul(x.reshape(*batch, 128), stored, *bias)
    with kernels_set_to("own"):
        grade.assert_close(call, right, dtype)


def test_task_5_linear_agrees_on_a_trained_layer(
    grade: Grader,
) -> None:
    _, known = embedded()
    prefix = "model.layers.2.self_attn.k_proj"
    stored = quantised(known[f"{prefix}.weight"], 64, 4)
    x, bias = known["model.embed_tokens.weight"][100:116][None], known[f"{prefix}.bias"]

    call = Call(LINEAR, (x, _weights(grade, stored), bias))

    with kernels_set_to("own"):
        grade.assert_close(call, kernels.rounded_matmul(x, stored, bias), mx.float32)


@pytest.mark.parametrize("tokens", [1, 4])
def test_task_5_linear_never_unpacks_the_matrix(grade: Grader, tokens: int) -> None:
    weights = _weights(grade, quantised(weight(1024, 1024), 64, 4))
    x = normal(tokens, 1024)
    mx.eval(x, weights.weight, weights.scales, weights.biases)

    call = PeakOf(LINEAR, (x, weights))

    with kernels_set_to("own"):
        taken_bytes = grade.run(call)
    complaint = say("week_2_day_5.complaints.unpacked")
    grade.assert_that(taken_bytes < 1024 * 1024 * 2, call, complaint)


def test_task_5_linear_without_kernels_does_not_round_to_8_bits(
    grade: Grader,
) -> None:
    """Earlier days must not depend on whether kernels are built."""
    stored = quantised(weight(24, 128), 64, 4)
    x = normal(2, 3, 128)

    call = Call(LINEAR, (x, _weights(grade, stored)))

    with kernels_set_to("none"):
        grade.assert_close(call, quantize.matmul(x, stored), mx.float32)


def _weights(grade: Grader, stored: Stored) -> object:
    """Build the solution's own `QuantizedWeights`."""
    return grade.run(Call(WEIGHTS, stored.fields()))


def _assert_product(grade: Grader, variant: str, x: mx.array, stored: Stored) -> None:
    """Call one variant of the ladder, and compare with PyTorch."""
    call = _product(grade, variant, x, stored)

    grade.assert_close(call, quantize.matmul(x, stored), x.dtype)


def _product(grade: Grader, variant: str, x: mx.array, stored: Stored) -> Call:
    """Call one variant of the ladder."""
    return Call(variant, (x, _weights(grade, stored)))
