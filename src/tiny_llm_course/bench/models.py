"""The models that are timed: the embedded one, and a random one of a real size."""

import json
from typing import Any

from tiny_llm_course.checkpoint.names import EMBEDDED

BITS = 4
GROUP_SIZE = 64

QWEN2_0_5B = "Qwen2-0.5B, random"
EMBEDDED_MODEL = "embedded"
MODELS = (EMBEDDED_MODEL, QWEN2_0_5B)

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


def load_mlx(model: str) -> Any:  # noqa: ANN401 - mlx_lm has no types
    """Return a model as `mlx_lm` would load it; the random one has 4-bit weights.

    What is not quantised is float32 where MLX computes on the CPU, and float16
    elsewhere, as it is for `checkpoint.load`.
    """
    import mlx.core as mx
    from mlx import nn
    from mlx_lm.models.qwen2 import Model

    if model == EMBEDDED_MODEL:
        from tiny_llm_course.checkpoint import load

        return load().model
    mx.random.seed(0)
    network = Model(args_of(model))
    network.set_dtype(mx.float32 if mx.default_device() == mx.cpu else mx.float16)
    nn.quantize(network, GROUP_SIZE, BITS)
    mx.eval(network.parameters())
    return network
