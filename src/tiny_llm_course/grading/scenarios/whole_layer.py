"""Whole layers as one operation, which writes into the buffers of a cache."""

from dataclasses import dataclass, replace
from typing import Any

import mlx.core as mx

from tiny_llm_course.grading.judgement.inputs import normal
from tiny_llm_course.grading.scenarios.architecture import Architecture
from tiny_llm_course.grading.scenarios.multiple_outputs import OneOf
from tiny_llm_course.solution import Solution


def filled_buffers(
    sizes: Architecture, offset: int, capacity: int
) -> tuple[mx.array, mx.array]:
    """Draw the keys and values of a cache, 1 x H_kv x C x D.

    They are as large as those of a layer. What is not taken has large numbers in it,
    which nobody may attend to.

    Args:
        sizes: Of the model.
        offset: How many places are taken.
        capacity: How many there are.
    """
    head_dim = sizes.hidden_size // sizes.num_attention_heads
    shape = (1, sizes.num_key_value_heads, capacity, head_dim)
    is_taken = (mx.arange(capacity) < offset)[:, None]
    keys, values = (
        mx.where(is_taken, 1.0, 20.0) * normal(*shape, name=name)
        for name in ("keys", "values")
    )
    return keys, values


@dataclass(frozen=True)
class InBuffers(OneOf):
    """A call of `run_layer`, which is given copies of keys and values to write into."""

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a solution returns
        """Return the result that is judged."""
        layer, x, keys, values, offset = self.args
        given_away = (layer, x, keys + 0, values + 0, offset)
        return super(InBuffers, replace(self, args=given_away)).run(solution)
