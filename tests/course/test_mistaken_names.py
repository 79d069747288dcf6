"""Wrong solutions that were once named for another mistake than their own."""

import functools
import itertools
import runpy
from collections.abc import Callable, Iterator
from typing import Any

import mlx.core as mx
import pytest

from tiny_llm_course.grading.diagnosis.known_mistakes import explain
from tiny_llm_course.grading.judgement.trial import Outcome, Trial
from tiny_llm_course.places import TESTS
from tiny_llm_course.solution import load_solution
from tiny_llm_course.specimens import Specimen, misconceptions
from tiny_llm_course.syllabus import Address, task_at
from tiny_llm_ref.attention import scaled_dot_product_attention_grouped
from tiny_llm_ref.basics import softmax
from tiny_llm_ref.kv_cache import Mask, TinyKvCache, TinyKvFullCache
from tiny_llm_ref.roofline import bytes_per_token

Array = mx.array

SIMPLE, GROUPED, CAUSAL = Address(1, 1, 1), Address(1, 3, 1), Address(1, 3, 2)
TOP_P, CACHE, LOOP = Address(1, 7, 3), Address(2, 1, 1), Address(2, 1, 4)
BYTES = Address(2, 2, 2)


@functools.cache
def _trials(task: Address) -> list[Trial]:
    """Return the graded tests of a task, with the arguments that pytest passes."""
    file = f"test_{task_at(task).files}.py"
    return [
        Trial(task, name, function, arguments, mx.DeviceType.cpu)
        for name, function in runpy.run_path(str(TESTS / file)).items()
        if name.startswith(f"test_task_{task.task}_")
        for arguments in _arguments(function)
    ]


def _arguments(function: Callable[..., None]) -> Iterator[dict[str, Any]]:
    """Yield what a test is parametrised with."""
    marks: list[Any] = getattr(function, "pytestmark", [])
    for chosen in itertools.product(*(_named(*one.args) for one in reversed(marks))):
        yield {name: value for one in chosen for name, value in one.items()}


def _named(names: str | tuple[str, ...], values: list[Any]) -> list[dict[str, Any]]:
    """Return the arguments of one mark, by name."""
    if isinstance(names, str):
        return [{names: value} for value in values]
    return [dict(zip(names, each, strict=True)) for each in values]


def _names(task: Address, symbol: str, wrong: object) -> list[str]:
    """Grade a wrong solution, and return how its mistake is named."""
    solution = Specimen(task, symbol, wrong).as_solution()
    outcomes = [Outcome(one, one.run(solution)) for one in _trials(task)]
    assert any(one.verdict for one in outcomes)
    return [one.name for one in explain(outcomes, misconceptions(task))]


@pytest.mark.parametrize("task", [SIMPLE, GROUPED, CAUSAL, TOP_P, CACHE, LOOP, BYTES])
def test_the_tests_of_a_task_are_those_that_the_reference_passes(task: Address) -> None:
    reference = load_solution("ref")

    assert _trials(task)
    assert not [one.test for one in _trials(task) if one.run(reference)]


@pytest.mark.parametrize(
    ("flags", "names"),
    [
        (lambda mask: mask == 0, ["ones_added_where_it_allows"]),
        (lambda mask: mask != 0, ["ones_added_where_it_forbids"]),
        (lambda mask: mask > -mx.inf, []),
    ],
)
@pytest.mark.parametrize("task", [SIMPLE, GROUPED])
def test_flags_that_are_added_are_no_mask_that_is_ignored(
    flags: Callable[[Array], Array], names: list[str], task: Address
) -> None:
    def simple(
        query: Array,
        key: Array,
        value: Array,
        scale: float | None = None,
        mask: Array | None = None,
    ) -> Array:
        factor = query.shape[-1] ** -0.5 if scale is None else scale
        scores = query @ key.swapaxes(-2, -1) * factor
        if mask is not None:
            scores = scores + flags(mask).astype(scores.dtype)
        return softmax(scores, axis=-1) @ value

    def grouped(*args: Array, scale: float | None = None, mask: Mask = None) -> Array:
        if isinstance(mask, Array):
            mask = flags(mask).astype(args[0].dtype)
        return scaled_dot_product_attention_grouped(*args, scale=scale, mask=mask)

    wrong = simple if task == SIMPLE else grouped
    symbol = task_at(task).symbols[-1]

    assert _names(task, symbol, wrong) == names


