"""The settings of a Qwen2 checkpoint, checked."""

from pathlib import Path
from typing import Any

from tiny_llm_course.catalogue import say
from tiny_llm_course.checkpoint.errors import unexpected
from tiny_llm_course.checkpoint.files import Numbers, read_object

Config = dict[str, Any]

# Far above those of any Qwen2, and far below what overflows or takes minutes to build.
SIZES = Numbers(1, 2**20, whole=True)
NUMBERS = {
    "hidden_size": SIZES,
    "num_hidden_layers": Numbers(1, 1000, whole=True),
    "intermediate_size": SIZES,
    "num_attention_heads": SIZES,
    "num_key_value_heads": SIZES,
    "vocab_size": SIZES,
    "max_position_embeddings": SIZES,
    "rms_norm_eps": Numbers(1e-12, 1),
    "rope_theta": Numbers(1, 10**12),
}
# Where Qwen2 has variants, the one that the course builds.
CHOICES = {
    "hidden_act": "silu",
    "rope_scaling": None,
    "rope_type": "default",
    "rope_traditional": False,
    "use_sliding_window": False,
    "quantize_activations": False,
    "text_config": None,
}
BITS = (2, 3, 4, 5, 6, 8)
GROUP_SIZES = (32, 64, 128)


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
        raise unexpected(path, "model_type", "'qwen2'", stored.get("model_type"))
    config = _rotations(path, stored) | stored
    for name, value in CHOICES.items():
        if config.get(name, value) != value:
            raise unexpected(path, name, repr(value), config[name])
    for name, allowed in NUMBERS.items():
        if config.get(name) not in allowed:
            raise unexpected(path, name, allowed, config.get(name))
    if not isinstance(config.get("tie_word_embeddings", False), bool):
        found = config["tie_word_embeddings"]
        raise unexpected(path, "tie_word_embeddings", say("checkpoint.boolean"), found)
    _check_heads(path, config)
    _check_quantization(path, config)
    return config


def _rotations(path: Path, stored: Config) -> Config:
    """Return the RoPE settings, which `transformers` 5 writes into an object."""
    found = stored.get("rope_parameters")
    if not isinstance(found, dict | None):
        raise unexpected(path, "rope_parameters", say("checkpoint.object"), found)
    names = {"rope_theta", "rope_type"}
    return {name: value for name, value in (found or {}).items() if name in names}


def _check_heads(path: Path, config: Config) -> None:
    """Check that heads divide the hidden size, and key/value heads the query heads."""
    hidden_size, num_heads = config["hidden_size"], config["num_attention_heads"]
    num_kv_heads = config["num_key_value_heads"]
    # A head is rotated in pairs of numbers, so its width is even.
    if hidden_size % (2 * num_heads):
        of = f"2 x num_attention_heads = {2 * num_heads}"
        wanted = say("checkpoint.multiple", of=of)
        raise unexpected(path, "hidden_size", wanted, hidden_size)
    if num_heads % num_kv_heads:
        of = f"num_key_value_heads = {num_kv_heads}"
        wanted = say("checkpoint.multiple", of=of)
        raise unexpected(path, "num_attention_heads", wanted, num_heads)


def _check_quantization(path: Path, config: Config) -> None:
    """Check that quantised weights, if any, are in MLX's affine format."""
    names = ("quantization", "quantization_config")
    found = [config[name] for name in names if config.get(name) is not None]
    if found and not _is_affine(config.get("quantization")):
        wanted = say("checkpoint.affine")
        raise unexpected(path, "quantization", wanted, found[0])


def _is_affine(found: object) -> bool:
    """Tell whether settings are of MLX's format.

    They may also hold entries for single layers that differ.
    """
    if not isinstance(found, dict):
        return False
    layers = [one for one in found.values() if isinstance(one, dict)]
    return all(
        one.get("mode", "affine") == "affine"
        and _is_one_of(BITS, one.get("bits"))
        and _is_one_of(GROUP_SIZES, one.get("group_size"))
        for one in (found, *layers)
    )


def _is_one_of(allowed: tuple[int, ...], found: object) -> bool:
    """Tell whether a value is one of some integers. 4.0 does not count as one."""
    return isinstance(found, int) and found in allowed
