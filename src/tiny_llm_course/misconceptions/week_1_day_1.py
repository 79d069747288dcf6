"""Day 1: what goes wrong in softmax, attention, linear layers and several heads."""

import mlx.core as mx

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.attention import scaled_dot_product_attention_simple as attention
from tiny_llm_ref.basics import linear, softmax

SOFTMAX = "basics.softmax"
ATTENTION = "attention.scaled_dot_product_attention_simple"
LINEAR = "basics.linear"
MULTI_HEAD = "attention.SimpleMultiHeadAttention"

Array = mx.array
Mask = mx.array | None
Bias = mx.array | None
Scale = float | None


@specimen(1, symbol=SOFTMAX)
def maximum_not_subtracted(x: Array, axis: int) -> Array:
    exponentials = mx.exp(x)
    return exponentials / mx.sum(exponentials, axis=axis, keepdims=True)


@specimen(1, symbol=SOFTMAX)
def maximum_over_all_axes(x: Array, axis: int) -> Array:
    exponentials = mx.exp(x - mx.max(x))
    return exponentials / mx.sum(exponentials, axis=axis, keepdims=True)


@specimen(1, symbol=SOFTMAX)
def maximum_only_above_the_line(x: Array, axis: int) -> Array:
    exponentials = mx.exp(x - mx.max(x, axis=axis, keepdims=True))
    return exponentials / mx.sum(mx.exp(x), axis=axis, keepdims=True)


@specimen(1, symbol=SOFTMAX)
def sum_over_all_axes(x: Array, axis: int) -> Array:
    exponentials = mx.exp(x - mx.max(x, axis=axis, keepdims=True))
    return exponentials / mx.sum(exponentials)


@specimen(1, symbol=SOFTMAX)
def always_the_last_axis(x: Array, axis: int) -> Array:
    del axis
    return softmax(x, -1)


@specimen(1, symbol=SOFTMAX)
def keepdims_forgotten(x: Array, axis: int) -> Array:
    exponentials = mx.exp(x - mx.max(x, axis=axis, keepdims=True))
    return exponentials / mx.sum(exponentials, axis=axis)


@specimen(1, symbol=SOFTMAX)
def softmax_left_in_float32(x: Array, axis: int) -> Array:
    return softmax(x.astype(mx.float32), axis)


@specimen(1, symbol=SOFTMAX)
def maximum_subtracted_in_place(x: Array, axis: int) -> Array:
    x -= mx.max(x, axis=axis, keepdims=True)
    exponentials = mx.exp(x)
    return exponentials / mx.sum(exponentials, axis=axis, keepdims=True)


def _factor(query: Array, scale: Scale) -> float:
    """Return the factor on the scores, rightly."""
    return query.shape[-1] ** -0.5 if scale is None else scale


def _scores(query: Array, key: Array, scale: Scale) -> Array:
    """Return the score of every key for every query, rightly."""
    return query @ key.swapaxes(-2, -1) * _factor(query, scale)


def _collected(scores: Array, value: Array, mask: Mask) -> Array:
    """Collect the values by their scores, rightly."""
    return softmax(scores if mask is None else scores + mask, -1) @ value


