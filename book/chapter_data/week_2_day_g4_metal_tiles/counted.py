"""What each kernel costs, counted in the simulator: bytes, lines, banks, barriers.

They are the kernels of the reference, with tiles of other sizes and without padding.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import mlx.core as mx

from tiny_llm_course.grading.judgement.inputs import normal
from tiny_llm_course.kernel_costs.counted import counted as counting
from tiny_llm_course.metal.costs import Costs
from tiny_llm_course.oracle.stored import drawn
from tiny_llm_course.records.replacing import Replacement
from tiny_llm_ref import metal_matmul
from tiny_llm_ref.quantize import QuantizedWeights

SIZE, DEPTH, OWN_SIDE = 64, 32, 16
"""Tokens, outputs and inputs of the product: all tiles are whole."""


@dataclass(frozen=True)
class Variant:
    """A kernel, and what is changed in it.

    Attributes:
        name: In the text of the chapter.
        label: In the table.
        side: Of the tile of sums.
        changes: Of its source.
    """

    name: str
    label: str
    side: int = OWN_SIDE
    changes: Sequence[Replacement] = ()

    @property
    def function(self) -> Callable[[mx.array, QuantizedWeights], mx.array]:
        """The public function whose kernel it is."""
        is_tiled = self.name.startswith("tiles")
        name = "quantized_matmul_tiled" if is_tiled else "quantized_matmul_simdgroup"
        return getattr(metal_matmul, name)


@cache
def costs() -> dict[str, dict[str, float]]:
    """Return what each variant costs for a thousand products of two numbers."""
    return {one.name: _for_each_product(_run(one)) for one in _variants()}


def table() -> list[list[str]]:
    """Return the rows of the table: names, and what each costs."""
    return [
        [
            one.label,
            f"{costs()[one.name]['bytes']:,.0f}",
            f"{costs()[one.name]['lines']:,.1f}",
            f"{costs()[one.name]['turns']:,.0f}",
            f"{costs()[one.name]['lost']:,.0f}",
            f"{costs()[one.name]['barriers']:,.2f}",
        ]
        for one in _variants()
    ]


def _variants() -> list[Variant]:
    unpadded = (Replacement("stride = depth + 1;", "stride = depth;"),)
    turned = (Replacement("stride = depth + 4;", "stride = depth;"),)
    return [
        *(Variant(f"tiles_{n}", f"tiles of {n} x {n}", n) for n in (1, 8, 16, 32)),
        Variant("tiles_unpadded", "tiles of 16 x 16, no padding", changes=unpadded),
        Variant("matrices", "SIMD matrices, 32 x 32"),
        Variant("matrices_unpadded", "SIMD matrices, no padding", changes=turned),
    ]


def _for_each_product(one: Costs) -> dict[str, float]:
    thousands = SIZE**3 / 1000
    return {
        "bytes": one.bytes_read / thousands,
        "lines": one.lines / thousands,
        "turns": one.threadgroup_turns / thousands,
        "lost": one.bank_conflicts / thousands,
        "barriers": one.barriers / thousands,
    }


def _run(variant: Variant) -> Costs:
    """Multiply once, in float16 as a model on a GPU has it, and count."""
    stored = drawn((SIZE, SIZE), SIZE, 4, mx.float16)
    x = normal(SIZE, SIZE, dtype=mx.float16)
    side = variant.side
    sizes = {"grid": (SIZE, SIZE, 1), "threadgroup": (side, side, 1)}
    other = ({"SIDE": side}, sizes) if side != OWN_SIDE else ({}, {})
    with counting(variant.changes, other[0], **other[1]) as found:
        variant.function(x, QuantizedWeights(*stored.fields()))
    (only,) = found.costs
    return only
