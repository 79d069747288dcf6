"""The weights of a Qwen2 checkpoint, checked against its settings."""

from pathlib import Path
from typing import Any

import mlx.core as mx
from mlx import nn
from mlx.utils import tree_flatten
from safetensors import SafetensorError, safe_open

from tiny_llm_course.catalogue import say
from tiny_llm_course.checkpoint.config import Config
from tiny_llm_course.checkpoint.errors import CheckpointError, plain, shown

Weights = dict[str, mx.array]

MAX_HEADER_BYTES = 4 * 2**20
"""Limit for a file's header (names and shapes). Qwen2 with 80 quantised layers needs a
tenth."""


def read_weights(folder: Path) -> Weights:
    """Open the weights of a checkpoint. MLX reads the numbers when they are used.

    Raises:
        CheckpointError: There are none, or a file is not what its name says.
    """
    weights: Weights = {}
    for path in sorted(folder.glob("model*.safetensors")):
        _check_header(path)
        try:
            stored = mx.load(str(path))
        except RuntimeError as error:
            raise CheckpointError(f"{path}: {plain(str(error))}") from error
        assert isinstance(stored, dict), "safetensors hold named arrays"
        weights |= stored
    if not weights:
        others = sorted(path.name for path in folder.glob("*model*"))
        got = ", ".join(others) or say("checkpoint.none")
        raise CheckpointError(say("checkpoint.no_weights", folder=folder, got=got))
    return weights


def _check_header(path: Path) -> None:
    """Check that a file is as long as its header says.

    MLX trusts the header, and fails only when it reads the numbers.
    """
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
        if size > MAX_HEADER_BYTES:
            got = say("checkpoint.header", size=size)
            raise CheckpointError(say("checkpoint.no_safetensors", path=path, got=got))
        with safe_open(path, framework="numpy"):
            pass
    except (OSError, SafetensorError) as error:
        got = plain(str(error))
        told = say("checkpoint.no_safetensors", path=path, got=got)
        raise CheckpointError(told) from error


def check_weights(weights: Weights, config: Config, folder: Path) -> None:
    """Check that every weight of the model is there, with its shape, and no other.

    The expected names and shapes are those of `mlx_lm`'s model with these settings.
    Building one is free, since MLX computes no weight before it is used.

    Raises:
        CheckpointError: Naming the weight, what was expected and what was found.
    """
    from mlx_lm.models.qwen2 import Model, ModelArgs

    model = Model(ModelArgs.from_dict(config))
    found = model.sanitize(weights)
    if quantization := config.get("quantization"):
        _quantize(model, quantization, found, folder)
    expected = dict(tree_flatten(model.parameters()))
    for name, weight in expected.items():
        wrong = _difference(weight, found.get(name))
        if wrong:
            raise CheckpointError(f"{folder}: {name}: {wrong}")
    if strangers := found.keys() - expected.keys():
        name = shown(min(strangers))
        raise CheckpointError(say("checkpoint.stranger", folder=folder, name=name))


def _quantize(
    model: nn.Module, quantization: dict[str, Any], found: Weights, folder: Path
) -> None:
    """Give `model` quantised layers where `found` has the scales of one."""

    def settings(layer: str, _: nn.Module) -> bool | dict[str, Any]:
        return f"{layer}.scales" in found and quantization.get(layer, True)

    group_size, bits = quantization["group_size"], quantization["bits"]
    try:
        nn.quantize(model, group_size, bits, class_predicate=settings)
    except ValueError as error:
        raise CheckpointError(f"{folder}: quantization: {error}") from error


def _difference(expected: mx.array, found: mx.array | None) -> str | None:
    """Say how a weight differs from the one that the model needs, if it does."""
    if found is None:
        return say("checkpoint.no_weight", shape=expected.shape)
    if found.shape != expected.shape:
        names = {"expected": expected.shape, "got": found.shape}
        return say("checkpoint.wrong_shape", **names)
    if mx.issubdtype(found.dtype, mx.floating) != mx.issubdtype(
        expected.dtype, mx.floating
    ):
        names = {"expected": expected.dtype, "got": found.dtype}
        return say("checkpoint.wrong_dtype", **names)
    return None
