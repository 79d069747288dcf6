"""The settings of a Qwen2 checkpoint, checked."""

from pathlib import Path
from typing import Any

from tiny_llm_course.checkpoint.errors import CheckpointError
from tiny_llm_course.checkpoint.files import read_object

Config = dict[str, Any]

COUNTS = (
    "hidden_size",
    "num_hidden_layers",
    "intermediate_size",
    "num_attention_heads",
    "num_key_value_heads",
    "vocab_size",
    "max_position_embeddings",
)
# Where Qwen2 leaves a choice, the one that the course builds.
CHOICES = {
    "hidden_act": "silu",
    "rope_scaling": None,
    "rope_type": "default",
    "use_sliding_window": False,
}


def read_config(folder: Path) -> Config:
    """Read `config.json`, and check that it describes what the course builds.

    `transformers` 5 writes the base of the rotations where `mlx_lm` does not look,
    and `mlx_lm` would go on with a default; here it is copied to `rope_theta`.

    Raises:
        CheckpointError: Naming the entry, what was expected and what was found.
    """
    path = folder / "config.json"
    stored = read_object(path)
    if stored.get("model_type") != "qwen2":
        raise _unexpected(path, "model_type", "'qwen2'", stored.get("model_type"))
    config = (stored.get("rope_parameters") or {}) | stored
    for name, value in CHOICES.items():
        if config.get(name, value) != value:
            raise _unexpected(path, name, repr(value), config[name])
    for name in COUNTS:
        if type(config.get(name)) is not int or config[name] < 1:
            raise _unexpected(path, name, "a whole number from 1", config.get(name))
    for name in ("rms_norm_eps", "rope_theta"):
        if not isinstance(config.get(name), int | float) or config[name] <= 0:
            raise _unexpected(path, name, "a positive number", config.get(name))
    _check_heads(path, config)
    _check_quantization(path, config)
    return config


def _check_heads(path: Path, config: Config) -> None:
    """Check that heads divide the hidden size, and key/value heads the query heads."""
    hidden_size, num_heads = config["hidden_size"], config["num_attention_heads"]
    num_kv_heads = config["num_key_value_heads"]
    # A head is rotated in pairs of numbers, so its width is even.
    if hidden_size % (2 * num_heads):
        wanted = f"a multiple of 2 x num_attention_heads = {2 * num_heads}"
        raise _unexpected(path, "hidden_size", wanted, hidden_size)
    if num_heads % num_kv_heads:
        wanted = f"a multiple of num_key_value_heads = {num_kv_heads}"
        raise _unexpected(path, "num_attention_heads", wanted, num_heads)


def _check_quantization(path: Path, config: Config) -> None:
    """Check that weights, where they are quantised, are so in MLX's affine groups."""
    found = config.get("quantization", config.get("quantization_config"))
    if found is None:
        return
    # Beside its own entries it may hold those of a layer that differs.
    settings = [found, *(one for one in found.values() if isinstance(one, dict))]
    modes = {one.get("mode", "affine") for one in settings}
    is_complete = "quantization" in config and {"bits", "group_size"} <= found.keys()
    if modes != {"affine"} or not is_complete:
        raise _unexpected(path, "quantization", "in the affine format of MLX", found)


def _unexpected(path: Path, name: str, wanted: str, found: object) -> CheckpointError:
    return CheckpointError(f"{path}: expected {name} to be {wanted}, got {found!r}")
