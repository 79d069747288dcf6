"""An output is right when it is as close to the truth as its dtype permits."""

import mlx.core as mx
import numpy as np
import pytest

from tiny_llm_course.grading.judgement.closeness import (
    ALLOWED_ULPS,
    Truth,
    epsilon,
    is_close,
    ulps_off,
)
from tiny_llm_course.grading.judgement.inputs import each_dtype, gain, normal, weight
from tiny_llm_course.grading.judgement.verdict import is_equal
from tiny_llm_course.oracle import attention, basics, layer_norm


def truth(*values: float, scale: float | None = None) -> Truth:
    """Return a truth with itself or `scale` as error scale."""
    value = np.array(values)
    return Truth(value, np.abs(value) if scale is None else np.full_like(value, scale))


@each_dtype
def test_a_unit_is_the_step_from_1_to_the_next_number(dtype: mx.Dtype) -> None:
    one = mx.array(1.0).astype(dtype)
    step = mx.array(epsilon(dtype)).astype(dtype)

    assert (one + step).item() > 1
    assert (one + step / 2).item() == 1


@each_dtype
@pytest.mark.parametrize("size", [1.0, 1024.0, 2.0**-4])
def test_units_grow_with_the_scale(dtype: mx.Dtype, size: float) -> None:
    got = (size * mx.array([1.0, 1 + epsilon(dtype), 1 - 4 * epsilon(dtype)])).astype(
        dtype
    )

    off = ulps_off(got, truth(size, size, size))

    np.testing.assert_allclose(off, [0, 1, 4], rtol=1e-2)


def test_units_are_those_of_the_largest_terms_where_these_cancel() -> None:
    got = mx.array([0.0])

    off = ulps_off(got, truth(2.0**-21, scale=2.0))

    np.testing.assert_allclose(off, [2.0])


@each_dtype
@pytest.mark.parametrize(("ulps", "is_right"), [(1, True), (4, True), (5, False)])
def test_a_few_units_are_allowed_and_no_more(
    dtype: mx.Dtype, ulps: int, *, is_right: bool
) -> None:
    """One step of the dtype is one unit at 1."""
    got = mx.array([1 + ulps * epsilon(dtype)]).astype(dtype)

    assert is_close(got, truth(1.0)) == is_right
    assert ALLOWED_ULPS == 4


@each_dtype
def test_one_wrong_entry_of_many_is_wrong(dtype: mx.Dtype) -> None:
    got = mx.ones(100).astype(dtype)
    got[37] = 1 + 8 * epsilon(dtype)

    assert not is_close(got, truth(*[1.0] * 100))
    assert np.flatnonzero(ulps_off(got, truth(*[1.0] * 100))).tolist() == [37]


@each_dtype
@pytest.mark.parametrize(
    ("value", "expected", "is_right"),
    [
        (np.inf, np.inf, True),
        (-np.inf, -np.inf, True),
        (np.nan, np.nan, True),
        (np.inf, -np.inf, False),
        (np.inf, 1.0, False),
        (1.0, np.inf, False),
        (np.nan, 1.0, False),
        (1.0, np.nan, False),
        (np.nan, np.inf, False),
    ],
)
def test_infinity_and_nan_are_right_only_where_they_are_expected(
    value: float, expected: float, dtype: mx.Dtype, *, is_right: bool
) -> None:
    got = mx.array([value]).astype(dtype)

    assert is_close(got, truth(expected, scale=1.0)) == is_right
    assert ulps_off(got, truth(expected, scale=1.0))[0] == (0 if is_right else np.inf)


@each_dtype
def test_a_scale_of_0_asks_for_the_number_itself(dtype: mx.Dtype) -> None:
    """A value that is looked up or copied is not rounded."""
    exact = truth(1.0, 0.0, scale=0.0)

    assert is_close(mx.array([1.0, 0.0]).astype(dtype), exact)
    assert not is_close(mx.array([1 + epsilon(dtype), 0.0]).astype(dtype), exact)
    assert not is_close(mx.array([1.0, 1e-5]).astype(dtype), exact)


def test_numbers_below_the_smallest_normal_one_may_be_lost() -> None:
    """Float16 steps by 2^-24 there, and processors may flush float32 to 0."""
    assert is_close(mx.array([0.0]).astype(mx.float16), truth(2.0**-24))
    assert is_close(mx.array([0.0]), truth(2.0**-127))


@pytest.mark.parametrize("shape", [(3,), (1, 2), (2, 1), ()])
def test_another_shape_is_wrong_even_if_it_broadcasts(shape: tuple[int, ...]) -> None:
    assert not is_close(mx.ones(shape), truth(1.0, 1.0))


@pytest.mark.parametrize("dtype", [mx.int32, mx.bool_])
def test_numbers_without_precision_are_right_when_equal(dtype: mx.Dtype) -> None:
    assert is_close(mx.array([1, 0]).astype(dtype), truth(1.0, 0.0, scale=1.0))
    assert not is_close(mx.array([1, 1]).astype(dtype), truth(1.0, 0.0, scale=1.0))


