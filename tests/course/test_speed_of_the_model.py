"""`pdm run speed --model`: the embedded model as one kernel after the other joins."""

from typing import Any

import mlx.core as mx
import pytest

from tiny_llm_course.checkpoint import load
from tiny_llm_course.inference.engine import without_torch
from tiny_llm_course.places import REFERENCE
from tiny_llm_course.solution import Solution
from tiny_llm_course.speed.in_the_model import Speeds, Stage, in_words, stages, timed
from tiny_llm_course.unsolved import Unsolved


class WithKernels(Solution):
    """Our solution, whose kernels are operations of MLX, up to some day.

    Args:
        missing: Kernels that are not written.
    """

    def __init__(self, *missing: str) -> None:
        super().__init__(REFERENCE, "tiny_llm_of_a_test")
        self.missing = missing

    def get(self, symbol: str) -> Any:  # noqa: ANN401 - any public name
        file, name = symbol.split(".")
        if name in self.missing or symbol == "qwen2_week2.Qwen2ModelWeek2":
            raise Unsolved(name)
        return KERNELS[name] if file == "kernels" else super().get(symbol)


def product(x: mx.array, w: Any) -> mx.array:  # noqa: ANN401
    return mx.quantized_matmul(
        x, w.weight, w.scales, w.biases, group_size=w.group_size, bits=w.bits
    )


def attend(
    q: mx.array, k: mx.array, v: mx.array, scale: float, mask: str | None
) -> mx.array:
    return mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask=mask)


def rope(x: mx.array, offset: int, base: float) -> mx.array:
    y = mx.fast.rope(
        x.swapaxes(1, 2),
        x.shape[-1],
        traditional=False,
        base=base,
        scale=1.0,
        offset=offset,
    )
    return y.swapaxes(1, 2)


KERNELS = {
    **{f"matvec_{one}": product for one in ("naive", "blocked", "simd", "int8")},
    "matvec_threaded": product,
    "matmul_threaded": product,
    "attention_split": attend,
    "attention_tiled": attend,
    "rms_norm": mx.fast.rms_norm,
    "rope": rope,
    "swiglu": lambda gate, up: gate * mx.sigmoid(gate) * up,
}

DAYS = [1, 1, 3, 3, 4, 4, 4, 4, 4, 5, 6, 7]


def logits(stage: Stage) -> mx.array:
    """Return what a model predicts after ten tokens, and after one more."""
    caches = [stage.cache() for _ in range(stage.model.num_hidden_layers)]
    ids = mx.arange(10)[None]
    before = stage.model(ids, 0, caches)[:, -1:]
    return mx.concatenate([before, stage.model(ids[:, :1], 10, caches)])


@pytest.fixture
def network() -> Any:  # noqa: ANN401 - mlx_lm has no types
    with without_torch():
        return load("embedded").model


def test_kernels_join_one_after_the_other_and_change_no_prediction(
    network: Any,  # noqa: ANN401
) -> None:
    found = list(stages(WithKernels(), network))

    assert [one.day for one in found] == DAYS
    exact = logits(found[0])
    assert mx.max(mx.abs(logits(found[1]) - exact)) < 0.01
    truth = logits(found[2])
    for one in found[3:]:
        assert mx.max(mx.abs(logits(one) - truth)) < 0.01


def test_what_is_not_written_is_left_out(network: Any) -> None:  # noqa: ANN401
    without = WithKernels("matvec_simd", "matvec_threaded", "rope")

    found = list(stages(without, network))

    names = [one.name for one in found]
    assert names[4:] == ["matvec_naive", "matvec_blocked", "matvec_int8", "attention"]


@pytest.fixture
def stage() -> Stage:
    """Return a model without layers that always predicts the first token."""

    class Model:
        num_hidden_layers = 0

        def __call__(self, ids: mx.array, offset: int, caches: object) -> mx.array:
            del offset, caches
            return mx.zeros((*ids.shape, 4))

    return Stage("dense", 1, Model(), object)


def test_reading_and_writing_are_timed_apart(stage: Stage) -> None:
    (speeds,) = timed([stage])

    assert speeds.prompt > speeds.answer > 0


def test_each_model_has_a_line(stage: Stage) -> None:
    *_, last = in_words([Speeds(stage, 1234.5, 61.8)])

    assert last.split() == [
        *("Day", "1", "dense", "weights,", "with", "a", "cache", "1234", "62"),
    ]
