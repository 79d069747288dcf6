"""The models that are timed: the embedded one, and a random one of a real size."""

import json
import shutil
from pathlib import Path
from typing import Any

from tiny_llm_course.checkpoint.names import EMBEDDED

BITS = 4
GROUP_SIZE = 64

QWEN2_0_5B = "Qwen2-0.5B, random"
EMBEDDED_MODEL = "embedded"
MODELS = (EMBEDDED_MODEL, QWEN2_0_5B)

CACHE = Path("runs/bench/models")
"""The folder of the random model, which git ignores."""

# From the config.json of Qwen2-0.5B-Instruct.
_QWEN2_0_5B: dict[str, Any] = {
    "model_type": "qwen2",
    "hidden_size": 896,
    "intermediate_size": 4864,
    "num_hidden_layers": 24,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "vocab_size": 151936,
    "max_position_embeddings": 32768,
    "rope_theta": 1000000.0,
    "rms_norm_eps": 1e-06,
    "tie_word_embeddings": True,
}


def config_of(model: str) -> dict[str, Any]:
    """Return the sizes of a model, as its `config.json` has them."""
    if model == QWEN2_0_5B:
        return _QWEN2_0_5B
    return json.loads((EMBEDDED / "config.json").read_text(encoding="utf-8"))


def args_of(model: str) -> Any:  # noqa: ANN401 - mlx_lm has no types
    """Return the sizes of a model as `mlx_lm` has them."""
    from mlx_lm.models.qwen2 import ModelArgs

    return ModelArgs.from_dict(config_of(model))


def load_mlx(model: str, *, bits: int | None = BITS, dtype: str | None = None) -> Any:  # noqa: ANN401 - mlx_lm has no types
    """Return a model as `mlx_lm` would load it.

    Args:
        model: One of `MODELS`.
        bits: The width of the weights: 4, or None for dense ones. Dense weights of the
            random model are its dequantised ones.
        dtype: The dtype of what is not quantised. None leaves it to
            `checkpoint.loading`.
    """
    import mlx.core as mx
    from mlx import nn
    from mlx_lm.utils import dequantize_model, load_model

    from tiny_llm_course.checkpoint.loading import load, widen_on_cpu

    if model == EMBEDDED_MODEL:
        network: Any = load().model
        if bits is not None:
            nn.quantize(network, GROUP_SIZE, bits)
    else:
        network, _ = load_model(random_model(config_of(model), CACHE), lazy=True)
        widen_on_cpu(network)
    if dtype is not None:
        network.set_dtype(getattr(mx, dtype))
    if bits is None:
        network = dequantize_model(network)
    mx.eval(network.parameters())
    return network


def num_bytes_of(network: Any) -> int:  # noqa: ANN401 - mlx_lm has no types
    """Return the size in bytes of the weights of a model loaded by `mlx_lm`."""
    from mlx.utils import tree_flatten

    arrays: Any = tree_flatten(network.parameters())
    return sum(array.nbytes for _, array in arrays)


def random_model(config: dict[str, Any], cache: Path) -> Path:
    """Return a folder with a random 4-bit model, writing it if it does not exist.

    Scales are float16, as in models published in this format.

    Args:
        config: Sizes, as a `config.json` has them.
        cache: Where such folders are kept.
    """
    name = f"qwen2-{config['hidden_size']}x{config['num_hidden_layers']}-{BITS}bit"
    folder = cache / name
    if folder.exists():
        return folder
    unfinished = folder.with_suffix(".new")
    shutil.rmtree(unfinished, ignore_errors=True)
    _write_random(unfinished, config)
    unfinished.rename(folder)
    return folder


def _write_random(folder: Path, config: dict[str, Any]) -> None:
    """Write random weights, the same each time."""
    import mlx.core as mx
    from mlx import nn
    from mlx_lm.models.qwen2 import Model, ModelArgs
    from mlx_lm.utils import save_model

    mx.random.seed(0)
    network = Model(ModelArgs.from_dict(config))
    nn.quantize(network, GROUP_SIZE, BITS)
    network.set_dtype(mx.float16)
    save_model(folder, network)
    quantised = {"quantization": {"group_size": GROUP_SIZE, "bits": BITS}}
    text = json.dumps(config | quantised, indent=2)
    (folder / "config.json").write_text(text + "\n", encoding="utf-8")