each_seed = pytest.mark.parametrize("seed", range(5))


@each_seed
@each_dtype
@pytest.mark.parametrize("num_terms", [7, 64, 896])
@pytest.mark.parametrize("num_parts", [1, 7])
def test_a_product_is_right_in_any_order(
    seed: int, dtype: mx.Dtype, num_terms: int, num_parts: int
) -> None:
    """Kernels on CPU, Metal and CUDA cut the same sum into different pieces."""
    x = normal(3, num_terms, dtype=dtype, name=f"x {seed}")
    w = weight(5, num_terms, dtype, f"w {seed}")
    order = mx.array(np.random.default_rng(seed).permutation(num_terms))

    parts = mx.split(order[: num_terms // num_parts * num_parts], num_parts)
    parts.append(order[num_terms // num_parts * num_parts :])
    wide_x, wide_w = x.astype(mx.float32), w.astype(mx.float32)
    products = [wide_x[:, part] @ wide_w[:, part].T for part in parts]

    assert is_close(sum(products[1:], products[0]).astype(dtype), basics.linear(x, w))


@each_seed
@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16], ids=str)
def test_a_product_summed_in_half_precision_is_wrong(
    seed: int, dtype: mx.Dtype
) -> None:
    """Each of the 896 roundings costs half a unit of the sum so far."""
    x = normal(3, 896, dtype=dtype, name=f"x {seed}")
    w = weight(5, 896, dtype, f"w {seed}")

    total = mx.zeros((3, 5), dtype)
    for term in range(896):
        total = total + x[:, term, None] * w[:, term]

    assert not is_close(total, basics.linear(x, w))


@each_seed
@each_dtype
def test_softmax_is_right_in_float32_and_in_its_own_dtype(
    seed: int, dtype: mx.Dtype
) -> None:
    x = normal(4, 33, dtype=dtype, scale=3, name=str(seed))

    own = mx.exp(x - x.max(axis=-1, keepdims=True))
    wide = mx.exp(x.astype(mx.float32) - x.max(axis=-1, keepdims=True))

    for one in (own, wide):
        got = (one / one.sum(axis=-1, keepdims=True)).astype(dtype)
        assert is_close(got, basics.softmax(x, -1))


@each_seed
@each_dtype
def test_a_norm_is_right_with_its_gain_before_and_after_rounding(
    seed: int, dtype: mx.Dtype
) -> None:
    x = normal(4, 64, dtype=dtype, name=str(seed))
    weights = gain(64, dtype, str(seed))
    wide = x.astype(mx.float32)
    unit = wide * mx.rsqrt((wide * wide).mean(axis=-1, keepdims=True) + 1e-6)

    before = (unit * weights).astype(dtype)
    after = unit.astype(dtype) * weights

    assert is_close(before, layer_norm.rms_norm(x, weights, 1e-6))
    assert is_close(after, layer_norm.rms_norm(x, weights, 1e-6))


@each_seed
def test_a_norm_is_right_with_its_squares_added_one_by_one(seed: int) -> None:
    """MLX on a CPU adds them that way; the width is that of Qwen2-0.5B's MLP."""
    x = normal(4, 4864, name=str(seed))

    total = mx.array(np.cumsum(np.array(x) ** 2, axis=-1)[:, -1:])
    got = x * mx.rsqrt(total / 4864 + 1e-6)

    assert is_close(got, layer_norm.rms_norm(x, mx.ones(4864), 1e-6))


@each_seed
def test_a_norm_with_its_squares_added_in_half_precision_is_wrong(seed: int) -> None:
    x = normal(4, 896, dtype=mx.float16, name=str(seed))

    total = mx.array(np.cumsum(np.array(x) ** 2, axis=-1)[:, -1:])
    got = x * mx.rsqrt(total / 896 + 1e-6)

    assert got.dtype == total.dtype == mx.float16
    assert not is_close(got, layer_norm.rms_norm(x, mx.ones(896), 1e-6))


@each_seed
@each_dtype
def test_attention_is_right_whichever_factor_is_scaled(
    seed: int, dtype: mx.Dtype
) -> None:
    query, key, value = (
        normal(2, 5, 16, dtype=dtype, name=f"{name} {seed}") for name in "qkv"
    )
    expected = attention.attention(query, key, value)

    scaled_query = mx.softmax(query / 4 @ key.mT, axis=-1) @ value
    scaled_scores = mx.softmax(query @ key.mT / 4, axis=-1) @ value

    assert is_close(scaled_query, expected)
    assert is_close(scaled_scores, expected)


def test_a_large_number_is_compared_with_an_array() -> None:
    """MLX cannot make an int32 of it, and raises."""
    assert not is_equal(3784704000, mx.array([1, 2]))
    assert is_equal(mx.array([1, 2]), mx.array([1, 2]))
