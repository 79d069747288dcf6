"""A token of the whole embedded model, through the kernels of all days of the track."""

from functools import cache
from typing import Any

import mlx.core as mx
from mlx import nn

from tiny_llm_course.grading.scenarios.architecture import embedded, mlx_model
from tiny_llm_course.inference.loaders import BITS, GROUP_SIZE
from tiny_llm_course.kernel_costs.counted import counted as counting
from tiny_llm_ref.kv_cache import TinyKvFullCache
from tiny_llm_ref.qwen2_week2_gpu import Qwen2ModelWeek2Gpu

TOKEN = 7


@cache
def whole_token() -> dict[str, Any]:
    """Run it, count, and compare its logits with those of `mlx_lm`'s model."""
    sizes, weights = embedded()
    model = mlx_model(sizes, weights)
    nn.quantize(model, GROUP_SIZE, BITS)
    network = Qwen2ModelWeek2Gpu(model)
    caches = [TinyKvFullCache() for _ in range(network.num_hidden_layers)]
    token = mx.array([[TOKEN]])
    with counting() as found:
        logits = network(token, 0, caches)
        mx.eval(logits)
    expected = model(token)
    return {
        "kernels": len(found.costs),
        "layers": network.num_hidden_layers,
        "mb_read": sum(one.bytes_read for one in found.costs) / 1e6,
        "barriers": sum(one.barriers for one in found.costs),
        "apart": mx.abs(logits - expected).max().item(),
        "largest": mx.abs(expected).max().item(),
    }
