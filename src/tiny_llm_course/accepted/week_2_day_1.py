"""Week 2, day 1: other right ways to remember."""

import inspect
import itertools
import sys
from collections.abc import Sequence
from typing import Any, cast

import mlx.core as mx

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.kv_cache import Mask, TinyKvCache, TinyKvFullCache
from tiny_llm_ref.quantize import QuantizedWeights
from tiny_llm_ref.qwen2_week2 import (
    Qwen2MLP,
    Qwen2ModelWeek2,
    Qwen2MultiHeadAttention,
)

ATTENTION = "qwen2_week2.Qwen2MultiHeadAttention"
MLP = "qwen2_week2.Qwen2MLP"
MODEL = "qwen2_week2.Qwen2ModelWeek2"
GENERATE = "generate.simple_generate_with_kv_cache"

Tokenizer = Any
"""What `mlx_lm` loads beside a model, which has no types."""


class _Attention(Qwen2MultiHeadAttention):
    """What an attention remembers: its arguments."""

    def __init__(self, *weights: Any, **named: Any) -> None:  # noqa: ANN401
        super().__init__(*weights, **named)
        given = inspect.signature(Qwen2MultiHeadAttention).bind(*weights, **named)
        given.apply_defaults()
        self.theta: float = given.arguments["theta"]

    def __call__(
        self,
        x: mx.array,
        offset: int | Sequence[int],
        cache: TinyKvCache,
        mask: Mask = None,
    ) -> mx.array:
        query, key, value = self.split(x)
        keys, values, _, mask = cache.update_and_fetch(
            self.rotate(key, offset), value, mask_length=x.shape[1], mask=mask
        )
        heads = self.collect(self.rotate(query, offset), keys, values, mask)
        return heads.transpose(0, 2, 1, 3).reshape(x.shape) @ _dense(self.wo).T

    def collect(
        self, query: mx.array, keys: mx.array, values: mx.array, mask: Mask
    ) -> mx.array:
        raise NotImplementedError

    @property
    def head_dim(self) -> int:
        return _dense(self.wq).shape[0] // self.num_heads

    def split(self, x: mx.array) -> list[mx.array]:
        return [
            mx.addmm(bias, x, _dense(weight).T)
            .reshape(*x.shape[:2], -1, self.head_dim)
            .transpose(0, 2, 1, 3)
            for weight, bias in (
                (self.wq, self.bq),
                (self.wk, self.bk),
                (self.wv, self.bv),
            )
        ]

    def rotate(self, x: mx.array, offset: int | Sequence[int]) -> mx.array:
        return mx.fast.rope(
            x,
            self.head_dim,
            traditional=False,
            base=self.theta,
            scale=1.0,
            offset=offset if isinstance(offset, int) else mx.array([*offset]),
        )


@specimen(2, symbol=ATTENTION)
class library_operations(_Attention):
    def collect(
        self, query: mx.array, keys: mx.array, values: mx.array, mask: Mask
    ) -> mx.array:
        return mx.fast.scaled_dot_product_attention(
            query, keys, values, scale=self.head_dim**-0.5, mask=mask
        )


@specimen(2, symbol=ATTENTION)
class heads_repeated_after_the_cache(_Attention):
    def collect(
        self, query: mx.array, keys: mx.array, values: mx.array, mask: Mask
    ) -> mx.array:
        times = self.num_heads // self.num_kv_heads
        keys, values = (mx.repeat(one, times, axis=1) for one in (keys, values))
        scores = query @ keys.swapaxes(-1, -2) * self.head_dim**-0.5
        num_new, num_all = scores.shape[-2:]
        if mask == "causal" and num_new > 1:
            first_later = num_all - num_new + 1
            is_later = mx.triu(mx.ones((num_new, num_all), mx.bool_), k=first_later)
            scores = mx.where(is_later, -mx.inf, scores)
        elif isinstance(mask, mx.array):
            scores = scores + mask
        return mx.softmax(scores, axis=-1, precise=True) @ values


@specimen(2, symbol=MLP)
class gate_and_up_in_one_product(Qwen2MLP):
    def __call__(self, x: mx.array) -> mx.array:
        w_both = mx.concatenate([_dense(self.w_gate), _dense(self.w_up)])
        both = x @ w_both.T
        gate, up = mx.split(both, 2, axis=-1)
        return (gate * mx.sigmoid(gate) * up) @ _dense(self.w_down).T


@specimen(3, symbol=MODEL)
class library_model:
    def __init__(self, mlx_model: Any, enable_flash_attn: bool = False) -> None:  # noqa: ANN401
        self.mlx_model = mlx_model
        self.num_hidden_layers = mlx_model.args.num_hidden_layers

    def __call__(
        self, inputs: mx.array, offset: int, cache: Sequence[TinyKvCache]
    ) -> mx.array:
        return self.mlx_model(inputs, cache=[_LibraryCache(one) for one in cache])


