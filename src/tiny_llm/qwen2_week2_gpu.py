"""The Qwen2 model on your kernels in Metal: five steps, and what holds them together.

Each step is a function of `metal_model`.
"""

from collections.abc import Sequence
from typing import Any

import mlx.core as mx
from jaxtyping import Float, Integer

from . import metal_model
from .checks import check_is_qwen2
from .kv_cache import TinyKvCache
from .quantize import QuantizedWeights
from .weights import PackedEmbedding


class Qwen2ModelWeek2Gpu:
    """The whole model, shown a text in pieces, as that of Week 2 is.

    All its weights are quantised, and it computes in the dtype of their scales.

    Attributes:
        num_hidden_layers: Number of layers, and so of the caches that it needs.

    Args:
        mlx_model: As for Week 1, with quantised layers.
    """

    def __init__(self, mlx_model: Any) -> None:  # noqa: ANN401
        check_is_qwen2("Qwen2ModelWeek2Gpu", mlx_model.args)
        self.args = mlx_model.args
        self.weights = mlx_model.model
        table = QuantizedWeights.from_mlx_layer(self.weights.embed_tokens)
        is_tied = self.args.tie_word_embeddings
        self.embedding = PackedEmbedding(table)
        self.head = None if is_tied else mlx_model.lm_head
        self.num_hidden_layers = len(self.weights.layers)

    def __call__(
        self,
        inputs: Integer[mx.array, "B L"],
        offset: int,
        cache: Sequence[TinyKvCache],
    ) -> Float[mx.array, "B L V"]:
        """Score the next token after each of the new tokens.

        Arguments are those of Week 2's model.
        """
        x = self.embedding(inputs)
        for layer, own_cache in zip(self.weights.layers, cache, strict=True):
            x = x + self._attention(layer, x, offset, own_cache)
            x = x + self._mlp(layer, x)
        x = self._norm(x, self.weights.norm)
        return _linear(x, self.head or self.weights.embed_tokens)

    def _attention(
        self,
        layer: Any,  # noqa: ANN401 - mlx_lm has no types
        x: Float[mx.array, "B L E"],
        offset: int,
        cache: TinyKvCache,
    ) -> Float[mx.array, "B L E"]:
        """Let every new token collect from those in the cache and from the new ones."""
        own, args = layer.self_attn, self.args
        x = self._norm(x, layer.input_layernorm)
        query = mx.unflatten(_linear(x, own.q_proj), -1, (args.num_attention_heads, -1))
        key = mx.unflatten(_linear(x, own.k_proj), -1, (args.num_key_value_heads, -1))
        value = mx.unflatten(_linear(x, own.v_proj), -1, (args.num_key_value_heads, -1))
        keys, values, *_ = cache.update_and_fetch(
            metal_model.rotate(key, offset, args.rope_theta).swapaxes(1, 2),
            value.swapaxes(1, 2),
            x.shape[1],
            "causal",
        )
        query = metal_model.rotate(query, offset, args.rope_theta).swapaxes(1, 2)
        heads = metal_model.attend(query, keys, values)
        return _linear(mx.flatten(heads.swapaxes(1, 2), -2, -1), own.o_proj)

    def _mlp(
        self,
        layer: Any,  # noqa: ANN401
        x: Float[mx.array, "B L E"],
    ) -> Float[mx.array, "B L E"]:
        """Work on each token by itself."""
        x = self._norm(x, layer.post_attention_layernorm)
        gate, up = _linear(x, layer.mlp.gate_proj), _linear(x, layer.mlp.up_proj)
        return _linear(metal_model.swiglu(gate, up), layer.mlp.down_proj)

    def _norm(
        self,
        x: Float[mx.array, "B L E"],
        layer: Any,  # noqa: ANN401
    ) -> Float[mx.array, "B L E"]:
        return metal_model.norm(x, layer.weight, self.args.rms_norm_eps)


def _linear(x: Float[mx.array, "*N I"], layer: Any) -> Float[mx.array, "*N O"]:  # noqa: ANN401
    """Apply a quantised layer of `mlx_lm`, with its bias if it has one."""
    weights = QuantizedWeights.from_mlx_layer(layer)
    return metal_model.linear(x, weights, layer.get("bias"))
