"""`mlx_lm`: the library that the course's models are measured against first."""

from typing import Any

import mlx.core as mx
from mlx_lm.generate import generate_step
from mlx_lm.models.cache import make_prompt_cache

from tiny_llm_lab.bench.engines import Step, Stored
from tiny_llm_lab.bench.models import (
    BITS,
    GROUP_SIZE,
    args_of,
    load_mlx,
    num_bytes_of,
)
from tiny_llm_lab.bench.tokens import draw


def build(model: str, solution: str, option: str) -> "MlxLmEngine":
    """Build the model of `mlx_lm`: `option` is a dtype, after "4bit-" if quantised."""
    del solution
    *packed, dtype = option.split("-")
    return MlxLmEngine(model, dtype, BITS if packed else None)


class MlxLmEngine:
    """The model of `mlx_lm`, with its own cache and its own way to read a prompt.

    Args:
        model: The model's weights.
        dtype: The dtype of what is not quantised.
        bits: The width of quantised weights, or None.
    """

    def __init__(self, model: str, dtype: str, bits: int | None) -> None:
        self._args = args_of(model)
        self._model = load_mlx(model, bits=bits, dtype=dtype)
        self._dtype: mx.Dtype = getattr(mx, dtype)
        num_bytes = num_bytes_of(self._model)
        self.stored = (
            Stored(dtype, dtype)
            if bits is None
            else Stored(f"{bits}-bit, {dtype}", dtype, bits, GROUP_SIZE, num_bytes)
        )

    def prefill(self, num_tokens: int) -> Step:
        """Prepare to read a prompt. The head is applied to the last token only."""
        ids = mx.array(draw(num_tokens, self._args.vocab_size))

        def step() -> None:
            for _ in generate_step(ids, self._model, max_tokens=0):
                pass

        return step

    def generate(self, context: int) -> Step:
        """Prepare to run one token through the model, then the one after that."""
        ids = mx.array([draw(1, self._args.vocab_size)])
        cache = self._filled(context - 1)
        return lambda: mx.eval(mx.argmax(self._model(ids, cache)[:, -1], axis=-1))

    def _filled(self, num_tokens: int) -> list[Any]:
        """Make a cache that holds that many tokens, with arbitrary values."""
        caches = make_prompt_cache(self._model)
        if num_tokens:
            head_dim = self._args.hidden_size // self._args.num_attention_heads
            shape = (1, self._args.num_key_value_heads, num_tokens, head_dim)
            seen = mx.random.normal(shape).astype(self._dtype)
            for cache in caches:
                mx.eval(cache.update_and_fetch(seen, seen))
        return caches
