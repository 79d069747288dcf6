"""What the kernels of the day cost, as the simulator counts it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import mlx.core as mx

from tiny_llm_course.grading.judgement.inputs import normal
from tiny_llm_course.kernel_costs.counted import counted as counting
from tiny_llm_course.metal.costs import Costs
from tiny_llm_course.records.record import RIGHT_WAYS, records
from tiny_llm_course.records.replacing import Replacement
from tiny_llm_ref import metal_elementwise

ROWS, COLUMNS = 64, 896
"""Vectors of Qwen2-0.5B's stream."""

WIDTH = 4864
"""Of its MLP: so many numbers pass the gate for one token."""

SILU = "silu"


@dataclass(frozen=True)
class Variant:
    """A kernel of the reference, or another right one.

    Attributes:
        name: What the text calls it.
        label: What the table calls it.
        function: That of the reference.
        changes: Of its source.
    """

    name: str
    label: str
    function: Callable[..., mx.array]
    changes: tuple[Replacement, ...] = ()


@cache
def costs() -> dict[str, dict[str, float]]:
    """Return what each variant costs: for a number, a thousand numbers, or a row."""
    found = {one.name: _shared_out(one, _run(one)) for one in _variants()}
    assert found["tree"]["coalesced"] == found["simd"]["coalesced"] == 1.0
    assert found["neighbours"]["conflicts"] > 0 == found["tree"]["conflicts"]
    return found


def table() -> list[list[str]]:
    """Return the rows of the table: names, and what each costs."""
    return [
        [
            one.label,
            f"{cost['bytes']:.1f}",
            f"{cost['lines']:.0f}",
            f"{cost['coalesced']:.0%}",
            f"{cost['barriers']:.0f}",
            f"{cost['turns']:.0f}",
            f"{cost['conflicts']:.0f}",
        ]
        for one in _variants()
        for cost in [costs()[one.name]]
    ]


def _variants() -> list[Variant]:
    tree = metal_elementwise.row_sum_tree
    return [
        Variant(SILU, "silu times up", metal_elementwise.silu_times_up),
        Variant("one_thread", "sum, one thread", metal_elementwise.row_sum_one_thread),
        Variant("tree", "sum, tree", tree),
        Variant(
            "neighbours",
            "sum, tree from the neighbours on",
            tree,
            _changes("tree_from_the_neighbours_on"),
        ),
        Variant(
            "stretch",
            "sum, tree, a stretch for each thread",
            tree,
            _changes("a_stretch_of_the_row_for_each_thread"),
        ),
        Variant("simd", "sum, SIMD groups", metal_elementwise.row_sum_simd),
    ]


def _changes(name: str) -> tuple[Replacement, ...]:
    (found,) = (
        one.changes for one in records(RIGHT_WAYS, "week_2_day_g1") if one.name == name
    )
    assert not isinstance(found, str)
    return found


def _shared_out(variant: Variant, one: Costs) -> dict[str, float]:
    count = WIDTH if variant.name == SILU else ROWS * COLUMNS
    rows = 1 if variant.name == SILU else ROWS
    return {
        "bytes": one.bytes_read / count,
        "lines": 1000 * one.lines / count,
        "coalesced": one.coalesced,
        "barriers": one.barriers / rows,
        "turns": one.threadgroup_turns / rows,
        "conflicts": one.bank_conflicts / rows,
    }


def _run(variant: Variant) -> Costs:
    """Run a kernel once in float32, and count."""
    with counting(variant.changes) as found:
        if variant.name == SILU:
            variant.function(normal(WIDTH, name="gate"), normal(WIDTH, name="up"))
        else:
            variant.function(normal(ROWS, COLUMNS))
    (only,) = found.costs
    return only
