"""Calls of each kernel: a small one that is counted, and a large one that is timed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
from mlx import nn

from tiny_llm_course.grading.judgement.inputs import normal
from tiny_llm_course.solution import Solution

Arguments = tuple[Any, ...]
Make = Callable[[Solution], Arguments]

DTYPE = mx.float16
"""Half of what is counted for float32, where a thread computes one number."""

EPS, BASE = 1e-6, 1e6
GROUP_SIZE, BITS = 64, 8


@dataclass(frozen=True)
class Call:
    """What a kernel is called with. A product takes the weights of a solution.

    Attributes:
        small: Makes arguments for the simulator.
        large: Makes arguments for a GPU, of the shapes of Qwen2-0.5B.
        of_mlx: What MLX has for the same, with the same arguments.
    """

    small: Make
    large: Make
    of_mlx: Callable[..., Any]


def _array(*shape: int, name: str = "x") -> mx.array:
    return normal(*shape, dtype=DTYPE, name=name)


def _gates(num: int) -> Make:
    return lambda _: (_array(num, name="gate"), _array(num, name="up"))


def _rows(*shape: int) -> Make:
    return lambda _: (_array(*shape),)


def _norm(*shape: int) -> Make:
    weight = shape[-1]
    return lambda _: (_array(*shape), _array(weight, name="weight"), EPS)


def _added_norm(*shape: int) -> Make:
    def make(solution: Solution) -> Arguments:
        x, weight, eps = _norm(*shape)(solution)
        return x, _array(*shape, name="y"), weight, eps

    return make


def _rotated(*shape: int) -> Make:
    return lambda _: (_array(*shape), 3, BASE)


def _product(*shape: int, rows: int) -> Make:
    """Return a function that makes vectors, and weights."""

    def make(solution: Solution) -> Arguments:
        dense = _array(rows, shape[-1], name="w")
        weight, scales, biases = mx.quantize(dense, GROUP_SIZE, BITS)
        packed = solution.get("quantize.QuantizedWeights")
        return _array(*shape), packed(scales, biases, GROUP_SIZE, BITS, weight)

    return make


def _attention(heads: tuple[int, int], length: int, context: int) -> Make:
    """Return a function that makes queries, keys and values."""

    def make(_: Solution) -> Arguments:
        query = _array(1, heads[0], length, 64, name="query")
        shape = (1, heads[1], context, 64)
        return query, _array(*shape, name="keys"), _array(*shape, name="values")

    return make


def _gated_by_mlx(gate: mx.array, up: mx.array) -> mx.array:
    return nn.silu(gate) * up


def _summed_by_mlx(x: mx.array) -> mx.array:
    return mx.sum(x.astype(mx.float32), axis=-1)


def _added_and_normed_by_mlx(
    x: mx.array, y: mx.array, weight: mx.array, eps: float
) -> tuple[mx.array, mx.array]:
    h = x + y
    return h, mx.fast.rms_norm(h, weight, eps)


def _rotated_by_mlx(x: mx.array, offset: int, base: float) -> mx.array:
    rotated = mx.fast.rope(
        x.swapaxes(1, 2),
        x.shape[-1],
        traditional=False,
        base=base,
        scale=1.0,
        offset=offset,
    )
    return rotated.swapaxes(1, 2)


def _multiplied_by_mlx(x: mx.array, w: Any) -> mx.array:  # noqa: ANN401 - of a solution
    parts = w.weight, w.scales, w.biases
    return mx.quantized_matmul(x, *parts, True, w.group_size, w.bits)


def _attended_by_mlx(query: mx.array, keys: mx.array, values: mx.array) -> mx.array:
    scale = query.shape[-1] ** -0.5
    return mx.fast.scaled_dot_product_attention(
        query, keys, values, scale=scale, mask="causal"
    )


_SUM = Call(_rows(8, 896), _rows(512, 896), _summed_by_mlx)

_WITH_VECTOR = Call(
    _product(256, rows=64), _product(896, rows=4864), _multiplied_by_mlx
)

_WITH_VECTORS = Call(
    _product(32, 256, rows=64), _product(256, 896, rows=4864), _multiplied_by_mlx
)

CALLS = {
    "metal_elementwise.silu_times_up": Call(
        _gates(896), _gates(256 * 4864), _gated_by_mlx
    ),
    "metal_elementwise.row_sum_one_thread": _SUM,
    "metal_elementwise.row_sum_tree": _SUM,
    "metal_elementwise.row_sum_simd": _SUM,
    "metal_norms.rms_norm": Call(_norm(8, 896), _norm(512, 896), mx.fast.rms_norm),
    "metal_norms.add_rms_norm": Call(
        _added_norm(8, 896), _added_norm(512, 896), _added_and_normed_by_mlx
    ),
    "metal_norms.rope": Call(
        _rotated(1, 8, 4, 64), _rotated(1, 512, 14, 64), _rotated_by_mlx
    ),
    "metal_matvec.quantized_matvec_words": _WITH_VECTOR,
    "metal_matvec.quantized_matvec": _WITH_VECTOR,
    "metal_matmul.quantized_matmul_tiled": _WITH_VECTORS,
    "metal_matmul.quantized_matmul_simdgroup": _WITH_VECTORS,
    "metal_attention.attention_one_token": Call(
        _attention((4, 2), 1, 64), _attention((14, 2), 1, 1024), _attended_by_mlx
    ),
    "metal_attention.attention_prompt": Call(
        _attention((4, 2), 32, 64), _attention((14, 2), 256, 1024), _attended_by_mlx
    ),
}
"""By the symbol of the kernel."""
