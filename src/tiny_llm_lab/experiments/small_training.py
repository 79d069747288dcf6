"""Training of a small model: MLX's autograd on the solution's blocks, and Adam."""

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

import mlx.core as mx
import numpy as np
from mlx import optimizers

from tiny_llm_course.checkpoint import EMBEDDED
from tiny_llm_course.solution import Solution
from tiny_llm_lab.corpus import Corpus
from tiny_llm_lab.corpus.rows import Packer, Rows
from tiny_llm_lab.experiments.small_model import (
    Design,
    Size,
    SmallModel,
    Weights,
    arrays_of,
    new_weights,
)

SIZE = Size(vocab_size=2048, dim=96, num_heads=3, num_layers=4, context=128)
"""With width 96, a gated layer has exactly as many weights as one of width 4 D."""

BATCH_SIZE = 8
WARMUP_SHARE = 0.1
CLIP_NORM = 1.0
BETAS = (0.9, 0.95)
HELD_OUT_ROWS = 128
HELD_OUT_SEED = 0
DOCUMENTS_PER_CHUNK = 2000


@dataclass(frozen=True)
class Budget:
    """How a model is trained.

    Attributes:
        steps: Number of steps, each on `BATCH_SIZE` new rows of `Size.context` tokens.
        learning_rate: The largest: it rises linearly, and falls along a half cosine.
        seed: The seed of the weights and of the text.
    """

    steps: int
    learning_rate: float
    seed: int

    def rate(self, step: int) -> float:
        """Return the learning rate of a step."""
        warmup = max(1, round(WARMUP_SHARE * self.steps))
        if step < warmup:
            return self.learning_rate * (step + 1) / warmup
        done = (step - warmup) / (self.steps - warmup)
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * done))


@dataclass(frozen=True)
class Step:
    """The results of a step: its number from 1, its loss and gradients."""

    number: int
    loss: float
    weights: Weights
    gradients: Weights


def train(
    solution: Solution, design: Design, size: Size, budget: Budget
) -> Iterator[Step]:
    """Train a model, a step at a time.

    Loss and gradients of a step are those before the update; `weights` are those after
    it. The gradients are clipped together to a norm of `CLIP_NORM`; the returned ones
    are not.
    """
    weights = new_weights(solution, design, size, budget.seed)
    optimizer = optimizers.Adam(budget.learning_rate, betas=list(BETAS))
    optimizer.init(weights)
    rows = text_rows(budget.seed, budget.steps * BATCH_SIZE, size.context + 1)

    def loss_of(weights: Weights, batch: mx.array) -> mx.array:
        return next_token_loss(SmallModel(solution, design, size, weights), batch)

    loss_and_gradients = mx.compile(mx.value_and_grad(loss_of))
    for step in range(budget.steps):
        batch = to_tokens(rows[step * BATCH_SIZE : (step + 1) * BATCH_SIZE])
        loss, gradients = loss_and_gradients(weights, batch)
        clipped, _ = optimizers.clip_grad_norm(gradients, CLIP_NORM)
        optimizer.learning_rate = budget.rate(step)
        weights = optimizer.apply_gradients(clipped, weights)
        mx.eval(loss, gradients, weights, optimizer.state)
        yield Step(step + 1, float(loss), weights, gradients)


def next_token_loss(model: Callable[[mx.array], mx.array], batch: mx.array) -> mx.array:
    """Average the cross-entropy, in nats, of every token but the first of each row."""
    logits = model(batch[:, :-1])
    scores = mx.take_along_axis(logits, batch[:, 1:, None], axis=-1).squeeze(-1)
    return mx.mean(mx.logsumexp(logits, axis=-1) - scores)


def held_out_loss(model: SmallModel) -> float:
    """Measure the loss on documents that are in no training text."""
    rows = text_rows(
        HELD_OUT_SEED, HELD_OUT_ROWS, model.size.context + 1, held_out=True
    )
    batches = np.split(rows, len(rows) // BATCH_SIZE)
    losses = [float(next_token_loss(model, to_tokens(batch))) for batch in batches]
    return sum(losses) / len(losses)


def num_parameters(weights: Weights) -> int:
    """Count the trained numbers."""
    return sum(array.size for array in arrays_of(weights))


@functools.cache
def text_rows(seed: int, num_rows: int, length: int, held_out: bool = False) -> Rows:
    """Write rows of the course's own corpus, in the embedded model's tokens."""
    corpus = Corpus(seed, held_out=held_out)
    packer = Packer(corpus, EMBEDDED / "tokenizer.json", length, DOCUMENTS_PER_CHUNK)
    chunks: list[Rows] = []
    for chunk in count():
        chunks.append(packer.rows(chunk))
        if sum(map(len, chunks)) >= num_rows:
            return np.concatenate(chunks)[:num_rows]
    raise AssertionError("unreachable")


def to_tokens(rows: Rows) -> mx.array:
    """Copy rows into an array."""
    return mx.array(rows.astype(np.int32))
