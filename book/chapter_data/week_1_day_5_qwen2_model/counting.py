"""How many weights there are, of which kind, and what they take."""

from collections.abc import Mapping
from typing import Any

import mlx.core as mx

from tiny_llm_course.book.embedded import checkpoint, sizes, weights
from tiny_llm_course.checkpoint import EMBEDDED

GROUP_SIZE = 64
MLP = ("gate_proj_weight", "up_proj_weight", "down_proj_weight")
KINDS = ("embedding", "attention", "mlp", "norms", "head")

# What the figure calls the sizes of a model, and what config.json calls them.
SIZES = {
    "layers": "num_hidden_layers",
    "hidden": "hidden_size",
    "heads": "num_attention_heads",
    "kv": "num_key_value_heads",
    "intermediate": "intermediate_size",
    "vocab": "vocab_size",
    "tied": "tie_word_embeddings",
}

# From the config.json of each checkpoint of the Qwen2 family.
QWEN2 = {
    "qwen2-0.5b": (24, 896, 14, 2, 4864, 151936, True),
    "qwen2-1.5b": (28, 1536, 12, 2, 8960, 151936, True),
    "qwen2-7b": (28, 3584, 28, 4, 18944, 152064, False),
}


def checkpoint_file() -> dict[str, int]:
    """Measure the file of the weights."""
    size = (EMBEDDED / "model.safetensors").stat().st_size
    total = sum(weight.size for weight in weights().values())
    return {
        "arrays": len(weights()),
        "per_layer": len(first_layer()),
        "parameters": total,
        "bytes": size,
        "weight_bytes": 2 * total,
        "header_bytes": size - 2 * total,
    }


def first_layer() -> dict[str, mx.array]:
    """Return the weights of layer 0, by the last two parts of their names."""
    return {
        "_".join(name.split(".")[-2:]): weight
        for name, weight in weights("model.layers.0.").items()
    }


def written(weight: mx.array) -> str:
    """Write the shape of a weight: 448 x 256."""
    return " x ".join(map(str, weight.shape))


def presets() -> dict[str, dict[str, Any]]:
    """Return the sizes of the embedded model and of its larger relatives."""
    ours = tuple(checkpoint().config[key] for key in SIZES.values())
    models = {"ours": ours, **QWEN2}
    return {name: dict(zip(SIZES, one, strict=True)) for name, one in models.items()}


def parameters(preset: Mapping[str, Any]) -> dict[str, int]:
    """Count the parameters of a model of the given sizes, by kind."""
    hidden, layers = preset["hidden"], preset["layers"]
    kv_size = hidden // preset["heads"] * preset["kv"]
    table = preset["vocab"] * hidden
    projections = 2 * hidden * hidden + 2 * kv_size * hidden
    counts = (
        table,
        layers * (projections + hidden + 2 * kv_size),
        layers * 3 * preset["intermediate"] * hidden,
        (2 * layers + 1) * hidden,
        0 if preset["tied"] else table,
    )
    return dict(zip(KINDS, counts, strict=True))


def measured(preset: Mapping[str, Any]) -> dict[str, Any]:
    """Count a model, and weigh it."""
    counts = parameters(preset)
    total = sum(counts.values())
    tables = counts["embedding"] + counts["head"]
    return {
        **counts,
        "all": total,
        "rest": total - tables,
        "share": {kind: count / total for kind, count in counts.items()},
        "table_share": tables / total,
        "gigabytes": 2 * total / 1e9,
    }


def plain(name: str) -> str:
    """Write the name of a model as the text can refer to it: qwen2_0_5b."""
    return name.replace("-", "_").replace(".", "_")


def growth(name: str, **changes: Any) -> float:  # noqa: ANN401 - sizes
    """Return by which share a model grows when some of its sizes change."""
    before = presets()[name]
    small, large = parameters(before), parameters({**before, **changes})
    return sum(large.values()) / sum(small.values()) - 1


def counts_by_hand() -> dict[str, int]:
    """Count the embedded model, weight by weight."""
    layer = {key: weight.size for key, weight in first_layer().items()}
    ours = measured(presets()["ours"])
    assert ours["all"] == checkpoint_file()["parameters"]
    return {
        "q_and_o": layer["q_proj_weight"] + layer["o_proj_weight"],
        "k_and_v": layer["k_proj_weight"] + layer["v_proj_weight"],
        "biases": sum(size for key, size in layer.items() if key.endswith("bias")),
        "mlp": sum(size for key, size in layer.items() if key in MLP),
        "norms": sum(size for key, size in layer.items() if "layernorm" in key),
        "layer": sum(layer.values()),
        "layers": sizes().num_hidden_layers * sum(layer.values()),
        "table": ours["embedding"],
        "all": ours["all"],
    }


def quantised() -> dict[str, Any]:
    """Pack a group of four weights by hand, and count the bits of a real one."""
    scale, bias, packed = 0.2, -0.3, [3, 1, 0, 2]
    bits_a_weight = 4 + 2 * 16 / GROUP_SIZE
    stored = mx.quantize(weights()["model.embed_tokens.weight"], GROUP_SIZE, 4)
    return {
        "scale": scale,
        "bias": bias,
        "weights": [scale * one + bias for one in packed],
        "packed": sum(one << 2 * place for place, one in enumerate(packed)),
        "bits": bits_a_weight,
        "columns": stored[0].shape[-1],
    }
