"""Day 3: other right ways to make, read and multiply by quantised weights."""

from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.quantize import QuantizedWeights

WEIGHTS = "quantize.QuantizedWeights"

Array = mx.array


@specimen(3, symbol=WEIGHTS)
@dataclass(frozen=True)
class weights_as_a_dataclass(QuantizedWeights):
    scales: Array
    biases: Array
    group_size: int
    bits: int
    weight: Array

    @staticmethod
    def from_mlx_layer(layer: Any) -> "weights_as_a_dataclass":  # noqa: ANN401
        names = ("scales", "biases", "group_size", "bits", "weight")
        return weights_as_a_dataclass(*(getattr(layer, name) for name in names))
