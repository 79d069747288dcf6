"""Week 1, day 4, task 3: LayerNorm, BatchNorm, GroupNorm and PartialRMSNorm.

The chapter: book/en/week-1-day-4-norm-family.md
"""

from typing import Any

import mlx.core as mx
import pytest

from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import each_dtype, gain, normal
from tiny_llm_course.grading.scenarios.training import Trained
from tiny_llm_course.oracle.cached import norms

LAYER = "norms.LayerNorm"
BATCH = "norms.BatchNorm"
GROUP = "norms.GroupNorm"
PARTIAL = "norms.PartialRMSNorm"

each_tiny_size = pytest.mark.parametrize(
    ("size", "eps"), [(1e-4, 1e-6), (1e-3, 1e-6), (1e-2, 1e-6), (0.1, 1e-2)]
)
"""So small that eps decides, on both sides of sqrt(eps)."""

each_large_size = pytest.mark.parametrize("size", [100, 1000, 12000])
"""The square of a float16 overflows from 256 on, the sum of squares earlier."""


def learned(
    dim: int, dtype: mx.Dtype = mx.float32, size: float = 1
) -> tuple[mx.array, mx.array]:
    """Draw gains and biases, all different.

    Args:
        dim: Number of channels.
        dtype: The dtype of both.
        size: How large the biases are.
    """
    return gain(dim, dtype), normal(dim, dtype=dtype, scale=size, name="bias")


def uneven(*shape: int, dtype: mx.Dtype = mx.float32) -> mx.array:
    """Draw numbers whose means differ along every axis, and whose sizes do."""
    x = normal(*shape)
    for axis, length in enumerate(shape):
        apart = [length if one == axis else 1 for one in range(len(shape))]
        x = x + normal(*apart, name=f"axis {axis}")
    return (x * gain(shape[-1], name="size")).astype(dtype)


@each_dtype
@pytest.mark.parametrize(
    "shape", [(8,), (3, 7), (2, 4, 1), (2, 1, 3, 33), (2, 896)], ids=str
)
def test_task_3_layer_norm_agrees_with_torch(
    grade: Grader, shape: tuple[int, ...], dtype: mx.Dtype
) -> None:
    _assert_layer_norm(grade, uneven(*shape, dtype=dtype), 1e-6)


@each_dtype
@each_tiny_size
def test_task_3_layer_norm_adds_eps_to_the_variance(
    grade: Grader, size: float, eps: float, dtype: mx.Dtype
) -> None:
    _assert_layer_norm(grade, normal(4, 16, dtype=dtype, scale=size), eps)


def test_task_3_layer_norm_has_an_eps_of_1e_5_when_none_is_given(
    grade: Grader,
) -> None:
    x = normal(4, 16, scale=3e-3)
    weight, bias = learned(16)

    call = Call(LAYER, (x,), build=(16, weight, bias))

    grade.assert_close(call, norms.layer_norm(x, weight, bias, 1e-5), mx.float32)


@each_dtype
def test_task_3_layer_norm_gives_equal_channels_the_bias(
    grade: Grader, dtype: mx.Dtype
) -> None:
    """A row of zeros, and one of threes: both have variance 0."""
    x = mx.concatenate([mx.zeros((1, 8)), mx.full((1, 8), 3.0), normal(2, 8)])

    _assert_layer_norm(grade, x.astype(dtype), 1e-6)


@each_large_size
def test_task_3_layer_norm_squares_in_float32(grade: Grader, size: float) -> None:
    _assert_layer_norm(grade, normal(3, 64, dtype=mx.float16, scale=size), 1e-6)


def test_task_3_layer_norm_subtracts_a_large_mean_before_squaring(
    grade: Grader,
) -> None:
    """The mean is a thousand times the spread, so its square dominates."""
    _assert_layer_norm(grade, 1000 + normal(4, 64), 1e-6)


@each_dtype
@pytest.mark.parametrize(
    "shape", [(4, 3), (2, 5, 7), (3, 4, 1), (2, 3, 4, 5), (1, 3, 2)], ids=str
)
def test_task_3_batch_norm_trains_on_the_statistics_of_the_batch(
    grade: Grader, shape: tuple[int, ...], dtype: mx.Dtype
) -> None:
    _assert_batch_norm(grade, uneven(*shape, dtype=dtype), 1e-6)


@each_tiny_size
def test_task_3_batch_norm_adds_eps_to_the_variance(
    grade: Grader, size: float, eps: float
) -> None:
    _assert_batch_norm(grade, normal(2, 5, 4, scale=size), eps)


@each_dtype
def test_task_3_batch_norm_gives_a_constant_channel_the_bias(
    grade: Grader, dtype: mx.Dtype
) -> None:
    """Its variance is 0, and 0 divided by 0 is NaN without eps."""
    x = normal(2, 3, 4, dtype=dtype) * mx.array([0, 1, 1, 0]).astype(dtype)

    _assert_batch_norm(grade, x, 1e-6)


