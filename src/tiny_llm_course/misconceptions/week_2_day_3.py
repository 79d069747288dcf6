"""Day 3: what goes wrong when packed weights are multiplied by, and loaded.

Mistakes in packing and unpacking are records, beside this file.
"""

from collections.abc import Callable
from typing import Any, cast

import mlx.core as mx

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.quantize import QuantizedWeights, dequantize
from tiny_llm_ref.quantize import quantized_matmul as right_matmul

WEIGHTS = "quantize.QuantizedWeights"
MATMUL = "quantize.quantized_matmul"
LINEAR = "quantize.quantized_linear"

Array = mx.array


@specimen(3, symbol=MATMUL)
def never_transposed(  # noqa: PLR0913, PLR0917 - the course's public names fix these
    scales: Array,
    biases: Array,
    group_size: int,
    bits: int,
    a: Array,
    b: Array,
    transpose_b: bool = False,
) -> Array:
    del transpose_b
    return a @ dequantize(b, scales, biases, group_size, bits)


@specimen(3, symbol=MATMUL)
def always_transposed(  # noqa: PLR0913, PLR0917 - the course's public names fix these
    scales: Array,
    biases: Array,
    group_size: int,
    bits: int,
    a: Array,
    b: Array,
    transpose_b: bool = False,
) -> Array:
    del transpose_b
    return a @ dequantize(b, scales, biases, group_size, bits).T


@specimen(3, symbol=MATMUL)
def words_transposed(  # noqa: PLR0913, PLR0917 - the course's public names fix these
    scales: Array,
    biases: Array,
    group_size: int,
    bits: int,
    a: Array,
    b: Array,
    transpose_b: bool = False,
) -> Array:
    if transpose_b:
        b, scales, biases = b.T, scales.T, biases.T
    return a @ dequantize(b, scales, biases, group_size, bits)


@specimen(3, symbol=MATMUL)
def product_left_in_float32(  # noqa: PLR0913, PLR0917 - the course's names fix these
    scales: Array,
    biases: Array,
    group_size: int,
    bits: int,
    a: Array,
    b: Array,
    transpose_b: bool = False,
) -> Array:
    a, scales, biases = (one.astype(mx.float32) for one in (a, scales, biases))
    return right_matmul(scales, biases, group_size, bits, a, b, transpose_b)


class _ByGroups:
    """The product with the transpose as sums over groups, in steps to get wrong."""

    def __call__(  # noqa: PLR0913, PLR0917 - the course's public names fix these
        self,
        scales: Array,
        biases: Array,
        group_size: int,
        bits: int,
        a: Array,
        b: Array,
        transpose_b: bool = False,
    ) -> Array:
        if not transpose_b:
            return right_matmul(scales, biases, group_size, bits, a, b)
        shifts = mx.arange(0, 32, bits, dtype=mx.uint32)
        integers = mx.flatten((b[..., None] >> shifts) & (2**bits - 1), -2, -1)
        q = mx.unflatten(integers.astype(a.dtype), -1, (-1, group_size))
        x = mx.unflatten(a, -1, (-1, group_size))
        sums = mx.einsum("...gi,ogi->...og", x, q)
        return self.shifted(mx.sum(sums * scales, axis=-1), x, biases)

    def shifted(self, y: Array, x: Array, biases: Array) -> Array:
        return y + x.sum(axis=-1) @ biases.T


def _by_groups(steps: type[_ByGroups]) -> Callable[..., Array]:
    """Make a task 3 mistake of wrong steps."""

    def multiply(*args: Any, **settings: Any) -> Array:  # noqa: ANN401
        return steps()(*args, **settings)

    multiply.__name__ = steps.__name__
    return specimen(3, symbol=MATMUL)(multiply)


@_by_groups
class sum_of_the_biases_forgotten(_ByGroups):
    def shifted(self, y: Array, x: Array, biases: Array) -> Array:
        del x, biases
        return y


@_by_groups
class biases_added_once_for_each_group(_ByGroups):
    def shifted(self, y: Array, x: Array, biases: Array) -> Array:
        del x
        return y + biases.sum(axis=-1)


@_by_groups
class biases_times_the_sum_of_the_row(_ByGroups):
    def shifted(self, y: Array, x: Array, biases: Array) -> Array:
        return y + x.sum(axis=(-2, -1))[..., None] * biases.sum(axis=-1)


@specimen(3, symbol=WEIGHTS)
class parts_in_the_order_of_quantize(QuantizedWeights):
    def __init__(
        self,
        weight: Array,
        scales: Array,
        biases: Any,  # noqa: ANN401 - whatever the caller thinks this is
        group_size: Any,  # noqa: ANN401
        bits: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(scales, biases, group_size, bits, weight)


@specimen(3, symbol=WEIGHTS)
class settings_assumed(QuantizedWeights):
    @staticmethod
    def from_mlx_layer(layer: Any) -> QuantizedWeights:  # noqa: ANN401 - untyped
        return QuantizedWeights(layer.scales, layer.biases, 64, 4, layer.weight)


@specimen(3, symbol=WEIGHTS)
class bias_of_the_layer_for_its_biases(QuantizedWeights):
    @staticmethod
    def from_mlx_layer(layer: Any) -> QuantizedWeights:  # noqa: ANN401 - untyped
        settings = (layer.group_size, layer.bits)
        return QuantizedWeights(layer.scales, layer.bias, *settings, layer.weight)


@specimen(3, symbol=WEIGHTS)
class unpacked_when_loaded(QuantizedWeights):
    @staticmethod
    def from_mlx_layer(layer: Any) -> QuantizedWeights:  # noqa: ANN401 - untyped
        parts = (layer.scales, layer.biases, layer.group_size, layer.bits)
        return QuantizedWeights(*parts, dequantize(layer.weight, *parts))


@specimen(3, symbol=LINEAR)
def linear_not_transposed(
    x: Array, w: QuantizedWeights, bias: Array | None = None
) -> Array:
    y = right_matmul(w.scales, w.biases, w.group_size, w.bits, x, w.weight)
    return y if bias is None else y + bias


@specimen(3, symbol=LINEAR)
def bias_of_the_layer_forgotten(
    x: Array, w: QuantizedWeights, bias: Array | None = None
) -> Array:
    del bias
    return right_matmul(w.scales, w.biases, w.group_size, w.bits, x, w.weight, True)


@specimen(3, symbol=LINEAR)
def bias_always_expected(
    x: Array, w: QuantizedWeights, bias: Array | None = None
) -> Array:
    y = right_matmul(w.scales, w.biases, w.group_size, w.bits, x, w.weight, True)
    return y + cast("Array", bias)
