"""The models of a solution: Week 1's, and Week 2's with its cache."""

from collections.abc import Iterator
from typing import Any

import mlx.core as mx

from tiny_llm_course.bench.engines import MissingError, Step, Stored
from tiny_llm_course.bench.models import BITS, GROUP_SIZE, args_of, load_mlx
from tiny_llm_course.bench.tokens import draw
from tiny_llm_course.grading.call import dtype_name
from tiny_llm_course.solution import BrokenFileError, Solution, load_solution
from tiny_llm_course.unsolved import Unsolved


def build(
    model: str, solution: str, rung: str
) -> "WithoutCacheEngine | WithCacheEngine":
    """Build one rung of a solution.

    Raises:
        MissingError: The solution does not have it yet.
    """
    found = load_solution(solution)
    kind = {"week1": WithoutCacheEngine, "week2": WithCacheEngine}[rung]
    try:
        return kind(found, model)
    except (Unsolved, NotImplementedError, BrokenFileError) as error:
        raise MissingError(str(error)) from error


class WithoutCacheEngine:
    """Week 1: each new token runs the whole text through the model.

    Args:
        solution: Whose model it is.
        model: Which weights.
    """

    def __init__(self, solution: Solution, model: str) -> None:
        self._vocab_size = args_of(model).vocab_size
        self._model = solution.get("qwen2_week1.Qwen2ModelWeek1")(load_mlx(model))
        self.stored = how_stored(self._model)

    def prefill(self, num_tokens: int) -> Step:
        """Get ready to run a text through the model."""
        ids = mx.array([draw(num_tokens, self._vocab_size)])
        return lambda: mx.eval(mx.argmax(self._model(ids)[:, -1], axis=-1))

    def generate(self, context: int) -> Step:
        """Get ready to do the same: there is no other way."""
        return self.prefill(context)


class WithCacheEngine:
    """Week 2: keys and values of the tokens before are kept.

    Args:
        solution: Whose model it is.
        model: Which weights.
    """

    def __init__(self, solution: Solution, model: str) -> None:
        self._args = args_of(model)
        self._new_cache = solution.get("kv_cache.TinyKvFullCache")
        model_class = solution.get("qwen2_week2.Qwen2ModelWeek2")
        self._model = model_class(load_mlx(model))
        self.stored = how_stored(self._model)

    def prefill(self, num_tokens: int) -> Step:
        """Get ready to run a prompt through the model, with an empty cache."""
        ids = mx.array([draw(num_tokens, self._args.vocab_size)])
        return self._step(ids, 0, self._filled(0))

    def generate(self, context: int) -> Step:
        """Get ready to run one token through the model, with a full cache."""
        ids = mx.array([draw(1, self._args.vocab_size)])
        return self._step(ids, context - 1, self._filled(context - 1))

    def _step(self, ids: mx.array, offset: int, cache: list[Any]) -> Step:
        """Make a step of what is ready."""
        return lambda: mx.eval(mx.argmax(self._model(ids, offset, cache)[:, -1], -1))

    def _filled(self, num_tokens: int) -> list[Any]:
        """Make a cache that holds as many tokens: their numbers do not matter."""
        caches = [self._new_cache() for _ in range(self._model.num_hidden_layers)]
        if num_tokens:
            head_dim = self._args.hidden_size // self._args.num_attention_heads
            shape = (1, self._args.num_key_value_heads, num_tokens, head_dim)
            seen = mx.random.normal(shape).astype(getattr(mx, self.stored.dtype))
            for cache in caches:
                mx.eval(cache.update_and_fetch(seen, seen)[:2])
        return caches


def how_stored(model: Any) -> Stored:  # noqa: ANN401 - a solution's own
    """Find out whether a solution's model keeps its weights packed.

    Packed weights are uint32. What is not packed has the dtype of the gains.
    """
    arrays = list(_arrays(model, set()))
    floats = [one.dtype for one in arrays if mx.issubdtype(one.dtype, mx.floating)]
    dtype = dtype_name(floats[0]) if floats else "float32"
    if any(one.dtype == mx.uint32 for one in arrays):
        return Stored(f"{BITS}-bit, {dtype}", dtype, BITS, GROUP_SIZE)
    return Stored(dtype, dtype)


def _arrays(thing: Any, seen: set[int]) -> Iterator[mx.array]:  # noqa: ANN401
    """Go through the arrays in an object and its parts."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, mx.array):
        yield thing
        return
    if isinstance(thing, dict):
        parts = list(thing.values())
    elif isinstance(thing, list | tuple):
        parts = list(thing)
    else:
        parts = list(getattr(thing, "__dict__", {}).values())
    for part in parts:
        yield from _arrays(part, seen)