@each_large_size
def test_task_3_batch_norm_squares_in_float32(grade: Grader, size: float) -> None:
    _assert_batch_norm(grade, normal(4, 16, 3, dtype=mx.float16, scale=size), 1e-6)


@each_dtype
@pytest.mark.parametrize("shape", [(4,), (1, 3), (2, 5, 7), (2, 3, 1, 5)], ids=str)
def test_task_3_batch_norm_is_used_with_the_running_statistics(
    grade: Grader, shape: tuple[int, ...], dtype: mx.Dtype
) -> None:
    """This holds for a single vector too, and whenever `training` is not passed."""
    x = uneven(*shape, dtype=dtype)
    build = _batch_norm(shape[-1], dtype)
    running = norms.running_statistics([], *build[3:5])

    call = Call(BATCH, (x,), build=build)

    truth = norms.batch_norm_in_use(x, *build[1:3], running)
    grade.assert_close(call, truth, dtype)


def test_task_3_batch_norm_has_an_eps_of_1e_5_when_none_is_given(
    grade: Grader,
) -> None:
    x = normal(4, 6, scale=3e-3)
    build = _batch_norm(6)

    call = Call(BATCH, (x,), {"training": True}, build=build)

    grade.assert_close(call, norms.batch_norm(x, *build[1:3]), mx.float32)


@pytest.mark.parametrize("statistic", ["running_mean", "running_var"])
@pytest.mark.parametrize("shapes", [[(2, 3)], [(5, 3), (2, 4, 3)]], ids=str)
@pytest.mark.parametrize("momentum", [None, 0.25, 1.0])
def test_task_3_batch_norm_moves_the_running_statistics(
    grade: Grader,
    momentum: float | None,
    shapes: list[tuple[int, ...]],
    statistic: str,
) -> None:
    """By the mean and the unbiased variance, with a default momentum of a tenth."""
    batches = tuple(3 + 2 * uneven(*shape) for shape in shapes)
    build = _batch_norm(3)
    share = () if momentum is None else (1e-5, momentum)

    call = Trained(
        BATCH, (), build=(*build, *share), batches=batches, attribute=statistic
    )

    _assert_remembered(grade, call, 0.1 if momentum is None else momentum)


@pytest.mark.parametrize("statistic", ["running_mean", "running_var"])
def test_task_3_batch_norm_measures_float16_in_float32(
    grade: Grader, statistic: str
) -> None:
    batch = 300 * uneven(5, 3).astype(mx.float16)
    build = _batch_norm(3)

    call = Trained(BATCH, (), build=build, batches=(batch,), attribute=statistic)

    _assert_remembered(grade, call, 0.1)


@pytest.mark.parametrize("statistic", ["running_mean", "running_var"])
def test_task_3_batch_norm_remembers_nothing_in_use(
    grade: Grader, statistic: str
) -> None:
    batch, x = uneven(5, 3), 4 + uneven(4, 3)
    build = _batch_norm(3)

    call = Trained(BATCH, (x,), build=build, batches=(batch,), attribute=statistic)

    _assert_remembered(grade, call, 0.1)


@each_dtype
def test_task_3_batch_norm_is_used_as_it_was_trained(
    grade: Grader, dtype: mx.Dtype
) -> None:
    """Two batches of training come first, then one vector to normalise."""
    batches = uneven(5, 3, dtype=dtype), 2 * uneven(2, 4, 3, dtype=dtype)
    x = normal(1, 3, dtype=dtype)
    build = _batch_norm(3, dtype)
    running = norms.running_statistics(batches, *build[3:5])

    call = Trained(BATCH, (x,), build=build, batches=batches)

    truth = norms.batch_norm_in_use(x, *build[1:3], running)
    grade.assert_close(call, truth, dtype)


@each_dtype
@pytest.mark.parametrize(
    ("shape", "num_groups"),
    [
        ((3, 6), 2),
        ((2, 5, 6), 3),
        ((2, 4, 8), 4),
        ((2, 3, 4, 6), 2),
        ((3, 2, 5), 1),
        ((2, 7, 3), 3),
        ((2, 16, 64), 16),
    ],
    ids=str,
)
def test_task_3_group_norm_agrees_with_torch(
    grade: Grader, shape: tuple[int, ...], num_groups: int, dtype: mx.Dtype
) -> None:
    _assert_group_norm(grade, uneven(*shape, dtype=dtype), num_groups, 1e-6)


@each_tiny_size
def test_task_3_group_norm_adds_eps_to_the_variance(
    grade: Grader, size: float, eps: float
) -> None:
    _assert_group_norm(grade, normal(2, 3, 8, scale=size), 2, eps)


def test_task_3_group_norm_has_an_eps_of_1e_5_when_none_is_given(
    grade: Grader,
) -> None:
    x = normal(2, 3, 8, scale=3e-3)
    weight, bias = learned(8)

    call = Call(GROUP, (x,), build=(2, 8, weight, bias))

    grade.assert_close(call, norms.group_norm(x, 2, weight, bias, 1e-5), mx.float32)


