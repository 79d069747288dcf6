"""Week 2, day 1: what goes wrong with a cache, and with a model that has some."""

from collections.abc import Sequence
from typing import Any, ClassVar
from weakref import WeakSet

import mlx.core as mx

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.attention import causal_mask, scaled_dot_product_attention_grouped
from tiny_llm_ref.basics import linear
from tiny_llm_ref.embedding import Embedding
from tiny_llm_ref.kv_cache import Mask, TinyKvCache, TinyKvFullCache
from tiny_llm_ref.positional_encoding import RoPE
from tiny_llm_ref.quantize import (
    QuantizedWeights,
    dequantize_linear,
    quantized_linear,
)
from tiny_llm_ref.qwen2_week2 import (
    Qwen2MLP,
    Qwen2ModelWeek2,
    Qwen2MultiHeadAttention,
    Qwen2TransformerBlock,
)

CACHE = "kv_cache.TinyKvFullCache"
ATTENTION = "qwen2_week2.Qwen2MultiHeadAttention"
MLP = "qwen2_week2.Qwen2MLP"
BLOCK = "qwen2_week2.Qwen2TransformerBlock"
MODEL = "qwen2_week2.Qwen2ModelWeek2"

Fetched = tuple[mx.array, mx.array, int, Mask]


class _Joined(TinyKvCache):
    """A cache that joins old and new along an axis."""

    axis = 2

    def __init__(self) -> None:
        self.offset = 0
        self.held: list[mx.array] = []

    def update_and_fetch(
        self,
        key: mx.array,
        value: mx.array,
        mask_length: int | None = None,
        mask: Mask = None,
    ) -> Fetched:
        self.held = [
            mx.concatenate([old, new], axis=self.axis)
            for old, new in zip(self.held, (key, value), strict=False)
        ] or [key, value]
        self.offset += key.shape[2]
        return self.held[0], self.held[1], self.offset, mask


