"""How many operations of MLX a token takes, with kernels and without."""

import json
import re
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import mlx.core as mx
from mlx import nn

from tiny_llm_course.book.embedded import sizes, weights
from tiny_llm_course.grading.scenarios.architecture import mlx_model
from tiny_llm_course.grading.scenarios.predicting import kernels_set_to
from tiny_llm_ref import kernels
from tiny_llm_ref.basics import silu
from tiny_llm_ref.kv_cache import TinyKvFullCache
from tiny_llm_ref.layer_norm import RMSNorm
from tiny_llm_ref.positional_encoding import RoPE
from tiny_llm_ref.qwen2_week2 import Qwen2ModelWeek2

VIEWS = {"Broadcast", "ExpandDims", "Flatten", "Reshape", "Slice", "Split", "Squeeze"}
VIEWS |= {"Transpose", "Unflatten"}
"""What only looks at an array in another way, mostly: nothing is computed."""

COUNTED = Path(__file__).parents[2] / "results" / "operations.json"
"""What was counted with compiled kernels, for where there are none."""


def operations(*results: mx.array) -> list[str]:
    """Return the names of the operations that arrays are waiting for."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.dot"
        mx.export_to_dot(str(path), *results)
        text = path.read_text(encoding="utf-8")
    return re.findall(r'label ="([^"]+)", shape=rectangle', text)


def _counted(names: list[str]) -> dict[str, Any]:
    """Tell views from the operations that compute."""
    computing = [name for name in names if name not in VIEWS]
    return {"all": len(names), "computing": len(computing), "names": computing}


def of_the_parts() -> dict[str, Any]:
    """Count what a norm, a rotation and a gate of Week 1 are made of, and compiled."""
    x, weight, heads = mx.ones((1, 1, 64)), mx.ones(64), mx.ones((1, 1, 4, 16))
    norm, rope = RMSNorm(64, weight, 1e-6), RoPE(16, 64)
    mx.eval(x, weight, heads, rope.cos, rope.sin)
    here = slice(3, 4)

    def gated(gate: mx.array, up: mx.array) -> mx.array:
        return silu(gate) * up

    found = {
        "norm": norm(x),
        "rope": rope(heads, here),
        "gate": gated(x, x),
        "compiled_norm": mx.compile(norm.__call__)(x),
        "compiled_rope": mx.compile(lambda one: rope(one, here))(heads),
        "compiled_gate": mx.compile(gated)(x, x),
    }
    return {name: _counted(operations(one)) for name, one in found.items()}


@cache
def of_a_token() -> dict[str, Any]:
    """Count what one token of the embedded model takes, in 4 bits, with a cache."""
    plain = {"plain": _of_a_token("none", is_fused=False)}
    try:
        kernels.built()
    except kernels.NotBuiltError:
        return plain | json.loads(COUNTED.read_text(encoding="utf-8"))["counts"]
    return plain | with_kernels()


def with_kernels() -> dict[str, Any]:
    """Count with kernels for the products, and with all of them."""
    return {
        "products": _of_a_token("own", is_fused=False),
        "everything": _of_a_token("own", is_fused=True),
    }


def _of_a_token(chosen: str, *, is_fused: bool) -> dict[str, Any]:
    """Count the operations of the fourth token of a text."""
    packed = mlx_model(sizes(), weights())
    nn.quantize(packed, group_size=64, bits=4)
    with kernels_set_to(chosen):
        model = Qwen2ModelWeek2(packed, is_fused)
        caches = [TinyKvFullCache() for _ in range(model.num_hidden_layers)]
        mx.eval(model(mx.array([[1, 2, 3]]), 0, caches))
        names = operations(model(mx.array([[4]]), 3, caches))
    return {key: one for key, one in _counted(names).items() if key != "names"}
