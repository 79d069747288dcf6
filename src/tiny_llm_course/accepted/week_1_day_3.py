"""Day 3: other right ways to write grouped attention, its mask and Qwen2's layer."""

from typing import Any, Literal

import mlx.core as mx
from mlx import nn

from tiny_llm_course.accepted.week_1_day_2 import table_filled_in_a_loop
from tiny_llm_course.specimens import specimen
from tiny_llm_ref.attention import causal_mask, scaled_dot_product_attention_simple
from tiny_llm_ref.attention import scaled_dot_product_attention_grouped as grouped
from tiny_llm_ref.basics import linear
from tiny_llm_ref.positional_encoding import RoPE
from tiny_llm_ref.qwen2_week1 import Qwen2MultiHeadAttention

ATTENTION = "qwen2_week1.Qwen2MultiHeadAttention"

Array = mx.array
Mask = mx.array | Literal["causal"] | None


class _Weights:
    """The constructor that the classes below have in common."""

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
        self.width = hidden_size // num_heads
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.wq, self.wk, self.wv, self.wo = wq, wk, wv, wo
        self.bq, self.bk, self.bv = bq, bk, bv
        self.max_seq_len = max_seq_len
        self.theta = theta

    def angles(self, length: int) -> Array:
        """Return the angle of each position and pair, L x D / 2."""
        exponents = mx.arange(self.width // 2) * (-2 / self.width)
        return mx.outer(mx.arange(length), mx.power(float(self.theta), exponents))


@specimen(3, symbol=ATTENTION)
class layer_with_one_projection(_Weights):
    """Project with a single matrix, and rotate heads that stand before the tokens."""

    def __call__(self, x: Array, mask: Mask = None) -> Array:
        w = mx.concatenate([self.wq, self.wk, self.wv])
        bias = mx.concatenate([self.bq, self.bk, self.bv])
        heads = mx.unflatten(mx.addmm(bias, x, w.T), -1, (-1, self.width))
        ends = [self.num_heads, self.num_heads + self.num_kv_heads]
        query, key, value = mx.split(heads.transpose(0, 2, 1, 3), ends, axis=1)
        output = grouped(self._rotated(query), self._rotated(key), value, mask=mask)
        return mx.flatten(output.transpose(0, 2, 1, 3), 2) @ self.wo.T

    def _rotated(self, x: Array) -> Array:
        return mx.fast.rope(
            x, self.width, traditional=False, base=self.theta, scale=1.0, offset=0
        )


@specimen(3, symbol=ATTENTION)
class layer_with_the_halves_swapped(_Weights):
    """Rotate as `transformers` does: sines and cosines of full width, on the fly."""

    def __call__(self, x: Array, mask: Mask = None) -> Array:
        query, key, value = (
            mx.unflatten(linear(x, w, bias), -1, (-1, self.width)).swapaxes(1, 2)
            for w, bias in (
                (self.wq, self.bq),
                (self.wk, self.bk),
                (self.wv, self.bv),
            )
        )
        output = grouped(self._rotated(query), self._rotated(key), value, mask=mask)
        return linear(mx.flatten(output.swapaxes(1, 2), -2), self.wo)

    def _rotated(self, x: Array) -> Array:
        angles = mx.tile(self.angles(x.shape[-2]), (1, 2))
        first, second = mx.split(x, 2, axis=-1)
        swapped = mx.concatenate([-second, first], axis=-1)
        cos, sin = mx.cos(angles).astype(x.dtype), mx.sin(angles).astype(x.dtype)
        return x * cos + swapped * sin


@specimen(3, symbol=ATTENTION)
class layer_with_complex_rotation(_Weights):
    def __call__(self, x: Array, mask: Mask = None) -> Array:
        batch, length, hidden_size = x.shape
        query = linear(x, self.wq, self.bq).reshape(batch, length, self.num_heads, -1)
        key = linear(x, self.wk, self.bk).reshape(batch, length, self.num_kv_heads, -1)
        value = linear(x, self.wv, self.bv).reshape(key.shape)
        heads = grouped(
            self._rotated(query).transpose(0, 2, 1, 3),
            self._rotated(key).transpose(0, 2, 1, 3),
            value.transpose(0, 2, 1, 3),
            scale=None,
            mask=mask,
        )
        merged = heads.transpose(0, 2, 1, 3).reshape(batch, length, hidden_size)
        return linear(merged, self.wo)

    def _rotated(self, x: Array) -> Array:
        angles = self.angles(x.shape[1])[:, None, :]
        half = self.width // 2
        numbers = x[..., :half].astype(mx.float32) + 1j * x[..., half:]
        turned = numbers * (mx.cos(angles) + 1j * mx.sin(angles))
        both = [mx.real(turned), mx.imag(turned)]
        return mx.concatenate(both, axis=-1).astype(x.dtype)


@specimen(3, symbol=ATTENTION)
class layer_in_float32(_Weights):
    def __call__(self, x: Array, mask: Mask = None) -> Array:
        weights = (self.wq, self.wk, self.wv, self.wo, self.bq, self.bk, self.bv)
        layer = Qwen2MultiHeadAttention(
            x.shape[-1],
            self.num_heads,
            self.num_kv_heads,
            *(one.astype(mx.float32) for one in weights),
            max_seq_len=self.max_seq_len,
            theta=self.theta,
        )
        return layer(x.astype(mx.float32), mask).astype(x.dtype)


@specimen(3, symbol=ATTENTION)
class layer_head_by_head(_Weights):
    """Cut the heads out of the weights, and keep the rotation between calls."""

    def __call__(self, x: Array, mask: Mask = None) -> Array:
        length = x.shape[1]
        if mask == "causal":
            mask = causal_mask(length, length, x.dtype)
        if mask is not None:
            whole = (x.shape[0], self.num_heads, length, length)
            mask = mx.broadcast_to(mask, whole)
        heads: list[Array] = []
        for head in range(self.num_heads):
            shared = head // (self.num_heads // self.num_kv_heads)
            query = self._rotated(self._of_head(head, x, self.wq, self.bq))
            key = self._rotated(self._of_head(shared, x, self.wk, self.bk))
            value = self._of_head(shared, x, self.wv, self.bv)
            own_mask = None if mask is None else mask[:, head]
            heads.append(
                scaled_dot_product_attention_simple(query, key, value, mask=own_mask)
            )
        return linear(mx.concatenate(heads, axis=-1), self.wo)

    def _of_head(self, head: int, x: Array, w: Array, bias: Array) -> Array:
        rows = slice(head * self.width, (head + 1) * self.width)
        return linear(x, w[rows], bias[rows])

    def _rotated(self, x: Array) -> Array:
        if not hasattr(self, "rope"):
            self.rope = RoPE(self.width, self.max_seq_len, self.theta)
        return self.rope(x[:, :, None, :], slice(0, x.shape[1]))[:, :, 0, :]


@specimen(3, symbol=ATTENTION)
class layer_with_a_table_filled_in_a_loop(_Weights):
    """Rotate by a table that is made in Python, and slowly."""

    def __call__(self, x: Array, mask: Mask = None) -> Array:
        weights = (self.wq, self.wk, self.wv, self.wo, self.bq, self.bk, self.bv)
        layer = Qwen2MultiHeadAttention(
            x.shape[-1], self.num_heads, self.num_kv_heads, *weights
        )
        rope: Any = table_filled_in_a_loop(self.width, self.max_seq_len, self.theta)
        layer.rope = rope
        return layer(x, mask)


@specimen(3, symbol=ATTENTION)
class layer_of_library_parts(nn.Module):
    """Let the library project, rotate and attend. Takes a cache, and has none."""

    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        num_kv_heads: int,
        *weights: Any,  # noqa: ANN401 - seven weights, the length, the base
        **options: Any,  # noqa: ANN401
    ) -> None:
        super().__init__()
        given = _Weights(hidden_size, num_heads, num_kv_heads, *weights, **options)
        self.head_counts = (num_heads, num_kv_heads, num_kv_heads)
        self.rope = nn.RoPE(given.width, base=given.theta)
        self.q_proj = _linear_module(given.wq, given.bq)
        self.k_proj = _linear_module(given.wk, given.bk)
        self.v_proj = _linear_module(given.wv, given.bv)
        self.o_proj = _linear_module(given.wo)

    def __call__(self, x: Array, mask: Mask = None, cache: Any = None) -> Array:  # noqa: ANN401
        del cache
        projections = (self.q_proj, self.k_proj, self.v_proj)
        query, key, value = (
            mx.unflatten(project(x), -1, (count, -1)).swapaxes(1, 2)
            for project, count in zip(projections, self.head_counts, strict=True)
        )
        query, key = self.rope(query), self.rope(key)
        output = mx.fast.scaled_dot_product_attention(
            query, key, value, scale=query.shape[-1] ** -0.5, mask=mask
        )
        return self.o_proj(mx.flatten(output.swapaxes(1, 2), -2))


def _linear_module(w: Array, bias: Array | None = None) -> nn.Linear:
    """Make a module of the library that holds these weights."""
    layer = nn.Linear(w.shape[1], w.shape[0], bias=bias is not None)
    layer.weight = w
    if bias is not None:
        layer.bias = bias
    return layer
