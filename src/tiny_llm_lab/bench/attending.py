"""Attention alone: one new token attends to all tokens in a model's caches."""

from typing import Any

import mlx.core as mx

from tiny_llm_course.grading.judgement.call import dtype_name
from tiny_llm_course.solution import BrokenFileError, Solution, load_solution
from tiny_llm_course.unsolved import Unsolved
from tiny_llm_lab.bench.engines import MissingError, Step, Stored
from tiny_llm_lab.bench.models import args_of
from tiny_llm_lab.bench.ours import need_kernels


def build(model: str, solution: str, option: str) -> "AttentionEngine":
    """Build the attention of a solution's kernels.

    Raises:
        MissingError: The solution does not have it yet.
    """
    found = load_solution(solution)
    try:
        need_kernels(found, option)
        engine = AttentionEngine(found, model)
        engine.attend(2)()
    except (Unsolved, NotImplementedError, BrokenFileError, ImportError) as error:
        raise MissingError(str(error)) from error
    return engine


class AttentionEngine:
    """`flash_attention`, over as many caches as a model has layers.

    They are used in turn, so that each is read from memory: together they are larger
    than the processor's caches.

    Args:
        solution: The solution whose function is timed.
        model: The model whose sizes are used.
    """

    def __init__(self, solution: Solution, model: str) -> None:
        self._args = args_of(model)
        self._attend = solution.get("attention.flash_attention")
        self._new_cache = solution.get("kv_cache.TinyKvFullCache")
        self._head_dim: int = self._args.hidden_size // self._args.num_attention_heads
        self._kept: dict[int, list[tuple[mx.array, mx.array]]] = {}
        self._dtype = mx.float32
        name = dtype_name(self._dtype)
        self.stored = Stored(name, name)

    def attend(self, context: int) -> Step:
        """Prepare a step: one token attends to `context` others in each layer."""
        if context not in self._kept:
            layers = range(self._args.num_hidden_layers)
            self._kept[context] = [self._filled(context) for _ in layers]
        query = self._draw(self._args.num_attention_heads, 1)
        caches = self._kept[context]
        return lambda: mx.eval(
            [self._attend(query, *one, mask="causal") for one in caches]
        )

    def _filled(self, num_tokens: int) -> tuple[mx.array, mx.array]:
        """Return keys and values as a cache returns them after it has grown."""
        cache: Any = self._new_cache()
        for length in (num_tokens - 1, 1):
            new = self._draw(self._args.num_key_value_heads, length)
            keys, values, *_ = cache.update_and_fetch(new, new + 1)
            mx.eval(keys, values)
        return keys, values

    def _draw(self, num_heads: int, length: int) -> mx.array:
        """Return random vectors."""
        shape = (1, num_heads, length, self._head_dim)
        return mx.random.normal(shape).astype(self._dtype)


def cache_bytes(model: str, context: int) -> int:
    """Count the bytes that one step of `attend` reads: all keys and values, once."""
    args = args_of(model)
    head_dim = args.hidden_size // args.num_attention_heads
    per_token = 2 * args.num_hidden_layers * args.num_key_value_heads * head_dim
    return context * per_token * mx.float32.size
