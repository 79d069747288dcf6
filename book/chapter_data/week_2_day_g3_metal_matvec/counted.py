"""What each kernel costs, counted in the simulator: bytes, lines and operations.

They are the kernels of the reference, run on rows of the length of Qwen2-0.5B's gate. A
stretch of words for each lane is one of the right ways in `accepted`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import mlx.core as mx

from tiny_llm_course.grading.judgement.inputs import normal
from tiny_llm_course.kernel_costs.counted import counted as counting
from tiny_llm_course.metal.costs import Costs
from tiny_llm_course.oracle.stored import drawn
from tiny_llm_course.records.record import RIGHT_WAYS, records
from tiny_llm_course.records.replacing import Replacement
from tiny_llm_ref import metal_matvec
from tiny_llm_ref.quantize import QuantizedWeights

from .counting import COLUMNS, GROUP_SIZE, LANES

NUM_ROWS = 32
"""Enough: each further one costs as much."""

STRETCH = "a_stretch_of_words_for_each_lane"


@dataclass(frozen=True)
class Variant:
    """A kernel, and what is changed in it.

    Attributes:
        name: In the text of the chapter.
        label: In the table.
        rows: Of a SIMD group.
        changes: Of its source.
    """

    name: str
    label: str
    rows: int = 1
    changes: Sequence[Replacement] = ()

    @property
    def function(self) -> Callable[[mx.array, QuantizedWeights], mx.array]:
        """The public function whose kernel it is."""
        is_words = self.name in {"stretch", "words"}
        name = "quantized_matvec_words" if is_words else "quantized_matvec"
        return getattr(metal_matvec, name)


@cache
def costs() -> dict[str, dict[str, float]]:
    """Return what each variant costs for a weight, or for a thousand."""
    return {one.name: _for_each_weight(_run(one)) for one in _variants()}


def table() -> list[list[str]]:
    """Return the rows of the table: names, and what each costs."""
    return [
        [
            one.label,
            f"{costs()[one.name]['bytes']:.3f}",
            f"{costs()[one.name]['lines']:.0f}",
            f"{costs()[one.name]['fewest']:.0f}",
            f"{costs()[one.name]['coalesced']:.0%}",
            f"{costs()[one.name]['operations']:.2f}",
        ]
        for one in _variants()
    ]


def _variants() -> list[Variant]:
    ways = records(RIGHT_WAYS, "week_2_day_g3")
    (stretch,) = (one.changes for one in ways if one.name == STRETCH)
    assert not isinstance(stretch, str)
    return [
        Variant("stretch", "a word, a stretch for each lane", changes=stretch),
        Variant("words", "a word, side by side"),
        Variant("rows_1", "16 bytes, 1 row", rows=1),
        *(Variant(f"rows_{n}", f"16 bytes, {n} rows", rows=n) for n in (2, 4, 8)),
    ]


def _for_each_weight(one: Costs) -> dict[str, float]:
    weights = NUM_ROWS * COLUMNS
    return {
        "bytes": one.bytes_read / weights,
        "lines": 1000 * one.lines / weights,
        "fewest": 1000 * one.fewest_lines / weights,
        "coalesced": one.coalesced,
        "operations": (one.adds + one.multiplies) / weights,
    }


def _run(variant: Variant) -> Costs:
    """Multiply once, in float16 as a model on a GPU has it, and count."""
    stored = drawn((NUM_ROWS, COLUMNS), GROUP_SIZE, 4, mx.float16)
    x = normal(COLUMNS, dtype=mx.float16)
    grid = LANES * -(-NUM_ROWS // variant.rows), 1, 1
    with counting(variant.changes, {"ROWS": variant.rows}, grid=grid) as found:
        variant.function(x, QuantizedWeights(*stored.fields()))
    (only,) = found.costs
    return only
