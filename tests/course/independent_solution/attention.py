"""A different correct solution: repeated keys, a scaled query, triangular masks."""

import mlx.core as mx

from . import basics


def scaled_dot_product_attention_simple(query, key, value, scale=None, mask=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = (query * scale) @ key.mT
    scores = scores if mask is None else scores + mask.astype(scores.dtype)
    return basics.softmax(scores, -1) @ value


def causal_mask(L, S, dtype):
    return mx.triu(mx.full((L, S), -mx.inf, dtype), k=S - L + 1)


def scaled_dot_product_attention_grouped(query, key, value, scale=None, mask=None):
    times = query.shape[-3] // key.shape[-3]
    key, value = mx.repeat(key, times, axis=-3), mx.repeat(value, times, axis=-3)
    if isinstance(mask, str):
        mask = causal_mask(query.shape[-2], key.shape[-2], query.dtype)
    return scaled_dot_product_attention_simple(query, key, value, scale, mask)


class SimpleMultiHeadAttention:
    def __init__(self, hidden_size, num_heads, wq, wk, wv, wo):
        self.width = hidden_size // num_heads
        self.projections, self.wo = (wq, wk, wv), wo

    def __call__(self, query, key, value, mask=None):
        heads = []
        inputs = [
            basics.linear(x, w)
            for x, w in zip((query, key, value), self.projections, strict=True)
        ]
        for start in range(0, inputs[0].shape[-1], self.width):
            parts = [x[..., start : start + self.width] for x in inputs]
            heads.append(scaled_dot_product_attention_simple(*parts, mask=mask))
        return basics.linear(mx.concatenate(heads, axis=-1), self.wo)