@specimen(1, symbol=ATTENTION)
def scores_not_scaled(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    return attention(query, key, value, 1.0 if scale is None else scale, mask)


@specimen(1, symbol=ATTENTION)
def scores_divided_by_the_width(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    factor = 1 / query.shape[-1] if scale is None else scale
    return attention(query, key, value, factor, mask)


@specimen(1, symbol=ATTENTION)
def scores_multiplied_by_the_root(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    factor = query.shape[-1] ** 0.5 if scale is None else scale
    return attention(query, key, value, factor, mask)


@specimen(1, symbol=ATTENTION)
def given_scale_ignored(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    del scale
    return attention(query, key, value, None, mask)


@specimen(1, symbol=ATTENTION)
def scale_0_taken_for_none(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    return attention(query, key, value, scale or None, mask)


@specimen(1, symbol=ATTENTION)
def scores_divided_by_the_root_of_the_length(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    factor = query.shape[-2] ** -0.5 if scale is None else scale
    return attention(query, key, value, factor, mask)


@specimen(1, symbol=ATTENTION)
def divided_by_the_given_scale(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    divisor = query.shape[-1] ** 0.5 if scale is None else scale
    return attention(query, key, value, 1 / divisor, mask)


@specimen(1, symbol=ATTENTION)
def mask_ignored(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    del mask
    return attention(query, key, value, scale)


@specimen(1, symbol=ATTENTION)
def mask_multiplied(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    scores = _scores(query, key, scale)
    return softmax(scores if mask is None else scores * mask, -1) @ value


@specimen(1, symbol=ATTENTION)
def mask_read_as_true_and_false(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    scores = _scores(query, key, scale)
    if mask is not None:
        scores = mx.where(mask, scores, -mx.inf)
    return softmax(scores, -1) @ value


@specimen(1, symbol=ATTENTION)
def mask_read_as_zero_or_not(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    scores = _scores(query, key, scale)
    if mask is not None:
        scores = mx.where(mask == 0, scores, -mx.inf)
    return softmax(scores, -1) @ value


@specimen(1, symbol=ATTENTION)
def mask_added_after_the_softmax(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    shares = softmax(_scores(query, key, scale), -1)
    return (shares if mask is None else shares + mask) @ value


@specimen(1, symbol=ATTENTION)
def mask_scaled_with_the_scores(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    scores = query @ key.swapaxes(-2, -1)
    scores = scores if mask is None else scores + mask
    return softmax(scores * _factor(query, scale), -1) @ value


@specimen(1, symbol=ATTENTION)
def mask_asked_for_its_truth(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    return attention(query, key, value, scale, mask if mask else None)


@specimen(1, symbol=ATTENTION)
def softmax_over_the_queries(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    scores = _scores(query, key, scale)
    return softmax(scores if mask is None else scores + mask, -2) @ value


@specimen(1, symbol=ATTENTION)
def softmax_inline_without_the_maximum(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    scores = _scores(query, key, scale)
    return maximum_not_subtracted(scores if mask is None else scores + mask, -1) @ value


@specimen(1, symbol=ATTENTION)
def all_axes_of_the_key_reversed(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    scores = query @ key.T * _factor(query, scale)
    return _collected(scores, value, mask)


@specimen(1, symbol=ATTENTION)
def three_axes_assumed(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    scores = query @ key.transpose(0, 2, 1) * _factor(query, scale)
    return _collected(scores, value, mask)


@specimen(1, symbol=ATTENTION)
def four_axes_assumed(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    scores = query @ key.transpose(0, 1, 3, 2) * _factor(query, scale)
    return _collected(scores, value, mask)


@specimen(1, symbol=ATTENTION)
def key_reshaped_for_transposed(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    turned = key.reshape(*key.shape[:-2], key.shape[-1], key.shape[-2])
    return _collected(query @ turned * _factor(query, scale), value, mask)


@specimen(1, symbol=ATTENTION)
def keys_collected_for_values(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    del value
    return attention(query, key, key, scale, mask)


@specimen(1, symbol=ATTENTION)
def attention_left_in_float32(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    return attention(
        query.astype(mx.float32),
        key.astype(mx.float32),
        value.astype(mx.float32),
        scale,
        mask,
    )


@specimen(1, symbol=ATTENTION)
def scale_made_an_array(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    factor = mx.rsqrt(mx.array(query.shape[-1])) if scale is None else scale
    return _collected(query @ key.swapaxes(-2, -1) * factor, value, mask)


@specimen(1, symbol=ATTENTION)
def query_scaled_in_place(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    query *= _factor(query, scale)
    return attention(query, key, value, 1.0, mask)


@specimen(2, symbol=LINEAR)
def weight_not_transposed(x: Array, w: Array, bias: Bias = None) -> Array:
    return x @ w if bias is None else x @ w + bias


@specimen(2, symbol=LINEAR)
def bias_ignored(x: Array, w: Array, bias: Bias = None) -> Array:
    del bias
    return x @ w.T


@specimen(2, symbol=LINEAR)
def bias_asked_for_its_truth(x: Array, w: Array, bias: Bias = None) -> Array:
    return x @ w.T + bias if bias else x @ w.T


@specimen(2, symbol=LINEAR)
def bias_under_another_name(x: Array, w: Array, b: Bias = None) -> Array:
    return linear(x, w, b)


@specimen(2, symbol=LINEAR)
def linear_left_in_float32(x: Array, w: Array, bias: Bias = None) -> Array:
    return linear(x.astype(mx.float32), w.astype(mx.float32), bias)


class _InSteps:
    """Multi-head attention in steps, of which each mistake below replaces one."""

    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        wq: Array,
        wk: Array,
        wv: Array,
        wo: Array,
    ) -> None:
        self.hidden_size = hidden_size
        self.num_heads = num_heads
        self.wq, self.wk, self.wv, self.wo = wq, wk, wv, wo

    def __call__(
        self, query: Array, key: Array, value: Array, mask: Mask = None
    ) -> Array:
        heads = self.attend(
            self.split(self.project(query, self.wq)),
            self.split(self.project(key, self.wk)),
            self.split(self.project(value, self.wv)),
            mask,
        )
        return self.mix(self.merge(heads))

    def project(self, x: Array, w: Array) -> Array:
        return linear(x, w)

    def split(self, x: Array) -> Array:
        return mx.unflatten(x, -1, (self.num_heads, -1)).swapaxes(-3, -2)

    def attend(self, query: Array, key: Array, value: Array, mask: Mask) -> Array:
        return attention(query, key, value, mask=mask)

    def merge(self, heads: Array) -> Array:
        return mx.flatten(heads.swapaxes(-3, -2), -2, -1)

    def mix(self, x: Array) -> Array:
        return self.project(x, self.wo)


@specimen(2, symbol=MULTI_HEAD)
class weights_not_transposed(_InSteps):
    def project(self, x: Array, w: Array) -> Array:
        return x @ w


@specimen(2, symbol=MULTI_HEAD)
class heads_split_without_transpose(_InSteps):
    def split(self, x: Array) -> Array:
        *batch, length, _ = x.shape
        return x.reshape(*batch, self.num_heads, length, -1)


@specimen(2, symbol=MULTI_HEAD)
class heads_merged_without_transpose(_InSteps):
    def merge(self, heads: Array) -> Array:
        *batch, _, length, _ = heads.shape
        return heads.reshape(*batch, length, -1)


@specimen(2, symbol=MULTI_HEAD)
class heads_never_transposed(heads_split_without_transpose):
    merge = heads_merged_without_transpose.merge


@specimen(2, symbol=MULTI_HEAD)
class one_batch_axis_assumed(_InSteps):
    def split(self, x: Array) -> Array:
        batch, length, _ = x.shape
        return x.reshape(batch, length, self.num_heads, -1).transpose(0, 2, 1, 3)

    def merge(self, heads: Array) -> Array:
        batch, _, length, _ = heads.shape
        return heads.transpose(0, 2, 1, 3).reshape(batch, length, -1)


@specimen(2, symbol=MULTI_HEAD)
class first_axes_taken_for_batch_and_length(_InSteps):
    def split(self, x: Array) -> Array:
        split = x.reshape(x.shape[0], x.shape[1], self.num_heads, -1)
        return split.transpose(0, 2, 1, 3)

    def merge(self, heads: Array) -> Array:
        merged = heads.transpose(0, 2, 1, 3)
        return merged.reshape(merged.shape[0], merged.shape[1], -1)


@specimen(2, symbol=MULTI_HEAD)
class arguments_under_other_names(_InSteps):
    def __call__(self, q: Array, k: Array, v: Array, mask: Mask = None) -> Array:  # pyright: ignore[reportIncompatibleMethodOverride]
        return super().__call__(q, k, v, mask)


@specimen(2, symbol=MULTI_HEAD)
class heads_attend_to_each_other(_InSteps):
    def split(self, x: Array) -> Array:
        return mx.unflatten(x, -1, (self.num_heads, -1))

    def merge(self, heads: Array) -> Array:
        return mx.flatten(heads, -2, -1)


@specimen(2, symbol=MULTI_HEAD)
class head_count_and_width_swapped(_InSteps):
    def split(self, x: Array) -> Array:
        return mx.moveaxis(mx.unflatten(x, -1, (-1, self.num_heads)), -1, -3)


@specimen(2, symbol=MULTI_HEAD)
class one_head_whatever_the_number(_InSteps):
    def split(self, x: Array) -> Array:
        return x[..., None, :, :]


@specimen(2, symbol=MULTI_HEAD)
class scaled_by_the_hidden_size(_InSteps):
    def attend(self, query: Array, key: Array, value: Array, mask: Mask) -> Array:
        return attention(query, key, value, self.hidden_size**-0.5, mask)


@specimen(2, symbol=MULTI_HEAD)
class mask_not_passed_on(_InSteps):
    def attend(self, query: Array, key: Array, value: Array, mask: Mask) -> Array:
        del mask
        return attention(query, key, value)


@specimen(2, symbol=MULTI_HEAD)
class output_projection_forgotten(_InSteps):
    def mix(self, x: Array) -> Array:
        return x


@specimen(2, symbol=MULTI_HEAD)
class key_and_value_taken_from_the_query(_InSteps):
    def __call__(
        self, query: Array, key: Array, value: Array, mask: Mask = None
    ) -> Array:
        del key, value
        return super().__call__(query, query, query, mask)


@specimen(2, symbol=MULTI_HEAD)
class values_projected_with_wk(_InSteps):
    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        wq: Array,
        wk: Array,
        wv: Array,
        wo: Array,
    ) -> None:
        del wv
        super().__init__(hidden_size, num_heads, wq, wk, wk, wo)
