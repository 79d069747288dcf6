"""Day 1: other right ways to write softmax, attention and linear layers."""

import math

import mlx.core as mx
from mlx import nn

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
def softmax_of_the_library(x: Array, axis: int) -> Array:
    return mx.softmax(x, axis=axis)


@specimen(1, symbol=SOFTMAX)
def softmax_in_the_input_dtype(x: Array, axis: int = -1) -> Array:
    exponentials = mx.exp(x - x.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@specimen(1, symbol=SOFTMAX)
def softmax_through_its_logarithm(x: Array, axis: int) -> Array:
    shifted = x.astype(mx.float32) - mx.max(x, axis=axis, keepdims=True)
    total = mx.logsumexp(shifted, axis=axis, keepdims=True)
    return mx.exp(shifted - total).astype(x.dtype)


@specimen(1, symbol=SOFTMAX)
def softmax_row_by_row(x: Array, axis: int) -> Array:
    """Bring the axis to the end, and normalise one row after the other."""
    last = mx.moveaxis(x, axis, -1)
    rows = [
        mx.exp(row - row.max()) * (1 / mx.exp(row - row.max()).sum())
        for row in last.astype(mx.float32).reshape(-1, last.shape[-1])
    ]
    return mx.moveaxis(mx.stack(rows).reshape(last.shape), -1, axis).astype(x.dtype)


@specimen(1, symbol=ATTENTION)
def attention_of_the_library(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    """Call the kernel, which wants exactly two leading axes."""
    *batch, num_queries, width = query.shape
    num_keys = key.shape[-2]
    if mask is not None:
        mask = mx.broadcast_to(mask, (*batch, num_queries, num_keys))
        mask = mask.reshape(-1, 1, num_queries, num_keys)
    output = mx.fast.scaled_dot_product_attention(
        query.reshape(-1, 1, num_queries, width),
        key.reshape(-1, 1, num_keys, width),
        value.reshape(-1, 1, num_keys, width),
        scale=1 / math.sqrt(width) if scale is None else scale,
        mask=mask,
    )
    return output.reshape(query.shape)


@specimen(1, symbol=ATTENTION)
def attention_with_einsum(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    scores = mx.einsum("...ld,...sd->...ls", query, key)
    scores = scores / query.shape[-1] ** 0.5 if scale is None else scores * scale
    if mask is not None:
        scores = scores + mask
    return mx.einsum("...ls,...sd->...ld", mx.softmax(scores, axis=-1), value)


@specimen(1, symbol=ATTENTION)
def attention_of_scaled_queries(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    factor = mx.rsqrt(mx.array(query.shape[-1])) if scale is None else scale
    scores = mx.matmul((query * factor).astype(query.dtype), mx.swapaxes(key, -1, -2))
    return mx.matmul(softmax(scores if mask is None else mask + scores, -1), value)


@specimen(1, symbol=ATTENTION)
def attention_in_float32(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    wide_query, wide_key, wide_value = (
        one.astype(mx.float32) for one in (query, key, value)
    )
    return attention(wide_query, wide_key, wide_value, scale, mask).astype(query.dtype)


@specimen(1, symbol=ATTENTION)
def attention_normalised_at_the_end(
    query: Array, key: Array, value: Array, scale: Scale = None, mask: Mask = None
) -> Array:
    """Collect by the exponentials, and divide what comes out by their sum."""
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    scores = (query @ key.swapaxes(-2, -1) * factor).astype(mx.float32)
    scores = scores if mask is None else scores + mask
    exponentials = mx.exp(scores - scores.max(axis=-1, keepdims=True))
    collected = exponentials @ value.astype(mx.float32)
    return (collected / exponentials.sum(axis=-1, keepdims=True)).astype(query.dtype)


@specimen(1, symbol=ATTENTION)
def attention_query_by_query(
    query: Array,
    key: Array,
    value: Array,
    scale: Scale = None,
    mask: Mask = None,
    *,
    verbose: bool = False,
) -> Array:
    del verbose
    num_queries, num_keys = query.shape[-2], key.shape[-2]
    if mask is not None:
        mask = mx.broadcast_to(mask, (*query.shape[:-1], num_keys))
    rows: list[Array] = []
    for i in range(num_queries):
        scores = (query[..., i : i + 1, :] * key).sum(axis=-1)
        scores = scores * (query.shape[-1] ** -0.5 if scale is None else scale)
        scores = scores if mask is None else scores + mask[..., i, :]
        rows.append((softmax(scores, -1)[..., None] * value).sum(axis=-2))
    return mx.stack(rows, axis=-2)


@specimen(2, symbol=LINEAR)
def linear_with_addmm(x: Array, w: Array, bias: Bias = None) -> Array:
    return mx.matmul(x, w.T) if bias is None else mx.addmm(bias, x, w.T)


@specimen(2, symbol=LINEAR)
def linear_with_einsum(x: Array, w: Array, bias: Bias = None) -> Array:
    y = mx.einsum("...i,oi->...o", x, w)
    return y + (mx.zeros(w.shape[0], dtype=x.dtype) if bias is None else bias)


@specimen(2, symbol=LINEAR)
def linear_in_float32(x: Array, w: Array, bias: Bias = None) -> Array:
    y = mx.inner(x.astype(mx.float32), w.astype(mx.float32))
    return (y if bias is None else y + bias).astype(x.dtype)


class _Weights:
    """The constructor that the classes below have in common."""

    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        wq: Array,
        wk: Array,
        wv: Array,
        wo: Array,
    ) -> None:
        self.num_heads = num_heads
        self.width = hidden_size // num_heads
        self.wq, self.wk, self.wv, self.wo = wq, wk, wv, wo


@specimen(2, symbol=MULTI_HEAD)
class heads_one_after_the_other(_Weights):
    def __call__(
        self, query: Array, key: Array, value: Array, mask: Mask = None
    ) -> Array:
        heads = [
            attention(
                query @ self.wq[rows].T,
                key @ self.wk[rows].T,
                value @ self.wv[rows].T,
                mask=mask,
            )
            for rows in self._rows_of_heads()
        ]
        return mx.concatenate(heads, axis=-1) @ self.wo.T

    def _rows_of_heads(self) -> list[slice]:
        starts = range(0, self.num_heads * self.width, self.width)
        return [slice(start, start + self.width) for start in starts]


@specimen(2, symbol=MULTI_HEAD)
class one_step_a_line(_Weights):
    def __call__(
        self, query: Array, key: Array, value: Array, mask: Mask = None
    ) -> Array:
        q, k, v = query @ self.wq.T, key @ self.wk.T, value @ self.wv.T
        q = q.reshape(*q.shape[:-1], self.num_heads, self.width)
        k = k.reshape(*k.shape[:-1], self.num_heads, self.width)
        v = v.reshape(*v.shape[:-1], self.num_heads, self.width)
        q, k, v = q.swapaxes(-3, -2), k.swapaxes(-3, -2), v.swapaxes(-3, -2)
        heads = attention(q, k, v, mask=mask).swapaxes(-3, -2)
        merged = heads.reshape(*heads.shape[:-2], -1)
        return merged @ self.wo.T


@specimen(2, symbol=MULTI_HEAD)
class heads_counted_as_batch(_Weights):
    def __call__(
        self, query: Array, key: Array, value: Array, mask: Mask = None
    ) -> Array:
        *batch, length, hidden_size = query.shape
        if mask is not None:
            mask = mx.broadcast_to(mask, (*batch, self.num_heads, length, length))
            mask = mask.reshape(-1, length, length)
        heads = attention(
            self._one_head_each(linear(query, self.wq)),
            self._one_head_each(linear(key, self.wk)),
            self._one_head_each(linear(value, self.wv)),
            scale=1 / math.sqrt(self.width),
            mask=mask,
        )
        heads = heads.reshape(-1, self.num_heads, length, self.width)
        merged = heads.transpose(0, 2, 1, 3).reshape(*batch, length, hidden_size)
        return linear(merged, self.wo)

    def _one_head_each(self, x: Array) -> Array:
        split = x.reshape(-1, x.shape[-2], self.num_heads, self.width)
        return split.transpose(0, 2, 1, 3).reshape(-1, x.shape[-2], self.width)


@specimen(2, symbol=MULTI_HEAD)
class multi_head_with_einsum(_Weights):
    def __call__(
        self, query: Array, key: Array, value: Array, mask: Mask = None
    ) -> Array:
        wq, wk, wv = (
            mx.unflatten(w, 0, (self.num_heads, self.width))
            for w in (self.wq, self.wk, self.wv)
        )
        wo = mx.unflatten(self.wo, 1, (self.num_heads, self.width))
        project = "...le,hde->...hld"
        heads = attention(
            mx.einsum(project, query, wq),
            mx.einsum(project, key, wk),
            mx.einsum(project, value, wv),
            mask=mask,
        )
        return mx.einsum("...hld,ehd->...le", heads, wo)


@specimen(2, symbol=MULTI_HEAD)
class multi_head_of_the_library(nn.MultiHeadAttention):
    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        wq: Array,
        wk: Array,
        wv: Array,
        wo: Array,
    ) -> None:
        super().__init__(hidden_size, num_heads)
        names = ("query_proj", "key_proj", "value_proj", "out_proj")
        for name, weight in zip(names, (wq, wk, wv, wo), strict=True):
            self[name].weight = weight

    def __call__(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, query: Array, key: Array, value: Array, mask: Mask = None
    ) -> Array:
        """Bring the leading axes together: the library wants exactly one."""
        one_batch = (-1, *query.shape[-2:])
        output = super().__call__(
            query.reshape(one_batch),
            key.reshape(one_batch),
            value.reshape(one_batch),
            mask,
        )
        return output.reshape(query.shape)
