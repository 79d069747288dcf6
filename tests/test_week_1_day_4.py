"""Week 1, day 4: RMSNorm, SiLU and the MLP of Qwen2.

The chapter: book/en/week-1-day-4-rmsnorm-and-mlp.md
"""

import mlx.core as mx
import pytest

from tiny_llm_course.grading.judgement.call import Call, dtype_name
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import DTYPES, each_dtype, gain, normal
from tiny_llm_course.grading.scenarios.architecture import (
    Architecture,
    Weights,
    embedded,
    mlp_arguments,
    mlp_weights,
    under,
)
from tiny_llm_course.oracle.cached import basics, feed_forward, layer_norm

RMS_NORM = "layer_norm.RMSNorm"
SILU = "basics.silu"
MLP = "qwen2_week1.Qwen2MLP"


@each_dtype
@pytest.mark.parametrize(
    "shape", [(8,), (3, 7), (2, 4, 1), (2, 1, 3, 33), (2, 896)], ids=str
)
def test_task_1_agrees_with_torch(
    grade: Grader, shape: tuple[int, ...], dtype: mx.Dtype
) -> None:
    """Rows of different magnitudes and nonzero means; all gains are different."""
    x = normal(*shape, dtype=dtype) + normal(*shape[:-1], 1, dtype=dtype)
    weight = gain(shape[-1], dtype)

    call = Call(RMS_NORM, (x,), build=(shape[-1], weight, 1e-6))

    grade.assert_close(call, layer_norm.rms_norm(x, weight, 1e-6), dtype)


@each_dtype
@pytest.mark.parametrize(
    ("size", "eps"), [(1e-4, 1e-6), (1e-3, 1e-6), (1e-2, 1e-6), (0.1, 1e-2)]
)
def test_task_1_adds_eps_to_the_mean_square(
    grade: Grader, size: float, eps: float, dtype: mx.Dtype
) -> None:
    """Rows so small that eps decides, on both sides of sqrt(eps)."""
    x = normal(4, 16, dtype=dtype, scale=size)
    weight = gain(16, dtype)

    call = Call(RMS_NORM, (x,), build=(16, weight, eps))

    grade.assert_close(call, layer_norm.rms_norm(x, weight, eps), dtype)


def test_task_1_uses_an_eps_of_1e_5_when_none_is_given(grade: Grader) -> None:
    x = normal(4, 16, scale=3e-3)
    weight = gain(16)

    call = Call(RMS_NORM, (x,), build=(16, weight))

    grade.assert_close(call, layer_norm.rms_norm(x, weight, 1e-5), mx.float32)


@each_dtype
def test_task_1_keeps_a_row_of_zeros(grade: Grader, dtype: mx.Dtype) -> None:
    """Padding in a batch: without eps it becomes NaN."""
    x = mx.concatenate([mx.zeros((1, 6)), normal(2, 6)]).astype(dtype)
    weight = gain(6, dtype)

    call = Call(RMS_NORM, (x,), build=(6, weight, 1e-6))

    grade.assert_close(call, layer_norm.rms_norm(x, weight, 1e-6), dtype)


@pytest.mark.parametrize("gain_dtype", DTYPES, ids=dtype_name)
@each_dtype
def test_task_1_has_the_dtype_of_x_whatever_that_of_the_gain(
    grade: Grader, dtype: mx.Dtype, gain_dtype: mx.Dtype
) -> None:
    """Checkpoints may store gains in another dtype than the activations."""
    x = normal(3, 8, dtype=dtype)
    weight = gain(8, gain_dtype)

    call = Call(RMS_NORM, (x,), build=(8, weight, 1e-6))

    grade.assert_close(call, layer_norm.rms_norm(x, weight, 1e-6), dtype)


def test_task_1_keeps_all_digits_of_the_gain(grade: Grader) -> None:
    """The call before is in half precision, which the gain is not."""
    x, weight = normal(3, 8), gain(8)
    before = x.astype(mx.float16)

    call = Call(RMS_NORM, (x,), build=(8, weight, 1e-6), earlier=((before,),))

    grade.assert_close(call, layer_norm.rms_norm(x, weight, 1e-6), mx.float32)


