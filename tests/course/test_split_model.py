"""A model on several processes, with our kernels: no layer stays one operation."""

import mlx.core as mx
import numpy as np
import pytest
from mlx import nn

from tiny_llm_course.grading.scenarios.architecture import (
    Architecture,
    dequantised,
    mlx_model,
    model_weights,
)
from tiny_llm_course.grading.scenarios.pieces import RUN_PIECES
from tiny_llm_course.grading.scenarios.splitting import Split
from tiny_llm_course.oracle.cached import qwen2
from tiny_llm_course.solution import load_solution
from tiny_llm_ref import kernels

SIZES = Architecture(hidden_size=128, intermediate_size=192, num_attention_heads=4)
TEXTS = ((3, 1, 4, 1, 5, 9, 2, 6), (5, 35, 8))
STEPS = ({0: 3, 1: 2}, {0: 5, 1: 1})


@pytest.mark.parametrize("rank", [0, 1])
def test_two_processes_are_as_near_to_the_truth_as_one(
    monkeypatch: pytest.MonkeyPatch, rank: int
) -> None:
    """Kernels round to 8 bits, so logits of two are not those of one to the last bit.

    Half of the 192 channels are a group and a half.
    """
    try:
        kernels.built()
    except kernels.NotBuiltError as error:
        pytest.skip(str(error))
    monkeypatch.setenv("TINY_LLM_KERNELS", "own")
    model = mlx_model(SIZES, model_weights(SIZES, mx.float32))
    nn.quantize(model, group_size=64, bits=8)

    one, two = (_error(model, size, rank % size) for size in (1, 2))

    assert two < 1.2 * one
    assert two != one, "a layer in one operation has all weights, and adds up nothing"


def _error(model: nn.Module, size: int, rank: int) -> float:
    """Return how far the logits of a process are off, at most."""
    call = Split(
        RUN_PIECES, (model, True), texts=TEXTS, steps=STEPS, size=size, rank=rank
    )
    got = np.array(call.run(load_solution("ref")))
    weights = dequantised(model)
    truth = [qwen2.model(mx.array([text]), weights, SIZES) for text in TEXTS]
    return float(np.abs(got - call.truth(truth).value).max())
