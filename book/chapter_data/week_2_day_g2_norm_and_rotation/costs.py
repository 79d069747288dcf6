"""What each kernel costs on one token of Qwen2-0.5B, as the simulator counts it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import mlx.core as mx

from tiny_llm_course.kernel_costs.counted import counted as counting
from tiny_llm_course.metal.costs import Costs
from tiny_llm_course.records.record import RIGHT_WAYS, records
from tiny_llm_course.records.replacing import Replacement
from tiny_llm_ref import metal_norms

from .by_hand import HEADS, HIDDEN, WIDTH

EPS, BASE, POSITION = 1e-6, 1e6, 7


@dataclass(frozen=True)
class _Variant:
    """A kernel of the reference, or another right one, and what it is run on.

    Attributes:
        name: What the text calls it.
        label: What the table calls it.
        function: That of the reference.
        args: Its arguments.
        changes: Of its source.
    """

    name: str
    label: str
    function: Callable[..., object]
    args: tuple[Any, ...]
    changes: tuple[Replacement, ...] = ()


@cache
def counted() -> dict[str, dict[str, Any]]:
    """Return what each kernel reads and writes, its lines and its barriers."""
    return {one.name: _shown(_run(one)) for one in _variants()}


def costs_table() -> list[list[str]]:
    """Return the rows of the table: names, and what each costs."""
    columns = ("read", "written", "lines", "fewest_lines", "turns")
    others = ("barriers", "operations")
    return [
        [
            one.label,
            *(f"{counted()[one.name][column]:,}" for column in (*columns, *others)),
        ]
        for one in _variants()
    ]


def _variants() -> list[_Variant]:
    norm, sum_and_norm = metal_norms.rms_norm, metal_norms.add_rms_norm
    x, half = mx.ones((1, HIDDEN)), mx.ones((1, HIDDEN), mx.float16)
    heads = mx.ones((1, 1, HEADS, WIDTH))
    both = (x, x, x[0], EPS)
    kept = "row_kept_by_the_threadgroup", "sum_kept_by_the_threadgroup"
    return [
        _Variant("norm", "norm", norm, (x, x[0], EPS)),
        _Variant("half", "norm in float16", norm, (half, half[0], EPS)),
        _Variant(
            "norm_kept", "norm, row kept", norm, (x, x[0], EPS), _changes(kept[0])
        ),
        _Variant("sum", "sum and norm", sum_and_norm, both),
        _Variant(
            "sum_kept", "sum and norm, sum kept", sum_and_norm, both, _changes(kept[1])
        ),
        _Variant("rope", "rotation", metal_norms.rope, (heads, POSITION, BASE)),
    ]


def _changes(name: str) -> tuple[Replacement, ...]:
    """Return what a right way puts elsewhere in the source."""
    known = records(RIGHT_WAYS, "week_2_day_g2")
    (found,) = (one.changes for one in known if one.name == name)
    assert not isinstance(found, str)
    return found


def _shown(one: Costs) -> dict[str, Any]:
    return {
        "read": one.bytes_read,
        "written": one.bytes_written,
        "moved": one.bytes_read + one.bytes_written,
        "lines": one.lines,
        "fewest_lines": one.fewest_lines,
        "turns": one.threadgroup_turns,
        "barriers": one.barriers,
        "operations": one.adds + one.multiplies + one.other_operations,
    }


def _run(variant: _Variant) -> Costs:
    """Run a kernel once, and count."""
    with counting(variant.changes) as found:
        variant.function(*variant.args)
    (only,) = found.costs
    return only