def test_a_diagonal_on_the_wrong_side_exchanges_nothing() -> None:
    """With as many queries as keys, the mask is right."""

    def causal_mask(L: int, S: int, dtype: mx.Dtype) -> Array:  # noqa: N803
        return mx.triu(mx.full((L, S), -mx.inf), k=1 + L - S).astype(dtype)

    names = _names(CAUSAL, "attention.causal_mask", causal_mask)

    assert names == ["aligned_the_other_way_round"]


def test_min_p_is_no_share_to_drop() -> None:
    def min_p(
        temp: float, top_p: float | None, top_k: int | None
    ) -> Callable[[Array], Array]:
        def sample(x: Array) -> Array:
            p = mx.softmax(x, axis=-1)
            if top_k:
                x = mx.where(x >= mx.sort(x, axis=-1)[:, -top_k:][:, :1], x, -mx.inf)
            if top_p and top_p < 1:
                likeliest = mx.max(p, axis=-1, keepdims=True)
                x = mx.where(p >= top_p * likeliest, x, -mx.inf)
            return mx.random.categorical(x / temp)

        return sample

    names = _names(TOP_P, "sampler.make_sampler", min_p)

    assert names == ["top_p_as_a_share_of_the_likeliest"]


@pytest.mark.parametrize("num_places", [512, 1024])
def test_a_buffer_that_never_grows_has_no_step(num_places: int) -> None:
    class Fixed(TinyKvCache):
        def __init__(self) -> None:
            self.offset = 0
            self.held: list[Array] = []

        def update_and_fetch(
            self,
            key: Array,
            value: Array,
            mask_length: int | None = None,
            mask: Mask = None,
        ) -> tuple[Array, Array, int, Mask]:
            del mask_length
            B, H, L, D = key.shape  # noqa: N806 - the axes as in the formulas
            if not self.held:
                room = mx.zeros((B, H, num_places, D), key.dtype)
                self.held = [room, mx.array(room)]
            start, self.offset = self.offset, self.offset + L
            for buffer, new in zip(self.held, (key, value), strict=True):
                buffer[:, :, start : self.offset] = new
            keys, values = (one[:, :, : self.offset] for one in self.held)
            return keys, values, self.offset, mask

    assert _names(CACHE, "kv_cache.TinyKvFullCache", Fixed) == ["room_for_512_tokens"]


def test_a_detokenizer_read_anew_is_not_late() -> None:
    def generate(model: Any, tokenizer: Any, prompt: str) -> str:  # noqa: ANN401
        caches = [TinyKvFullCache() for _ in range(model.num_hidden_layers)]
        new, offset = list(tokenizer.encode(prompt)), 0
        while True:
            logits = model(mx.array([new]), offset, caches)
            offset += len(new)
            token = mx.argmax(logits[0, -1]).item()
            if token in tokenizer.eos_token_ids:
                tokenizer.detokenizer.finalize()
                return tokenizer.detokenizer.text
            new = [token]
            tokenizer.detokenizer.add_token(token)
            print(tokenizer.detokenizer.last_segment, end="", flush=True)

    names = _names(LOOP, "generate.simple_generate_with_kv_cache", generate)

    assert names == ["detokenizer_made_anew"]


def test_a_token_too_many_in_the_cache_is_named() -> None:
    """Its bytes are those of two vectors that nobody adds twice."""

    def with_one_more(config: object, context: int, *args: Any, **named: Any) -> int:  # noqa: ANN401
        return bytes_per_token(config, context + 1, *args, **named)

    names = _names(BYTES, "roofline.bytes_per_token", with_one_more)

    assert names == ["cache_with_a_token_to_come"]