class _Buffered(TinyKvCache):
    """A cache with buffers in steps of 256 places, written as most are."""

    step = 256

    def __init__(self) -> None:
        self.offset = 0
        self.held: list[mx.array] = []

    def update_and_fetch(
        self,
        key: mx.array,
        value: mx.array,
        mask_length: int | None = None,
        mask: Mask = None,
    ) -> Fetched:
        start, stop = self.offset, self.offset + key.shape[2]
        if not self.held:
            self.held = [self.room(one, self.step) for one in (key, value)]
        self.make_room(stop)
        for buffer, new in zip(self.held, (key, value), strict=True):
            buffer[:, :, start:stop] = new
        self.offset = stop
        return self.held[0][:, :, :stop], self.held[1][:, :, :stop], stop, mask

    def make_room(self, num_places: int) -> None:
        # Counted: with one change more, `grow` may do nothing, and this has to end.
        for _ in range(-(-(num_places - self.held[0].shape[2]) // self.step)):
            self.grow()

    def room(self, like: mx.array, num_places: int) -> mx.array:
        B, H, _, D = like.shape  # noqa: N806 - the axes as in the formulas
        return mx.zeros((B, H, num_places, D), like.dtype)

    def grow(self) -> None:
        self.held = [
            mx.concatenate([one, self.room(one, self.step)], axis=2)
            for one in self.held
        ]


@specimen(1, symbol=CACHE)
class only_the_new_handed_out(_Joined):
    def update_and_fetch(self, *args: Any, **named: Any) -> Fetched:  # noqa: ANN401
        _, _, length, mask = super().update_and_fetch(*args, **named)
        return args[0], args[1], length, mask


@specimen(1, symbol=CACHE)
class new_before_old(_Joined):
    def update_and_fetch(
        self,
        key: mx.array,
        value: mx.array,
        mask_length: int | None = None,
        mask: Mask = None,
    ) -> Fetched:
        self.held = [
            mx.concatenate([new, old], axis=2)
            for old, new in zip(self.held, (key, value), strict=False)
        ] or [key, value]
        self.offset += key.shape[2]
        return self.held[0], self.held[1], self.offset, mask


@specimen(1, symbol=CACHE)
class joined_along_the_heads(_Joined):
    axis = 1


@specimen(1, symbol=CACHE)
class joined_along_the_channels(_Joined):
    axis = -1


@specimen(1, symbol=CACHE)
class keys_handed_out_as_values(TinyKvFullCache):
    def update_and_fetch(self, *args: Any, **named: Any) -> Fetched:  # noqa: ANN401
        keys, _, length, mask = super().update_and_fetch(*args, **named)
        return keys, keys, length, mask


@specimen(1, symbol=CACHE)
class offset_stays_at_zero(_Joined):
    def update_and_fetch(self, *args: Any, **named: Any) -> Fetched:  # noqa: ANN401
        keys, values, _, mask = super().update_and_fetch(*args, **named)
        self.offset = 0
        return keys, values, keys.shape[2], mask


@specimen(1, symbol=CACHE)
class offset_counts_the_calls(_Joined):
    def __init__(self) -> None:
        super().__init__()
        self.num_calls = 0

    def update_and_fetch(self, *args: Any, **named: Any) -> Fetched:  # noqa: ANN401
        self.num_calls += 1
        keys, values, _, mask = super().update_and_fetch(*args, **named)
        self.offset = self.num_calls
        return keys, values, keys.shape[2], mask


@specimen(1, symbol=CACHE)
class length_of_the_piece(TinyKvFullCache):
    def update_and_fetch(self, *args: Any, **named: Any) -> Fetched:  # noqa: ANN401
        keys, values, _, mask = super().update_and_fetch(*args, **named)
        return keys, values, args[0].shape[2], mask


@specimen(1, symbol=CACHE)
class mask_dropped(TinyKvFullCache):
    def update_and_fetch(self, *args: Any, **named: Any) -> Fetched:  # noqa: ANN401
        keys, values, length, _ = super().update_and_fetch(*args, **named)
        return keys, values, length, None


@specimen(1, symbol=CACHE)
class whole_buffer_handed_out(_Buffered):
    def update_and_fetch(self, *args: Any, **named: Any) -> Fetched:  # noqa: ANN401
        _, _, length, mask = super().update_and_fetch(*args, **named)
        return self.held[0], self.held[1], length, mask


@specimen(1, symbol=CACHE)
class written_to_the_beginning(_Buffered):
    def update_and_fetch(
        self,
        key: mx.array,
        value: mx.array,
        mask_length: int | None = None,
        mask: Mask = None,
    ) -> Fetched:
        length = self.offset + key.shape[2]
        self.offset = 0
        super().update_and_fetch(key, value)
        self.make_room(length)
        self.offset = length
        return self.held[0][:, :, :length], self.held[1][:, :, :length], length, mask


@specimen(1, symbol=CACHE)
class old_lost_when_growing(_Buffered):
    step = 64

    def grow(self) -> None:
        longer = self.held[0].shape[2] + self.step
        self.held = [self.room(one, longer) for one in self.held]


@specimen(1, symbol=CACHE)
class room_that_runs_out(_Buffered):
    def grow(self) -> None:
        raise ValueError(f"there is room for {self.step} tokens")


@specimen(1, symbol=CACHE)
class room_for_512_tokens(_Buffered):
    step = 512

    def make_room(self, num_places: int) -> None:
        pass


@specimen(1, symbol=CACHE)
class one_step_for_a_long_piece(_Buffered):
    def make_room(self, num_places: int) -> None:
        if num_places > self.held[0].shape[2]:
            self.grow()


@specimen(1, symbol=CACHE)
class buffer_in_float32(_Buffered):
    def room(self, like: mx.array, num_places: int) -> mx.array:
        return super().room(like, num_places).astype(mx.float32)


@specimen(1, symbol=CACHE)
class one_memory_for_all_caches(_Joined):
    # A list of the class never ends, and then what comes out depends on all that was
    # graded before. This one lasts as long as somebody has a cache.
    alive: ClassVar[WeakSet[Any]] = WeakSet()

    def __init__(self) -> None:
        super().__init__()
        self.memory: list[mx.array] = next((one.memory for one in self.alive), [])
        self.alive.add(self)

    def update_and_fetch(self, *args: Any, **named: Any) -> Fetched:  # noqa: ANN401
        self.held = self.memory[:]
        fetched = super().update_and_fetch(*args, **named)
        self.memory[:] = self.held
        return fetched


@specimen(1, symbol=CACHE)
class copied_at_each_token(_Joined):
    pass


class _Attention(Qwen2MultiHeadAttention):
    """The attention, in steps that can be replaced one by one."""

    def __call__(
        self, x: mx.array, offset: int, cache: TinyKvCache, mask: Mask = None
    ) -> mx.array:
        new = slice(offset, offset + x.shape[1])
        query = self.rope(self.heads(x, "q"), new).swapaxes(1, 2)
        key = self.rope(self.heads(x, "k"), new).swapaxes(1, 2)
        value = self.heads(x, "v").swapaxes(1, 2)
        return self.collect(query, *self.remember(key, value, cache), mask)

    def heads(self, x: mx.array, which: str) -> mx.array:
        weight, bias = getattr(self, f"w{which}"), getattr(self, f"b{which}")
        num_heads = self.num_heads if which == "q" else self.num_kv_heads
        return mx.unflatten(linear(x, weight, bias), -1, (num_heads, -1))

    def remember(
        self, key: mx.array, value: mx.array, cache: TinyKvCache
    ) -> tuple[mx.array, mx.array]:
        return cache.update_and_fetch(key, value)[:2]

    def collect(
        self, query: mx.array, keys: mx.array, values: mx.array, mask: Mask
    ) -> mx.array:
        heads = scaled_dot_product_attention_grouped(query, keys, values, mask=mask)
        return _linear(mx.flatten(heads.swapaxes(1, 2), -2, -1), self.wo)


@specimen(2, symbol=ATTENTION)
class rotated_from_position_0(_Attention):
    def __call__(
        self, x: mx.array, offset: int, cache: TinyKvCache, mask: Mask = None
    ) -> mx.array:
        return super().__call__(x, 0, cache, mask)


@specimen(2, symbol=ATTENTION)
class query_rotated_from_position_0(_Attention):
    def __call__(
        self, x: mx.array, offset: int, cache: TinyKvCache, mask: Mask = None
    ) -> mx.array:
        new = slice(offset, offset + x.shape[1])
        query = self.rope(self.heads(x, "q")).swapaxes(1, 2)
        key = self.rope(self.heads(x, "k"), new).swapaxes(1, 2)
        value = self.heads(x, "v").swapaxes(1, 2)
        return self.collect(query, *self.remember(key, value, cache), mask)


@specimen(2, symbol=ATTENTION)
class offset_read_after_the_update(_Attention):
    def __call__(
        self, x: mx.array, offset: int, cache: TinyKvCache, mask: Mask = None
    ) -> mx.array:
        new = slice(offset, offset + x.shape[1])
        key = self.rope(self.heads(x, "k"), new).swapaxes(1, 2)
        value = self.heads(x, "v").swapaxes(1, 2)
        fetched = self.remember(key, value, cache)
        later = slice(cache.offset, cache.offset + x.shape[1])
        query = self.rope(self.heads(x, "q"), later).swapaxes(1, 2)
        return self.collect(query, *fetched, mask)


@specimen(2, symbol=ATTENTION)
class old_keys_rotated_again(_Attention):
    def __call__(
        self, x: mx.array, offset: int, cache: TinyKvCache, mask: Mask = None
    ) -> mx.array:
        new = slice(offset, offset + x.shape[1])
        query = self.rope(self.heads(x, "q"), new).swapaxes(1, 2)
        key = self.rope(self.heads(x, "k"), new).swapaxes(1, 2)
        value = self.heads(x, "v").swapaxes(1, 2)
        keys, values = self.remember(key, value, cache)
        keys = self.rope(keys.swapaxes(1, 2)).swapaxes(1, 2)
        return self.collect(query, keys, values, mask)


@specimen(2, symbol=ATTENTION)
class keys_never_rotated(_Attention):
    def __call__(
        self, x: mx.array, offset: int, cache: TinyKvCache, mask: Mask = None
    ) -> mx.array:
        new = slice(offset, offset + x.shape[1])
        query = self.rope(self.heads(x, "q"), new).swapaxes(1, 2)
        key = self.heads(x, "k").swapaxes(1, 2)
        value = self.heads(x, "v").swapaxes(1, 2)
        return self.collect(query, *self.remember(key, value, cache), mask)


@specimen(2, symbol=ATTENTION)
class attends_to_the_new_only(_Attention):
    def remember(
        self, key: mx.array, value: mx.array, cache: TinyKvCache
    ) -> tuple[mx.array, mx.array]:
        super().remember(key, value, cache)
        return key, value


@specimen(2, symbol=ATTENTION)
class heads_and_tokens_swapped_in_the_cache(_Attention):
    def remember(
        self, key: mx.array, value: mx.array, cache: TinyKvCache
    ) -> tuple[mx.array, mx.array]:
        keys, values = super().remember(key.swapaxes(1, 2), value.swapaxes(1, 2), cache)
        return keys.swapaxes(1, 2), values.swapaxes(1, 2)


@specimen(2, symbol=ATTENTION)
class key_and_value_swapped(_Attention):
    def remember(
        self, key: mx.array, value: mx.array, cache: TinyKvCache
    ) -> tuple[mx.array, mx.array]:
        return super().remember(value, key, cache)


@specimen(2, symbol=ATTENTION)
class heads_repeated_before_the_cache(_Attention):
    def remember(
        self, key: mx.array, value: mx.array, cache: TinyKvCache
    ) -> tuple[mx.array, mx.array]:
        times = self.num_heads // self.num_kv_heads
        repeated = mx.repeat(key, times, axis=1), mx.repeat(value, times, axis=1)
        return super().remember(*repeated, cache)


@specimen(2, symbol=ATTENTION)
class mask_forgotten(_Attention):
    def collect(
        self, query: mx.array, keys: mx.array, values: mx.array, mask: Mask
    ) -> mx.array:
        return super().collect(query, keys, values, None)


@specimen(2, symbol=ATTENTION)
class mask_of_the_first_call_kept(Qwen2MultiHeadAttention):
    def __call__(
        self, x: mx.array, offset: int, cache: TinyKvCache, mask: Mask = None
    ) -> mx.array:
        self.mask: Mask = getattr(self, "mask", mask)
        return super().__call__(x, offset, cache, self.mask)


@specimen(2, symbol=ATTENTION)
class mask_begins_at_the_first_key(_Attention):
    def collect(
        self, query: mx.array, keys: mx.array, values: mx.array, mask: Mask
    ) -> mx.array:
        num_new, num_all = query.shape[2], keys.shape[2]
        if mask == "causal":
            mask = causal_mask(num_all, num_all, query.dtype)[:num_new]
        return super().collect(query, keys, values, mask)


@specimen(2, symbol=ATTENTION)
class mask_of_the_new_only(_Attention):
    def collect(
        self, query: mx.array, keys: mx.array, values: mx.array, mask: Mask
    ) -> mx.array:
        num_new = query.shape[2]
        if mask == "causal":
            mask = causal_mask(num_new, num_new, query.dtype)
        return super().collect(query, keys, values, mask)


@specimen(2, symbol=MLP)
class gate_and_up_swapped(Qwen2MLP):
    def __init__(
        self,
        dim: int,
        hidden_dim: int,
        w_gate: mx.array,
        w_up: mx.array,
        w_down: mx.array,
    ) -> None:
        super().__init__(dim, hidden_dim, w_up, w_gate, w_down)


@specimen(2, symbol=BLOCK)
class offset_not_handed_on(Qwen2TransformerBlock):
    def __call__(
        self, x: mx.array, offset: int, cache: TinyKvCache, mask: Mask = None
    ) -> mx.array:
        return super().__call__(x, 0, cache, mask)


@specimen(2, symbol=BLOCK)
class mask_not_handed_on(Qwen2TransformerBlock):
    def __call__(
        self, x: mx.array, offset: int, cache: TinyKvCache, mask: Mask = None
    ) -> mx.array:
        return super().__call__(x, offset, cache)


@specimen(2, symbol=BLOCK)
class first_mask_kept_by_the_block(Qwen2TransformerBlock):
    def __call__(
        self, x: mx.array, offset: int, cache: TinyKvCache, mask: Mask = None
    ) -> mx.array:
        self.mask: Mask = getattr(self, "mask", mask)
        return super().__call__(x, offset, cache, self.mask)


@specimen(2, symbol=BLOCK)
class cache_not_handed_on(Qwen2TransformerBlock):
    def __call__(
        self, x: mx.array, offset: int, cache: TinyKvCache, mask: Mask = None
    ) -> mx.array:
        return super().__call__(x, offset, TinyKvFullCache(), mask)


class _Model(Qwen2ModelWeek2):
    """The model, with what its layers get in a function."""

    def __call__(
        self, inputs: mx.array, offset: int, cache: Sequence[TinyKvCache]
    ) -> mx.array:
        x = self.embedding(inputs)
        for number, layer in enumerate(self.layers):
            x = layer(x, *self.handed(number, inputs.shape[1], offset, cache))
        return self.head(self.norm(x))

    def handed(
        self, number: int, length: int, offset: int, cache: Sequence[TinyKvCache]
    ) -> tuple[int, TinyKvCache, Mask]:
        return offset, cache[number], "causal"

    def head(self, x: mx.array) -> mx.array:
        return _linear(x, self.w_lm_head)


@specimen(3, symbol=MODEL)
class offset_always_0(_Model):
    def handed(
        self, number: int, length: int, offset: int, cache: Sequence[TinyKvCache]
    ) -> tuple[int, TinyKvCache, Mask]:
        return 0, cache[number], "causal"


@specimen(3, symbol=MODEL)
class offset_moves_from_layer_to_layer(_Model):
    def handed(
        self, number: int, length: int, offset: int, cache: Sequence[TinyKvCache]
    ) -> tuple[int, TinyKvCache, Mask]:
        return cache[0].offset, cache[number], "causal"


@specimen(3, symbol=MODEL)
class first_cache_for_all_layers(_Model):
    def handed(
        self, number: int, length: int, offset: int, cache: Sequence[TinyKvCache]
    ) -> tuple[int, TinyKvCache, Mask]:
        return offset, cache[0], "causal"


@specimen(3, symbol=MODEL)
class caches_of_its_own(_Model):
    def __init__(self, mlx_model: Any) -> None:  # noqa: ANN401 - mlx_lm has no types
        super().__init__(mlx_model)
        self.caches = [TinyKvFullCache() for _ in self.layers]

    def handed(
        self, number: int, length: int, offset: int, cache: Sequence[TinyKvCache]
    ) -> tuple[int, TinyKvCache, Mask]:
        return offset, self.caches[number], "causal"


@specimen(3, symbol=MODEL)
class new_caches_in_every_call(_Model):
    def handed(
        self, number: int, length: int, offset: int, cache: Sequence[TinyKvCache]
    ) -> tuple[int, TinyKvCache, Mask]:
        return offset, TinyKvFullCache(), "causal"


@specimen(3, symbol=MODEL)
class causal_mask_forgotten(_Model):
    def handed(
        self, number: int, length: int, offset: int, cache: Sequence[TinyKvCache]
    ) -> tuple[int, TinyKvCache, Mask]:
        return offset, cache[number], None


@specimen(3, symbol=MODEL)
class masked_in_the_first_call_only(_Model):
    def handed(
        self, number: int, length: int, offset: int, cache: Sequence[TinyKvCache]
    ) -> tuple[int, TinyKvCache, Mask]:
        return offset, cache[number], "causal" if offset == 0 else None


@specimen(3, symbol=MODEL)
class only_the_last_logits(_Model):
    def head(self, x: mx.array) -> mx.array:
        return super().head(x[:, -1:])


@specimen(3, symbol=MODEL)
class theta_not_read(_Model):
    def __init__(self, mlx_model: Any) -> None:  # noqa: ANN401 - mlx_lm has no types
        super().__init__(mlx_model)
        for layer in self.layers:
            rope = layer.attention.rope
            layer.attention.rope = RoPE(rope.dims, rope.seq_len, 1000000)


@specimen(3, symbol=MODEL)
class head_always_tied(_Model):
    def __init__(self, mlx_model: Any) -> None:  # noqa: ANN401 - mlx_lm has no types
        super().__init__(mlx_model)
        table = self.embedding
        self.w_lm_head = table.weight if isinstance(table, Embedding) else table.table


@specimen(3, symbol=MODEL)
class head_never_tied(_Model):
    def __init__(self, mlx_model: Any) -> None:  # noqa: ANN401 - mlx_lm has no types
        super().__init__(mlx_model)
        self.w_lm_head = dequantize_linear(mlx_model.lm_head)


def _linear(x: mx.array, w: mx.array | QuantizedWeights) -> mx.array:
    """Multiply by a weight, packed or not."""
    if isinstance(w, QuantizedWeights):
        return quantized_linear(x, w)
    return linear(x, w)
