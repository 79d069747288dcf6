"""What quantising costs the embedded model, on text that it was not trained on."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import mlx.core as mx
from mlx import nn

from tiny_llm_course.book.embedded import sizes, token_ids, weights
from tiny_llm_course.grading.scenarios.architecture import mlx_model
from tiny_llm_lab.corpus.documents import Corpus
from tiny_llm_lab.training.recipe import Recipe
from tiny_llm_ref.qwen2_week1 import Qwen2ModelWeek1

from .counting import GROUP_SIZES, WIDTHS, matrices

NUM_DOCUMENTS = 12
LONGEST = 200
"""Tokens of a document that is still taken: attention over more takes long."""


@cache
def _texts() -> tuple[mx.array, ...]:
    """Return the tokens of held-out documents."""
    corpus = Corpus(Recipe.seed, held_out=True)
    texts = [token_ids(one.text) for one in corpus.documents(0, NUM_DOCUMENTS)]
    return tuple(mx.array([ids[:LONGEST]]) for ids in texts)


def _log_probabilities(model: Qwen2ModelWeek1) -> list[mx.array]:
    """Return what a model expects behind each token but the last, text by text."""
    found = []
    for ids in _texts():
        logits = model(ids[:, :-1])[0]
        found.append(logits - mx.logsumexp(logits, axis=-1, keepdims=True))
        mx.eval(found[-1])
    return found


def _loss(log_probabilities: Sequence[mx.array]) -> float:
    """Return the mean loss for each token."""
    total, number = 0.0, 0
    for ids, known in zip(_texts(), log_probabilities, strict=True):
        total -= mx.sum(mx.take_along_axis(known, ids[0, 1:, None], axis=-1)).item()
        number += known.shape[0]
    return total / number


def _divergence(dense: Sequence[mx.array], other: Sequence[mx.array]) -> float:
    """Return the mean of KL(dense || other) for each token, in nats."""
    sums = [
        mx.sum(mx.exp(p) * (p - q)).item() for p, q in zip(dense, other, strict=True)
    ]
    return sum(sums) / sum(one.shape[0] for one in dense)


def _changed(dense: Sequence[mx.array], other: Sequence[mx.array]) -> float:
    """Return the share of positions where another token is the likeliest."""
    moved = [
        mx.sum(p.argmax(axis=-1) != q.argmax(axis=-1)).item()
        for p, q in zip(dense, other, strict=True)
    ]
    return sum(moved) / sum(one.shape[0] for one in dense)


def _fitting(length: int, group_size: int) -> int:
    """Return a group size that divides a row: 128 does not divide 448."""
    return group_size if length % group_size == 0 else 64


def _error(group_size: int, bits: int) -> float:
    """Return the root mean square error of all matrices, relative to their size."""
    squares, errors = 0.0, 0.0
    for w in matrices():
        size = _fitting(w.shape[1], group_size)
        packed = mx.quantize(w, size, bits)
        off = mx.dequantize(*packed, group_size=size, bits=bits) - w
        squares += mx.sum(w * w).item()
        errors += mx.sum(off * off).item()
    return (errors / squares) ** 0.5


def _bits(group_size: int, bits: int) -> float:
    """Return the bits of a weight, with its share of a scale and a bias of 16 bits."""
    extra = sum(2 * 16 * w.size / _fitting(w.shape[1], group_size) for w in matrices())
    return bits + extra / sum(w.size for w in matrices())


@cache
def costs() -> dict[str, Any]:
    """Quantise the model in every way, and measure what changes."""
    dense = _log_probabilities(Qwen2ModelWeek1(mlx_model(sizes(), weights())))
    found: dict[str, Any] = {
        "num_tokens": sum(one.shape[0] for one in dense),
        "num_documents": NUM_DOCUMENTS,
        "dense": _loss(dense),
    }
    for bits in WIDTHS:
        found[f"b{bits}"] = {
            f"g{size}": _measured(dense, size, bits) for size in GROUP_SIZES
        }
    return found


def _measured(dense: Sequence[mx.array], group_size: int, bits: int) -> dict[str, Any]:
    """Quantise all matrices of the model, the table of the tokens among them."""
    model = mlx_model(sizes(), weights())

    def settings(_: str, layer: nn.Module) -> dict[str, int] | bool:
        return _settings(layer, group_size, bits)

    nn.quantize(model, class_predicate=settings)
    other = _log_probabilities(Qwen2ModelWeek1(model))
    loss = _loss(other)
    return {
        "error": _error(group_size, bits),
        "loss": loss,
        "more": loss - _loss(dense),
        "divergence": _divergence(dense, other),
        "changed": _changed(dense, other),
        "bits": _bits(group_size, bits),
    }


def _settings(layer: nn.Module, group_size: int, bits: int) -> dict[str, int] | bool:
    """Say how `nn.quantize` should treat a layer: False leaves a norm alone."""
    if not isinstance(layer, nn.Linear | nn.Embedding):
        return False
    return {"group_size": _fitting(layer.weight.shape[1], group_size), "bits": bits}
