"""A solution's kernels in the form in which our model calls what they replace."""

from collections.abc import Callable, Iterator
from typing import Any

import mlx.core as mx

from tiny_llm_course.solution import Solution

MATVECS = ("naive", "blocked", "simd", "int8", "threaded")

FEW_QUERIES = 8
"""Up to so many, attention goes to the kernel that cuts the cache into pieces."""

Product = Callable[[mx.array, Any], mx.array]
Linear = Callable[..., mx.array]


def parts(solution: Solution) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Yield what joins, in the order of the course: a name, a day, and the parts.

    The parts stand for names of our `qwen2_week2.py`. Each joins those before, or takes
    the place of one of the same name.
    """

    def own(kernel: str) -> Callable[..., Any]:
        def call(*given: Any) -> Any:  # noqa: ANN401
            return solution.get(f"kernels.{kernel}")(*given)  # may not exist

        return call

    yield "unpacked", 3, {"quantized_linear": _linear(_unpacking(solution))}
    yield "library", 3, {"quantized_linear": _linear(_of_library)}
    for variant in MATVECS:
        for_one = _for_one(own(f"matvec_{variant}"))
        linear = _linear(_of_library, for_one)
        yield f"matvec_{variant}", 4, {"quantized_linear": linear}
    for_many = _for_many(own("matmul_threaded"))
    linear = _linear(for_many, _for_one(own("matvec_threaded")))
    yield "matmul_threaded", 5, {"quantized_linear": linear}
    attention = _attention(own("attention_split"), own("attention_tiled"))
    yield "attention", 6, {"flash_attention": attention}
    yield (
        "fused",
        7,
        {
            "RMSNorm": _norm(own("rms_norm")),
            "RoPE": _rope(own("rope")),
            "Qwen2MLP": _mlp(own("swiglu"), linear),
        },
    )


def _linear(for_many: Product, for_one: Product | None = None) -> Linear:
    """Make a linear layer of a product with many vectors, and one with a single."""

    def linear(x: mx.array, w: Any, bias: mx.array | None = None) -> mx.array:  # noqa: ANN401
        is_one = x.size == x.shape[-1]
        y = for_one(x, w) if for_one and is_one else for_many(x, w)
        return y if bias is None else y + bias

    return linear


def _unpacking(solution: Solution) -> Product:
    """Return the product of Day 3, which unpacks the matrix."""

    def product(x: mx.array, w: Any) -> mx.array:  # noqa: ANN401
        matmul = solution.get("quantize.quantized_matmul")
        return matmul(
            w.scales, w.biases, w.group_size, w.bits, x, w.weight, transpose_b=True
        )

    return product


def _of_library(x: mx.array, w: Any) -> mx.array:  # noqa: ANN401
    return mx.quantized_matmul(
        x, w.weight, w.scales, w.biases, group_size=w.group_size, bits=w.bits
    )


def _for_one(matvec: Callable[..., mx.array]) -> Product:
    return lambda x, w: matvec(x.reshape(-1), w).reshape(*x.shape[:-1], -1)


def _for_many(matmul: Callable[..., mx.array]) -> Product:
    return lambda x, w: matmul(x.reshape(-1, x.shape[-1]), w).reshape(*x.shape[:-1], -1)


def _attention(
    split: Callable[..., mx.array], tiled: Callable[..., mx.array]
) -> Callable[..., mx.array]:
    """Return attention that chooses a kernel by the number of queries."""

    def attend(query: mx.array, key: mx.array, value: mx.array, *, mask: Any) -> Any:  # noqa: ANN401
        kernel = split if query.shape[-2] <= FEW_QUERIES else tiled
        return kernel(query, key, value, query.shape[-1] ** -0.5, mask)

    return attend


def _norm(kernel: Callable[..., mx.array]) -> Callable[..., Any]:
    """Return what takes the place of the class of norms."""

    def make(dim: int, weight: mx.array, eps: float) -> Any:  # noqa: ANN401
        del dim
        return lambda x: kernel(x, weight, eps)

    return make


def _rope(kernel: Callable[..., mx.array]) -> Callable[..., Any]:
    """Return what takes the place of the class of rotations."""

    def make(dims: int, seq_len: int, base: float) -> Any:  # noqa: ANN401
        del dims, seq_len
        return lambda x, positions: kernel(x, positions.start, base)

    return make


def _mlp(swiglu: Callable[..., mx.array], linear: Linear) -> Callable[..., Any]:
    """Return what takes the place of the class of gated layers."""

    def make(dim: int, hidden_dim: int, gate: Any, up: Any, down: Any) -> Any:  # noqa: ANN401
        del dim, hidden_dim
        return lambda x: linear(swiglu(linear(x, gate), linear(x, up)), down)

    return make
