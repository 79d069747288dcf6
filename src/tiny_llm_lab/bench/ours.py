"""The models of a solution: Week 1's, Week 2's variant by variant, and Week 3's."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tiny_llm_course.grading.judgement.call import dtype_name
from tiny_llm_course.solution import BrokenFileError, Solution, load_solution
from tiny_llm_course.unsolved import Unsolved
from tiny_llm_lab.bench.engines import MissingError, Step, Stored
from tiny_llm_lab.bench.models import (
    BITS,
    GROUP_SIZE,
    args_of,
    load_mlx,
    num_bytes_of,
)
from tiny_llm_lab.bench.tokens import draw

DENSE = {"week1", "cache"}


def build(
    model: str, solution: str, variant: str
) -> "WithoutCacheEngine | WithCacheEngine | Week3Engine":
    """Build one variant of a solution, and let it take a step.

    Raises:
        MissingError: The solution does not have it yet.
    """
    found = load_solution(solution)
    try:
        need_kernels(found, variant)
        if variant == "week1":
            return WithoutCacheEngine(found, model)
        if variant == "week3":
            return Week3Engine(found, model)
        return WithCacheEngine(found, model, variant)
    except (Unsolved, NotImplementedError, BrokenFileError, ImportError) as error:
        raise MissingError(str(error)) from error


def need_kernels(solution: Solution, variant: str) -> None:
    """Check that what a variant is about is there, where other operations would do.

    Raises:
        MissingError: The solution does not have that part yet.
        ImportError: The kernels are not built.
    """
    if variant in {"kernels", "everything", "week3", "attention"}:
        solution.get("kernels.built")()
        solution.get("kernels.quantized_linear")
    if variant in {"everything", "week3", "attention"}:
        solution.get("attention.flash_attention")


class WithoutCacheEngine:
    """Week 1: each new token runs the whole text through the model.

    Args:
        solution: The solution whose model is timed.
        model: The model's weights.
    """

    def __init__(self, solution: Solution, model: str) -> None:
        self._vocab_size = args_of(model).vocab_size
        model_class = solution.get("qwen2_week1.Qwen2ModelWeek1")
        self.model = model_class(load_mlx(model, bits=None))
        dtype = dtype_name(self.model(mx.array([[0]])).dtype)
        self.stored = Stored(dtype, dtype)

    def prefill(self, num_tokens: int) -> Step:
        """Prepare to run a text through the model."""
        ids = mx.array([draw(num_tokens, self._vocab_size)])
        return lambda: mx.eval(mx.argmax(self.model(ids)[:, -1], axis=-1))

    def generate(self, context: int) -> Step:
        """Prepare the same as `prefill`: the whole text runs through the model."""
        return self.prefill(context)


class WithCacheEngine:
    """Week 2: keys and values of earlier tokens are cached.

    Args:
        solution: Whose model it is.
        model: Which weights.
        variant: "cache" with dense weights, "quantised" and "kernels" with packed ones,
            "everything" with flash attention, too, "week3" all that in Week 3's model.

    Raises:
        MissingError: The solution cannot build this variant yet.
    """

    def __init__(self, solution: Solution, model: str, variant: str) -> None:
        self._args = args_of(model)
        self._new_cache = solution.get("kv_cache.TinyKvFullCache")
        network = load_mlx(model, bits=None if variant in DENSE else BITS)
        model_class = solution.get(
            "qwen2_week3.Qwen2ModelWeek3"
            if variant == "week3"
            else "qwen2_week2.Qwen2ModelWeek2"
        )
        self.model = (
            with_flash_attention(model_class, network)
            if variant in {"everything", "week3"}
            else model_class(network)
        )
        num_layers = self.model.num_hidden_layers
        caches = [self._new_cache() for _ in range(num_layers)]
        logits = self.model(mx.array([[0]]), 0, caches)
        mx.eval(logits)
        self._dtype = logits.dtype
        self.stored = how_stored(self.model, self._dtype, network)

    def prefill(self, num_tokens: int) -> Step:
        """Prepare to run a prompt through the model, with an empty cache.

        The last token runs separately. The logits of the tokens before it are not used,
        so MLX, being lazy, does not compute them.
        """
        *before, last = draw(num_tokens, self._args.vocab_size)
        caches = self._filled(0)

        def step() -> None:
            if before:
                self.model(mx.array([before]), 0, caches)
            self._take_in(last, len(before), caches)

        return step

    def generate(self, context: int) -> Step:
        """Prepare to run one token through the model, then the one after that."""
        ids = iter(draw(context, self._args.vocab_size))
        caches = self._filled(context - 1)
        return lambda: self._take_in(next(ids), caches[0].offset, caches)

    def logits(self, pieces: Sequence[Sequence[int]]) -> NDArray[Any]:
        """Return the logits of a text that is passed in pieces, one row per token."""
        caches, rows = self._filled(0), list[NDArray[Any]]()
        for piece in pieces:
            found = self.model(mx.array([piece]), len(rows), caches)
            rows += list(np.array(found[0].astype(mx.float32)))
        return np.stack(rows)

    def _take_in(self, token: int, offset: int, caches: list[Any]) -> None:
        """Pass one token to the model, and find the likeliest next one."""
        logits = self.model(mx.array([[token]]), offset, caches)
        mx.eval(mx.argmax(logits[:, -1], axis=-1))

    def _filled(self, num_tokens: int) -> list[Any]:
        """Make a cache that holds that many tokens, with arbitrary values."""
        caches = [self._new_cache() for _ in range(self.model.num_hidden_layers)]
        if num_tokens:
            head_dim = self._args.hidden_size // self._args.num_attention_heads
            shape = (1, self._args.num_key_value_heads, num_tokens, head_dim)
            seen = mx.random.normal(shape).astype(self._dtype)
            for cache in caches:
                mx.eval(cache.update_and_fetch(seen, seen)[:2])
        return caches


class Week3Engine(WithCacheEngine):
    """Week 3: of a prompt, only the last token is scored.

    Args:
        solution: Whose model it is.
        model: Which weights.
    """

    def __init__(self, solution: Solution, model: str) -> None:
        super().__init__(solution, model, "week3")

    def prefill(self, num_tokens: int) -> Step:
        """Prepare to run a prompt through the model at once, with an empty cache."""
        ids = mx.array([draw(num_tokens, self._args.vocab_size)])
        caches = self._filled(0)

        def step() -> None:
            logits = self.model(ids, 0, caches, logits_to_keep=1)
            mx.eval(mx.argmax(logits[:, -1], axis=-1))

        return step


def with_flash_attention(model_class: Any, network: Any) -> Any:  # noqa: ANN401
    """Return a model of Week 2 with kernels and flash attention.

    Raises:
        MissingError: The solution refuses, as it does before Day 6.
    """
    try:
        return model_class(network, enable_flash_attn=True)
    except ValueError as error:
        raise MissingError(str(error)) from error


def how_stored(
    model: Any,  # noqa: ANN401 - a solution's own
    dtype: mx.Dtype,
    network: Any,  # noqa: ANN401 - mlx_lm has no types
) -> Stored:
    """Find out whether a solution's model keeps its weights quantised, and how.

    Args:
        model: The model, which may have made weights dense or changed the scales'
            dtype.
        dtype: The dtype in which it computes and stores keys and values.
        network: The weights as they were loaded.
    """
    name = dtype_name(dtype)
    packed = {id(one.weight): one for one in _packed(model, set())}
    if not packed:
        return Stored(name, name)
    loaded = [one for one in network.modules() if hasattr(one, "scales")]
    num_bytes = num_bytes_of(network) - _num_bytes(loaded) + _num_bytes(packed.values())
    return Stored(f"{BITS}-bit, {name}", name, BITS, GROUP_SIZE, num_bytes)


def _num_bytes(packed: Iterable[Any]) -> int:
    """Count the bytes of quantised weights, with their scales and biases."""
    return sum(
        array.nbytes for one in packed for array in (one.weight, one.scales, one.biases)
    )


def _packed(thing: Any, seen: set[int]) -> Iterator[Any]:  # noqa: ANN401
    """Yield the quantised weights in an object and its parts."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(getattr(thing, "scales", None), mx.array):
        yield thing
    elif isinstance(thing, dict):
        for part in list(thing.values()):
            yield from _packed(part, seen)
    elif isinstance(thing, list | tuple):
        for part in thing:
            yield from _packed(part, seen)
    else:
        for part in list(getattr(thing, "__dict__", {}).values()):
            yield from _packed(part, seen)