def test_task_1_knows_its_arguments_by_name(grade: Grader) -> None:
    x, weight = normal(4, 16, scale=3e-3), gain(16)
    named = {"dim": 16, "weight": weight, "eps": 1e-2}

    call = Call(RMS_NORM, (x,), build=(), named=named)

    grade.assert_close(call, layer_norm.rms_norm(x, weight, 1e-2), mx.float32)


@pytest.mark.parametrize("size", [100, 1000, 15000])
def test_task_1_squares_in_float32(grade: Grader, size: float) -> None:
    """The square of a float16 overflows from 256 on, the sum of squares earlier."""
    x = normal(3, 64, dtype=mx.float16, scale=size)
    weight = gain(64, mx.float16)

    call = Call(RMS_NORM, (x,), build=(64, weight, 1e-6))

    grade.assert_close(call, layer_norm.rms_norm(x, weight, 1e-6), mx.float16)


@each_dtype
@pytest.mark.parametrize("shape", [(5,), (2, 1), (3, 4, 7), (2, 2, 2, 3)], ids=str)
def test_task_2_silu_agrees_with_torch(
    grade: Grader, shape: tuple[int, ...], dtype: mx.Dtype
) -> None:
    x = normal(*shape, dtype=dtype, scale=3)

    call = Call(SILU, (x,))

    grade.assert_close(call, basics.silu(x), dtype)


@each_dtype
def test_task_2_silu_has_its_dip_and_its_tails(grade: Grader, dtype: mx.Dtype) -> None:
    """From the least value at -1.278 to where the exponential overflows."""
    dip = mx.linspace(-6, 6, 97)
    tails = mx.array([-1e4, -100.0, -20.0, -11.0, 11.0, 20.0, 100.0, 1e4])
    x = mx.concatenate([dip, tails]).astype(dtype)

    call = Call(SILU, (x,))

    grade.assert_close(call, basics.silu(x), dtype)


@each_dtype
@pytest.mark.parametrize(
    ("shape", "hidden_dim"),
    [((3, 4), 6), ((2, 1, 8), 5), ((2, 3, 5, 7), 16), ((1, 2, 64), 160)],
    ids=str,
)
def test_task_2_mlp_agrees_with_torch(
    grade: Grader, shape: tuple[int, ...], hidden_dim: int, dtype: mx.Dtype
) -> None:
    x = normal(*shape, dtype=dtype, scale=2)

    _assert_transforms(grade, x, hidden_dim)


def test_task_2_mlp_knows_its_arguments_by_name(grade: Grader) -> None:
    sizes = Architecture(hidden_size=8, intermediate_size=12)
    x, weights = normal(1, 3, 8), mlp_weights(sizes, mx.float32)

    call = Call(MLP, (x,), build=(), named=mlp_arguments(sizes, weights))

    grade.assert_close(call, feed_forward.swiglu(x, *weights.values()), x.dtype)


def test_task_2_mlp_agrees_at_the_size_of_qwen2(grade: Grader) -> None:
    """The width of Qwen2-0.5B, where a sum has 4864 terms."""
    _assert_transforms(grade, normal(1, 2, 896), 4864)


def test_task_2_mlp_survives_large_activations(grade: Grader) -> None:
    """The gate is far in both tails of the SiLU."""
    _assert_transforms(grade, normal(2, 3, 8, scale=100), 12)


def test_task_2_mlp_agrees_with_the_weights_of_a_trained_model(grade: Grader) -> None:
    """The last layer, on the vectors of some tokens."""
    sizes, weights = embedded()
    x = weights["model.embed_tokens.weight"][100:116][None]
    layer = sizes.num_hidden_layers - 1

    own = under(f"model.layers.{layer}.mlp.", weights)
    _assert_transforms(grade, x, sizes.intermediate_size, own)


def _assert_transforms(
    grade: Grader, x: mx.array, hidden_dim: int, known: Weights | None = None
) -> None:
    """Run the MLP, with random weights unless given; compare with PyTorch."""
    dim = x.shape[-1]
    sizes = Architecture(hidden_size=dim, intermediate_size=hidden_dim)
    weights = mlp_weights(sizes, x.dtype)
    if known:
        weights = {name: known[name] for name in weights}

    call = Call(MLP, (x,), build=(dim, hidden_dim, *weights.values()))

    grade.assert_close(call, feed_forward.swiglu(x, *weights.values()), x.dtype)
