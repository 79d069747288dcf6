"""The cost of a token, counted on real models without data.

PyTorch's "meta" tensors and MLX's unevaluated arrays have only shapes, so a model of
any size can be counted. Counts are cached, since known mistakes are graded on the same
inputs.
"""

import functools
from typing import Any

import mlx.core as mx
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import DynamicCache, Qwen2Config
from transformers.models.qwen2 import modeling_qwen2

from tiny_llm_course.grading.scenarios.architecture import Architecture


@functools.cache
def flops(sizes: Architecture, context: int) -> int:
    """Count the operations of `Qwen2ForCausalLM` for one more token with PyTorch.

    Args:
        sizes: Those of the model.
        context: Number of tokens that the new one sees, itself included.
    """
    fields = {**sizes.as_config(), "attn_implementation": "eager"}
    config = Qwen2Config.from_dict(fields)
    head_dim = sizes.hidden_size // sizes.num_attention_heads
    with torch.device("meta"), torch.no_grad():
        network = modeling_qwen2.Qwen2ForCausalLM(config).eval()
        # `transformers` computes its angles by a matrix product, which does not count.
        angles = torch.empty(1, 1, head_dim)
        network.model.rotary_emb.forward = lambda *_, **__: (angles, angles)
        cache = DynamicCache(config=config)
        seen = torch.empty(1, sizes.num_key_value_heads, context - 1, head_dim)
        for layer in range(sizes.num_hidden_layers):
            cache.update(seen, seen, layer)
        token = torch.zeros(1, 1, dtype=torch.long)
        with FlopCounterMode(display=False) as counter:
            network(input_ids=token, past_key_values=cache)
    return counter.get_total_flops()


@functools.cache
def num_bytes(
    sizes: Architecture,
    context: int,
    bits: int | None,
    group_size: int,
    dtype: mx.Dtype,
) -> int:
    """Add up the bytes of `mlx_lm`'s model that one more token reads, and of its cache.

    Args:
        sizes: Those of the model.
        context: Number of tokens that the new one sees, itself included.
        bits: Width of a quantised weight, or None.
        group_size: Number of weights that share a scale and a bias.
        dtype: The dtype of all that is not quantised.
    """
    from mlx.utils import tree_flatten
    from mlx_lm.models.cache import KVCache

    model = _model(sizes, bits, group_size, dtype)
    weights: dict[str, Any] = dict(tree_flatten(model.parameters()))
    total = sum(array.nbytes for array in weights.values())
    if not sizes.tie_word_embeddings:
        table: dict[str, Any] = dict(
            tree_flatten(model.model.embed_tokens.parameters())
        )
        total -= sum(array.nbytes - array[:1].nbytes for array in table.values())
    head_dim = sizes.hidden_size // sizes.num_attention_heads
    seen = mx.zeros((1, sizes.num_key_value_heads, context, head_dim), dtype)
    for _ in range(sizes.num_hidden_layers):
        cached: Any = KVCache().update_and_fetch(seen, seen)
        total += sum(array.nbytes for array in cached)
    return total


def _model(
    sizes: Architecture, bits: int | None, group_size: int, dtype: mx.Dtype
) -> Any:  # noqa: ANN401 - mlx_lm has no types
    """Build the model of `mlx_lm`, without evaluating its weights."""
    from mlx import nn
    from mlx_lm.models import qwen2

    model = qwen2.Model(qwen2.ModelArgs(model_type="qwen2", **sizes.as_config()))
    model.set_dtype(dtype)
    if bits is not None:
        nn.quantize(model, group_size, bits)
    return model
