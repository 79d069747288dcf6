"""Day 3: what goes wrong in grouped attention, its mask, and the layer of Qwen2."""

from typing import Literal

import mlx.core as mx

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.attention import causal_mask
from tiny_llm_ref.attention import scaled_dot_product_attention_grouped as grouped
from tiny_llm_ref.basics import linear, softmax
from tiny_llm_ref.positional_encoding import RoPE

GROUPED = "attention.scaled_dot_product_attention_grouped"
CAUSAL_MASK = "attention.causal_mask"
ATTENTION = "qwen2_week1.Qwen2MultiHeadAttention"

Array = mx.array
Mask = mx.array | Literal["causal"] | None
Scale = float | None


def _repeated(x: Array, query: Array) -> Array:
    """Give every query head a key or value head of its own, rightly."""
    return mx.repeat(x, query.shape[-3] // x.shape[-3], axis=-3)


def _attended(
    query: Array, key: Array, value: Array, scale: Scale, mask: Mask
) -> Array:
    """Attend without groups, rightly, whatever the dtype of the mask."""
    scores = query @ key.swapaxes(-2, -1)
    scores = scores * (query.shape[-1] ** -0.5 if scale is None else scale)
    if mask == "causal":
        mask = causal_mask(query.shape[-2], key.shape[-2], query.dtype)
    return softmax(scores if mask is None else scores + mask, -1) @ value


@specimen(1, symbol=GROUPED)
def key_heads_taken_in_turns(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    times = (query.shape[-3] // key.shape[-3], 1, 1)
    return grouped(query, mx.tile(key, times), mx.tile(value, times), scale, mask)


@specimen(1, symbol=GROUPED)
def repeated_along_the_tokens(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    times = query.shape[-3] // key.shape[-3]
    key, value = (mx.repeat(one, times, axis=-2) for one in (key, value))
    return _attended(query, key, value, scale, mask)


@specimen(1, symbol=GROUPED)
def one_batch_axis_assumed(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    batch, num_heads, num_queries, width = query.shape
    output = grouped(query, key, value, scale, mask)
    return output.reshape(batch, num_heads, num_queries, width)


@specimen(1, symbol=GROUPED)
def heads_left_in_groups(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    output = grouped(query, key, value, scale, mask)
    return mx.unflatten(output, -3, (key.shape[-3], -1))


@specimen(1, symbol=GROUPED)
def mask_not_grouped(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    groups = mx.unflatten(query, -3, (key.shape[-3], -1))
    key, value = key[..., None, :, :], value[..., None, :, :]
    return mx.flatten(_attended(groups, key, value, scale, mask), -4, -3)


@specimen(1, symbol=GROUPED)
def mask_ignored(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    del mask
    return grouped(query, key, value, scale)


@specimen(1, symbol=GROUPED)
def scores_not_scaled(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    return grouped(query, key, value, 1.0 if scale is None else scale, mask)


@specimen(1, symbol=GROUPED)
def given_scale_ignored(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    del scale
    return grouped(query, key, value, None, mask)


@specimen(1, symbol=GROUPED)
def scale_0_taken_for_none(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    return grouped(query, key, value, scale or None, mask)


@specimen(1, symbol=GROUPED)
def more_queries_than_keys_refused(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    causal_mask(query.shape[-2], key.shape[-2], query.dtype)
    return grouped(query, key, value, scale, mask)


@specimen(1, symbol=GROUPED)
def grouped_left_in_float32(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    query, key, value = (one.astype(mx.float32) for one in (query, key, value))
    return grouped(query, key, value, scale, mask)


@specimen(1, symbol=GROUPED)
def scale_made_an_array(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    factor = mx.rsqrt(mx.array(query.shape[-1])) if scale is None else scale
    key, value = (_repeated(one, query) for one in (key, value))
    scores = query @ key.swapaxes(-2, -1) * factor
    if mask == "causal":
        mask = causal_mask(query.shape[-2], key.shape[-2], query.dtype)
    return softmax(scores if mask is None else scores + mask, -1) @ value


def _minus_infinity_where(forbidden: Array, dtype: mx.Dtype) -> Array:
    """Return 0 elsewhere, rightly."""
    return mx.where(forbidden, -mx.inf, 0.0).astype(dtype)


@specimen(2, symbol=CAUSAL_MASK)
def aligned_to_the_first_key(L: int, S: int, dtype: mx.Dtype) -> Array:  # noqa: N803
    return _minus_infinity_where(mx.triu(mx.ones((L, S)), k=1), dtype)


@specimen(2, symbol=CAUSAL_MASK)
def own_position_forbidden(L: int, S: int, dtype: mx.Dtype) -> Array:  # noqa: N803
    return _minus_infinity_where(mx.triu(mx.ones((L, S)), k=S - L), dtype)


@specimen(2, symbol=CAUSAL_MASK)
def next_position_allowed(L: int, S: int, dtype: mx.Dtype) -> Array:  # noqa: N803
    return _minus_infinity_where(mx.triu(mx.ones((L, S)), k=S - L + 2), dtype)


@specimen(2, symbol=CAUSAL_MASK)
def past_forbidden(L: int, S: int, dtype: mx.Dtype) -> Array:  # noqa: N803
    return _minus_infinity_where(mx.tril(mx.ones((L, S)), k=S - L - 1), dtype)


@specimen(2, symbol=CAUSAL_MASK)
def allowed_and_forbidden_swapped(L: int, S: int, dtype: mx.Dtype) -> Array:  # noqa: N803
    return _minus_infinity_where(mx.tril(mx.ones((L, S)), k=S - L), dtype)


@specimen(2, symbol=CAUSAL_MASK)
def ones_and_zeros(L: int, S: int, dtype: mx.Dtype) -> Array:  # noqa: N803
    return mx.tril(mx.ones((L, S)), k=S - L).astype(dtype)


@specimen(2, symbol=CAUSAL_MASK)
def true_and_false(L: int, S: int, dtype: mx.Dtype) -> Array:  # noqa: N803
    del dtype
    return mx.tril(mx.ones((L, S)), k=S - L).astype(mx.bool_)


@specimen(2, symbol=CAUSAL_MASK)
def zero_times_infinity(L: int, S: int, dtype: mx.Dtype) -> Array:  # noqa: N803
    return mx.triu(mx.ones((L, S), dtype=dtype), k=S - L + 1) * -mx.inf


@specimen(2, symbol=CAUSAL_MASK)
def large_number_for_infinity(L: int, S: int, dtype: mx.Dtype) -> Array:  # noqa: N803
    return (mx.triu(mx.ones((L, S)), k=S - L + 1) * -1e9).astype(dtype)


@specimen(2, symbol=CAUSAL_MASK)
def dtype_ignored(L: int, S: int, dtype: mx.Dtype) -> Array:  # noqa: N803
    del dtype
    return causal_mask(L, S, mx.float32)


@specimen(2, symbol=CAUSAL_MASK)
def as_many_keys_as_queries(L: int, S: int, dtype: mx.Dtype) -> Array:  # noqa: N803
    del S
    return causal_mask(L, L, dtype)


@specimen(2, symbol=GROUPED)
def name_of_the_mask_ignored(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    return grouped(query, key, value, scale, None if mask == "causal" else mask)


@specimen(2, symbol=GROUPED)
def named_mask_from_the_first_key(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    if mask == "causal":
        num_queries, num_keys = query.shape[-2], key.shape[-2]
        mask = aligned_to_the_first_key(num_queries, num_keys, query.dtype)
    return grouped(query, key, value, scale, mask)


@specimen(2, symbol=GROUPED)
def named_mask_of_a_finite_number(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    if mask == "causal":
        mask = causal_mask(query.shape[-2], key.shape[-2], query.dtype)
        mask = mx.maximum(mask, -1e4).astype(query.dtype)
    return grouped(query, key, value, scale, mask)


@specimen(2, symbol=GROUPED)
def named_mask_in_float32(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    if mask == "causal":
        mask = causal_mask(query.shape[-2], key.shape[-2], mx.float32)
    key, value = _repeated(key, query), _repeated(value, query)
    return _attended(query, key, value, scale, mask)


class _InSteps:
    """The attention of Qwen2 in steps, of which each mistake below replaces one."""

    def __init__(  # noqa: PLR0913, PLR0917 - the course's public names fix these
        self,
        hidden_size: int,
        num_heads: int,
        num_kv_heads: int,
        wq: Array,
        wk: Array,
        wv: Array,
        wo: Array,
        bq: Array,
        bk: Array,
        bv: Array,
        max_seq_len: int = 32768,
        theta: float = 1000000,
    ) -> None:
        self.hidden_size = hidden_size
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.wq, self.wk, self.wv, self.wo = wq, wk, wv, wo
        self.bq, self.bk, self.bv = bq, bk, bv
        self.rope = self.rotation(hidden_size // num_heads, max_seq_len, theta)

    def __call__(self, x: Array, mask: Mask = None) -> Array:
        query = self.split(self.project(x, self.wq, self.bq), self.num_heads)
        key = self.split(self.project(x, self.wk, self.bk), self.num_kv_heads)
        value = self.split(self.project(x, self.wv, self.bv), self.num_kv_heads)
        query, key, value = self.rotate(query, key, value)
        heads = self.attend(
            query.swapaxes(1, 2), key.swapaxes(1, 2), value.swapaxes(1, 2), mask
        )
        return self.mix(self.merge(heads))

    def rotation(self, width: int, max_seq_len: int, theta: float) -> RoPE:
        return RoPE(width, max_seq_len, theta)

    def project(self, x: Array, w: Array, bias: Array) -> Array:
        return linear(x, w, bias)

    def split(self, x: Array, num_heads: int) -> Array:
        return mx.unflatten(x, -1, (num_heads, -1))

    def rotate(
        self, query: Array, key: Array, value: Array
    ) -> tuple[Array, Array, Array]:
        return self.rope(query), self.rope(key), value

    def attend(self, query: Array, key: Array, value: Array, mask: Mask) -> Array:
        return grouped(query, key, value, mask=mask)

    def merge(self, heads: Array) -> Array:
        return mx.flatten(heads.swapaxes(1, 2), -2, -1)

    def mix(self, x: Array) -> Array:
        return linear(x, self.wo)


@specimen(3, symbol=ATTENTION)
class biases_forgotten(_InSteps):
    def project(self, x: Array, w: Array, bias: Array) -> Array:
        del bias
        return linear(x, w)


@specimen(3, symbol=ATTENTION)
class value_bias_forgotten(_InSteps):
    def project(self, x: Array, w: Array, bias: Array) -> Array:
        return linear(x, w, None if w is self.wv else bias)


@specimen(3, symbol=ATTENTION)
class query_bias_forgotten(_InSteps):
    def project(self, x: Array, w: Array, bias: Array) -> Array:
        return linear(x, w, None if w is self.wq else bias)


@specimen(3, symbol=ATTENTION)
class key_bias_forgotten(_InSteps):
    def project(self, x: Array, w: Array, bias: Array) -> Array:
        return linear(x, w, None if w is self.wk else bias)


@specimen(3, symbol=ATTENTION)
class biases_added_after_the_rotation(biases_forgotten):
    def rotate(
        self, query: Array, key: Array, value: Array
    ) -> tuple[Array, Array, Array]:
        return (
            self.rope(query) + self.split(self.bq, self.num_heads),
            self.rope(key) + self.split(self.bk, self.num_kv_heads),
            value + self.split(self.bv, self.num_kv_heads),
        )


@specimen(3, symbol=ATTENTION)
class rotation_forgotten(_InSteps):
    def rotate(
        self, query: Array, key: Array, value: Array
    ) -> tuple[Array, Array, Array]:
        return query, key, value


@specimen(3, symbol=ATTENTION)
class keys_not_rotated(_InSteps):
    def rotate(
        self, query: Array, key: Array, value: Array
    ) -> tuple[Array, Array, Array]:
        return self.rope(query), key, value


@specimen(3, symbol=ATTENTION)
class values_rotated(_InSteps):
    def rotate(
        self, query: Array, key: Array, value: Array
    ) -> tuple[Array, Array, Array]:
        return self.rope(query), self.rope(key), self.rope(value)


@specimen(3, symbol=ATTENTION)
class rotated_by_head_number(_InSteps):
    def rotate(
        self, query: Array, key: Array, value: Array
    ) -> tuple[Array, Array, Array]:
        query = self.rope(query.swapaxes(1, 2)).swapaxes(1, 2)
        key = self.rope(key.swapaxes(1, 2)).swapaxes(1, 2)
        return query, key, value


@specimen(3, symbol=ATTENTION)
class neighbours_rotated(_InSteps):
    def rotation(self, width: int, max_seq_len: int, theta: float) -> RoPE:
        return RoPE(width, max_seq_len, theta, traditional=True)


@specimen(3, symbol=ATTENTION)
class theta_not_passed_on(_InSteps):
    def rotation(self, width: int, max_seq_len: int, theta: float) -> RoPE:
        del theta
        return RoPE(width, max_seq_len)


@specimen(3, symbol=ATTENTION)
class table_of_64_positions(_InSteps):
    def rotation(self, width: int, max_seq_len: int, theta: float) -> RoPE:
        del max_seq_len
        return RoPE(width, 64, theta)


@specimen(3, symbol=ATTENTION)
class positions_counted_on(_InSteps):
    num_seen = 0

    def rotate(
        self, query: Array, key: Array, value: Array
    ) -> tuple[Array, Array, Array]:
        first, self.num_seen = self.num_seen, self.num_seen + query.shape[1]
        positions = slice(first, self.num_seen)
        return self.rope(query, positions), self.rope(key, positions), value


@specimen(3, symbol=ATTENTION)
class keys_kept_from_the_last_call(_InSteps):
    kept: tuple[Array, Array] | None = None

    def attend(self, query: Array, key: Array, value: Array, mask: Mask) -> Array:
        if self.kept:
            key, value = (
                mx.concatenate([old, new], axis=2)
                for old, new in zip(self.kept, (key, value), strict=True)
            )
        self.kept = (key, value)
        return grouped(query, key, value, mask=mask)


@specimen(3, symbol=ATTENTION)
class arguments_under_other_names(_InSteps):
    def __init__(  # noqa: PLR0913, PLR0917 - the course's public names fix these
        self,
        hidden_size: int,
        num_heads: int,
        num_kv_heads: int,
        wq: Array,
        wk: Array,
        wv: Array,
        wo: Array,
        bq: Array,
        bk: Array,
        bv: Array,
        max_len: int = 32768,
        base: float = 1000000,
    ) -> None:
        weights = (wq, wk, wv, wo, bq, bk, bv)
        super().__init__(hidden_size, num_heads, num_kv_heads, *weights, max_len, base)


@specimen(3, symbol=ATTENTION)
class mask_not_passed_on(_InSteps):
    def attend(self, query: Array, key: Array, value: Array, mask: Mask) -> Array:
        del mask
        return grouped(query, key, value)


@specimen(3, symbol=ATTENTION)
class always_causal(_InSteps):
    def attend(self, query: Array, key: Array, value: Array, mask: Mask) -> Array:
        del mask
        return grouped(query, key, value, mask="causal")


@specimen(3, symbol=ATTENTION)
class heads_not_grouped(_InSteps):
    def attend(self, query: Array, key: Array, value: Array, mask: Mask) -> Array:
        return _attended(query, key, value, None, mask)


@specimen(3, symbol=ATTENTION)
class scaled_by_the_hidden_size(_InSteps):
    def attend(self, query: Array, key: Array, value: Array, mask: Mask) -> Array:
        return grouped(query, key, value, self.hidden_size**-0.5, mask)


@specimen(3, symbol=ATTENTION)
class heads_merged_without_transpose(_InSteps):
    def merge(self, heads: Array) -> Array:
        return heads.reshape(heads.shape[0], heads.shape[2], -1)


@specimen(3, symbol=ATTENTION)
class output_projection_forgotten(_InSteps):
    def mix(self, x: Array) -> Array:
        return x
