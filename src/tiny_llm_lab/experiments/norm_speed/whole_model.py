"""A whole model with either norm: its loss, the gradients, a step of Adam."""

from collections.abc import Callable
from typing import Any

import mlx.core as mx
from mlx import optimizers
from mlx.utils import tree_map

from tiny_llm_course.solution import Solution
from tiny_llm_lab.experiments.norm_speed.contest import (
    COMPILED,
    FORWARD,
    LAYER,
    RMS,
    SEED,
    TRAINING,
    Case,
    Contest,
    Entrant,
)
from tiny_llm_lab.experiments.norm_speed.in_mlx import peak_bytes
from tiny_llm_lab.experiments.small_model import (
    Design,
    Size,
    SmallModel,
    Weights,
    new_weights,
)
from tiny_llm_lab.experiments.small_training import next_token_loss
from tiny_llm_lab.timing import Step

SIZE = Size(vocab_size=2048, dim=512, num_heads=8, num_layers=8, context=128)
"""Layers and width are those of the notes; the rest is small enough for a CPU."""

BATCH_SIZE = 2
LEARNING_RATE = 1e-4


def contest(case: Case, solution: Solution) -> Contest:
    """Build the same model with each norm."""
    entrants = {norm: _entrant(case, norm, solution) for norm in (RMS, LAYER)}
    return Contest(entrants, peak_bytes)


def _entrant(case: Case, norm: str, solution: Solution) -> Entrant:
    """Make a model, and its step."""
    design = Design(norm=norm)
    weights = new_weights(solution, design, SIZE, SEED)
    shape = (BATCH_SIZE, SIZE.context + 1)
    tokens = mx.random.randint(0, SIZE.vocab_size, shape, key=mx.random.key(SEED))
    mx.eval(weights, tokens)

    def loss_of(weights: Weights) -> mx.array:
        return next_token_loss(SmallModel(solution, design, SIZE, weights), tokens)

    is_forward = case.direction == FORWARD
    function = loss_of if is_forward else mx.value_and_grad(loss_of)
    function = mx.compile(function) if case.form == COMPILED else function
    if case.direction == TRAINING:
        return _training(function, weights)
    return Entrant(lambda: mx.eval(function(weights)), _num_bytes(weights))


def _training(loss_and_gradients: Callable[..., Any], weights: Weights) -> Entrant:
    """Build a variant that also updates the weights with Adam."""
    optimizer = optimizers.Adam(LEARNING_RATE)
    optimizer.init(weights)
    mx.eval(optimizer.state)
    held_bytes = _num_bytes(weights) + _num_bytes(optimizer.state)
    return Entrant(_step(loss_and_gradients, optimizer, weights), held_bytes)


def _step(
    loss_and_gradients: Callable[..., Any],
    optimizer: optimizers.Adam,
    weights: Weights,
) -> Step:
    """Return a function that trains for one step, with the weights in `current`."""
    current = {"weights": weights}

    def step() -> None:
        loss, gradients = loss_and_gradients(current["weights"])
        current["weights"] = optimizer.apply_gradients(gradients, current["weights"])
        mx.eval(loss, current["weights"], optimizer.state)

    return step


def _num_bytes(tree: Weights) -> int:
    """Add up the sizes of arrays."""
    sizes: list[int] = []
    tree_map(lambda array: sizes.append(array.nbytes), tree)
    return sum(sizes)
