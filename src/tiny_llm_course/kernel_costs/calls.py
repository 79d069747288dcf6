"""A small call of each kernel, for which its costs are counted."""

from collections.abc import Callable
from typing import Any

import mlx.core as mx

from tiny_llm_course.grading.judgement.inputs import normal
from tiny_llm_course.solution import Solution

Arguments = tuple[Any, ...]

DTYPE = mx.float16
"""Half of what is counted for float32, where a thread computes one number."""

EPS, BASE = 1e-6, 1e6
GROUP_SIZE, BITS = 64, 8


def arguments_of(symbol: str, solution: Solution) -> Arguments:
    """Return what a kernel is called with.

    Args:
        symbol: One of `CALLS`.
        solution: Whose weights a product takes.
    """
    return CALLS[symbol](solution)


def _array(*shape: int, name: str = "x") -> mx.array:
    return normal(*shape, dtype=DTYPE, name=name)


def _gates(_: Solution) -> Arguments:
    return _array(896, name="gate"), _array(896, name="up")


def _rows(_: Solution) -> Arguments:
    return (_array(8, 896),)


def _norm(_: Solution) -> Arguments:
    return _array(8, 896), _array(896, name="weight"), EPS


def _added_norm(_: Solution) -> Arguments:
    return _array(8, 896), _array(8, 896, name="y"), _array(896, name="weight"), EPS


def _rotated(_: Solution) -> Arguments:
    return _array(1, 8, 4, 64), 3, BASE


def _product(*shape: int) -> Callable[[Solution], Arguments]:
    """Return a function that makes vectors, and 64 rows of weights."""

    def make(solution: Solution) -> Arguments:
        dense = _array(64, shape[-1], name="w")
        weight, scales, biases = mx.quantize(dense, GROUP_SIZE, BITS)
        packed = solution.get("quantize.QuantizedWeights")
        return _array(*shape), packed(scales, biases, GROUP_SIZE, BITS, weight)

    return make


def _attention(length: int) -> Callable[[Solution], Arguments]:
    """Return a function that makes queries, and keys and values for 64 tokens."""

    def make(_: Solution) -> Arguments:
        keys, values = (_array(1, 2, 64, 64, name=one) for one in ("keys", "values"))
        return _array(1, 4, length, 64, name="query"), keys, values

    return make


CALLS: dict[str, Callable[[Solution], Arguments]] = {
    "metal_elementwise.silu_times_up": _gates,
    "metal_elementwise.row_sum_one_thread": _rows,
    "metal_elementwise.row_sum_tree": _rows,
    "metal_elementwise.row_sum_simd": _rows,
    "metal_norms.rms_norm": _norm,
    "metal_norms.add_rms_norm": _added_norm,
    "metal_norms.rope": _rotated,
    "metal_matvec.quantized_matvec_words": _product(256),
    "metal_matvec.quantized_matvec": _product(256),
    "metal_matmul.quantized_matmul_tiled": _product(32, 256),
    "metal_matmul.quantized_matmul_simdgroup": _product(32, 256),
    "metal_attention.attention_one_token": _attention(1),
    "metal_attention.attention_prompt": _attention(32),
}