class _LibraryCache:
    """Looks to `mlx_lm` like one of its own caches."""

    def __init__(self, cache: TinyKvCache) -> None:
        self.cache = cache

    @property
    def offset(self) -> int:
        return self.cache.offset

    def update_and_fetch(
        self, key: mx.array, value: mx.array
    ) -> tuple[mx.array, mx.array]:
        return self.cache.update_and_fetch(key, value)[:2]

    def make_mask(self, num_new: int, **_: Any) -> Mask:  # noqa: ANN401
        return None if num_new == 1 else "causal"


@specimen(3, symbol=MODEL)
class unpacked_when_loaded(Qwen2ModelWeek2):
    def __init__(self, mlx_model: Any) -> None:  # noqa: ANN401 - mlx_lm has no types
        super().__init__(mlx_model)
        self.w_lm_head = _dense(self.w_lm_head)
        for layer in self.layers:
            for part in (layer.attention, layer.mlp):
                for name, weight in vars(part).items():
                    if isinstance(weight, QuantizedWeights):
                        setattr(part, name, _dense(weight))


def _dense(weight: mx.array | QuantizedWeights) -> mx.array:
    """Unpack a weight, if it is packed."""
    if isinstance(weight, QuantizedWeights):
        return mx.dequantize(
            weight.weight,
            weight.scales,
            weight.biases,
            group_size=weight.group_size,
            bits=weight.bits,
        )
    return weight


@specimen(4, symbol=GENERATE)
def prompt_in_pieces(model: Qwen2ModelWeek2, tokenizer: Tokenizer, prompt: str) -> str:
    caches = [TinyKvFullCache() for _ in range(model.num_hidden_layers)]
    ids = mx.array(tokenizer.encode(prompt))[None]
    for start in range(0, ids.shape[1] - 1, 2):
        stop = min(start + 2, ids.shape[1] - 1)
        mx.eval(model(ids[:, start:stop], caches[0].offset, caches))
    token, answer = ids[:, -1:], list[int]()
    detokenizer = tokenizer.detokenizer
    while True:
        logits = model(token, caches[0].offset, caches)
        token = mx.argmax(logits[:, -1:], axis=-1)
        if token.item() in tokenizer.eos_token_ids:
            return tokenizer.decode(answer)
        answer.append(cast("int", token.item()))
        detokenizer.add_token(answer[-1])
        print(detokenizer.last_segment, end="", flush=True)


@specimen(4, symbol=GENERATE)
def token_by_token(model: Qwen2ModelWeek2, tokenizer: Tokenizer, prompt: str) -> str:
    print(prompt, end="", flush=True)
    caches = list(map(_cache, range(model.num_hidden_layers)))
    ids = list(tokenizer.encode(prompt))
    num_prompt_ids = len(ids)
    detokenizer = tokenizer.detokenizer
    for position in itertools.count():
        logits = model(mx.array([ids[position : position + 1]]), position, caches)
        if position + 1 < len(ids):
            continue
        ids.append(cast("int", mx.argmax(logits[0, -1]).item()))
        if ids[-1] in tokenizer.eos_token_ids:
            break
        detokenizer.add_token(ids[-1])
        sys.stdout.write(detokenizer.last_segment)
        sys.stdout.flush()
    return tokenizer.decode(ids[num_prompt_ids:], skip_special_tokens=True)


def _cache(layer: int) -> TinyKvFullCache:
    """Make the cache of a layer."""
    del layer
    return TinyKvFullCache()


@specimen(4, symbol=GENERATE)
def sampler_and_limit_besides(
    model: Qwen2ModelWeek2,
    tokenizer: Tokenizer,
    prompt: str,
    sampler: Any = None,  # noqa: ANN401 - a function, or nothing
    max_tokens: int = 1000,
) -> str:
    caches = [TinyKvFullCache() for _ in range(model.num_hidden_layers)]
    new, offset = mx.array([tokenizer.encode(prompt)]), 0
    detokenizer = tokenizer.detokenizer
    detokenizer.reset()
    for _ in range(max_tokens):
        logits = model(new, offset, caches)[:, -1]
        log_probs = logits - mx.logsumexp(logits, axis=-1, keepdims=True)
        offset += new.shape[1]
        new = (sampler or (lambda one: mx.argmax(one, axis=-1)))(log_probs)[:, None]
        if new.item() in tokenizer.eos_token_ids:
            break
        detokenizer.add_token(new.item())
        print(detokenizer.last_segment, end="", flush=True)
    detokenizer.finalize()
    print(detokenizer.last_segment)
    return detokenizer.text