@each_dtype
def test_task_3_group_norm_gives_a_sample_of_zeros_the_bias(
    grade: Grader, dtype: mx.Dtype
) -> None:
    x = mx.concatenate([mx.zeros((1, 3, 8)), normal(1, 3, 8)]).astype(dtype)

    _assert_group_norm(grade, x, 2, 1e-6)


@each_large_size
def test_task_3_group_norm_squares_in_float32(grade: Grader, size: float) -> None:
    _assert_group_norm(grade, normal(2, 8, 6, dtype=mx.float16, scale=size), 3, 1e-6)


@each_dtype
@pytest.mark.parametrize(
    ("shape", "fraction"),
    [
        ((8,), 0.5),
        ((3, 7), 0.3),
        ((2, 4, 1), 0.25),
        ((2, 1, 3, 33), 0.0625),
        ((4, 6), 1.0),
        ((2, 896), 0.0625),
    ],
    ids=str,
)
def test_task_3_partial_rms_norm_agrees_with_its_formula(
    grade: Grader, shape: tuple[int, ...], fraction: float, dtype: mx.Dtype
) -> None:
    _assert_partial(grade, uneven(*shape, dtype=dtype), fraction, 1e-6)


@each_dtype
@each_tiny_size
def test_task_3_partial_rms_norm_adds_eps_to_the_mean_square(
    grade: Grader, size: float, eps: float, dtype: mx.Dtype
) -> None:
    _assert_partial(grade, normal(4, 16, dtype=dtype, scale=size), 0.25, eps)


@each_dtype
def test_task_3_partial_rms_norm_survives_zeros_where_it_measures(
    grade: Grader, dtype: mx.Dtype
) -> None:
    """Other channels are divided by sqrt(eps), and the measured ones stay 0."""
    measured = mx.concatenate([mx.zeros((2, 2)), normal(1, 2)])
    x = mx.concatenate([measured, normal(3, 6)], axis=-1).astype(dtype)

    _assert_partial(grade, x, 0.25, 1e-2)


@each_large_size
def test_task_3_partial_rms_norm_squares_in_float32(grade: Grader, size: float) -> None:
    _assert_partial(grade, normal(3, 64, dtype=mx.float16, scale=size), 0.25, 1e-6)


def test_task_3_partial_rms_norm_has_defaults(grade: Grader) -> None:
    """The defaults are a sixteenth of the channels, and an eps of 1e-5."""
    x = normal(4, 48, scale=3e-3)
    weight = gain(48)

    call = Call(PARTIAL, (x,), build=(48, weight))

    grade.assert_close(
        call, norms.partial_rms_norm(x, weight, 0.0625, 1e-5), mx.float32
    )


def _batch_norm(dim: int, dtype: mx.Dtype = mx.float32) -> tuple[Any, ...]:
    """Draw the parameters of a BatchNorm, as if it had been trained before."""
    mean = normal(dim, name="running mean")
    return dim, *learned(dim, dtype), mean, 4 * gain(dim, name="running var")


def _assert_layer_norm(grade: Grader, x: mx.array, eps: float) -> None:
    """Run LayerNorm on `x`, and compare with PyTorch."""
    weight, bias = learned(x.shape[-1], x.dtype, size=0.5)

    call = Call(LAYER, (x,), build=(x.shape[-1], weight, bias, eps))

    grade.assert_close(call, norms.layer_norm(x, weight, bias, eps), x.dtype)


def _assert_batch_norm(grade: Grader, x: mx.array, eps: float) -> None:
    """Run BatchNorm in training on `x`, and compare the output with PyTorch."""
    build = _batch_norm(x.shape[-1], x.dtype)

    call = Call(BATCH, (x,), {"training": True}, build=(*build, eps))

    grade.assert_close(call, norms.batch_norm(x, *build[1:3], eps), x.dtype)


def _assert_remembered(grade: Grader, call: Trained, momentum: float) -> None:
    """Compare a running statistic with PyTorch's."""
    assert call.build is not None
    start = call.build[3:5]
    place = ("running_mean", "running_var").index(call.attribute)
    value = norms.running_statistics(call.batches, *start, momentum)[place]

    truth = norms.remembered(value, call.batches, start[place])

    grade.assert_close(call, truth, mx.float32)


def _assert_group_norm(grade: Grader, x: mx.array, num_groups: int, eps: float) -> None:
    """Run GroupNorm on `x`, and compare with PyTorch."""
    weight, bias = learned(x.shape[-1], x.dtype, size=0.5)

    call = Call(GROUP, (x,), build=(num_groups, x.shape[-1], weight, bias, eps))

    truth = norms.group_norm(x, num_groups, weight, bias, eps)
    grade.assert_close(call, truth, x.dtype)


def _assert_partial(grade: Grader, x: mx.array, fraction: float, eps: float) -> None:
    """Run PartialRMSNorm on `x`, and compare with its formula."""
    weight = gain(x.shape[-1], x.dtype)

    call = Call(PARTIAL, (x,), build=(x.shape[-1], weight, fraction, eps))

    truth = norms.partial_rms_norm(x, weight, fraction, eps)
    grade.assert_close(call, truth, x.dtype)
