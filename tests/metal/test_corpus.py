"""Small kernels of Metal with the fault that each has, or with none.

They were written from Metal's specification by somebody who had not read the simulator.
`fault` is the kind that must be named first (a list where Metal leaves it open), and
`lines` are those of the source that may be named. A record without `fault` must be
silent, and its outputs are `expected`, which numpy computes, within `ulps` of the
largest of them.
"""

import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from tiny_llm_course.metal.faults import Fault
from tiny_llm_course.metal.kernel import LIMIT_S, Result, metal_kernel

Record = dict[str, Any]
"""A kernel of the corpus, as its file has it."""

RECORDS: list[Record] = [
    record
    for path in sorted(Path(__file__).with_name("corpus").glob("*.toml"))
    for record in tomllib.loads(path.read_text(encoding="utf-8"))["kernel"]
]
FAULTY = [record for record in RECORDS if "fault" in record]
RIGHT = [record for record in RECORDS if "fault" not in record]

KINDS = {
    "absent_lane",
    "divergent_barrier",
    "divergent_simd",
    "endless",
    "language",
    "misaligned",
    "out_of_bounds_read",
    "out_of_bounds_write",
    "race",
    "thread_beyond_array",
    "too_many_threads",
    "too_much_threadgroup_memory",
    "uninitialised_read",
    "unwritten_output",
    "write_to_constant",
}

ENDLESS_S = 0.3
"""How long a kernel may run that is known to be endless."""

DIGITS = {"float32": 23, "float16": 10, "bfloat16": 7}
"""Bits after the leading one."""


def name_of(record: Record) -> str:
    return record["name"]


def kinds_of(record: Record) -> list[str]:
    kinds = record["fault"]
    return kinds if isinstance(kinds, list) else [kinds]


def filled(shape: list[int], fill: str | list[float]) -> np.ndarray:
    """Make the elements that `fill` names, lists or computes with numpy."""
    size = int(np.prod(shape))
    if not isinstance(fill, str):
        values = np.array(fill)
    elif fill in ("zeros", "ones"):
        values = np.full(size, int(fill == "ones"))
    elif fill == "arange":
        values = np.arange(size)
    elif fill == "normal":
        values = np.random.default_rng(size).standard_normal(size)
    else:
        values = np.array(eval(fill, {"np": np}))  # noqa: S307
    return values.reshape(shape)


def array(description: Record) -> mx.array:
    values = filled(description["shape"], description["fill"])
    made = mx.array(values).astype(getattr(mx, description["dtype"]))
    if "of" in description:
        made = eval(description["of"], {"a": made, "mx": mx})  # noqa: S307
    mx.eval(made)
    return made


def as_numpy(values: mx.array) -> np.ndarray:
    wide = values.astype(mx.float32) if values.dtype == mx.bfloat16 else values
    return np.array(wide)


def run(record: Record, seeds: tuple[int, ...], limit_s: float = LIMIT_S) -> Result:
    kernel = metal_kernel(
        name="kernel",
        input_names=list(record["inputs"]),
        output_names=list(record["outputs"]),
        source=record["source"],
        header=record.get("header", ""),
        ensure_row_contiguous=record.get("ensure_row_contiguous", True),
        atomic_outputs=record.get("atomic_outputs", False),
    )
    outputs = record["outputs"].values()
    return kernel.run(
        inputs=[array(description) for description in record["inputs"].values()],
        output_shapes=[tuple(output["shape"]) for output in outputs],
        output_dtypes=[getattr(mx, output["dtype"]) for output in outputs],
        grid=tuple(record["grid"]),
        threadgroup=tuple(record["threadgroup"]),
        template=[
            (name, getattr(mx, value) if isinstance(value, str) else value)
            for name, value in record.get("template", [])
        ],
        init_value=record.get("init_value"),
        seeds=seeds,
        limit_s=limit_s,
    )


def expected(record: Record, name: str) -> np.ndarray:
    """Compute an output with numpy, from the inputs by their names."""
    inputs = {key: as_numpy(array(value)) for key, value in record["inputs"].items()}
    values = record["expected"][name]
    if isinstance(values, str):
        values = eval(values, {"np": np, **inputs})  # noqa: S307
    return np.asarray(values).reshape(record["outputs"][name]["shape"])


def assert_close(got: mx.array, want: np.ndarray, ulps: int) -> None:
    """Compare in units of the last place of the largest element that is wanted."""
    largest = float(np.abs(want.astype(np.float64)).max())
    digits = DIGITS.get(str(got.dtype).removeprefix("mlx.core."), 0)
    unit = 2.0 ** (np.floor(np.log2(largest)) - digits) if largest else 0.0
    off = np.abs(as_numpy(got).astype(np.float64) - want.astype(np.float64))

    assert got.shape == want.shape
    assert off.max() <= ulps * unit, f"{off.max() / (unit or 1.0):.1f} ulps off"


def lines_of(fault: Fault) -> set[int]:
    return {line for line in (fault.line, fault.other_line) if line is not None}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("record", FAULTY, ids=name_of)
def test_a_fault_is_found_and_named(
    record: Record, seed: int, record_property: Callable[[str, object], None]
) -> None:
    """One order of the threads has to be enough: it is not found by luck."""
    record_property("fault", kinds_of(record)[0])
    record_property("kernel", record["name"])

    limit_s = ENDLESS_S if "endless" in kinds_of(record) else LIMIT_S
    faults = run(record, (seed,), limit_s).faults

    assert faults
    assert faults[0].kind in kinds_of(record)
    if "lines" in record:
        assert lines_of(faults[0])
        assert lines_of(faults[0]) <= set(record["lines"])


@pytest.mark.parametrize("record", RIGHT, ids=name_of)
def test_a_right_kernel_is_silent(
    record: Record, record_property: Callable[[str, object], None]
) -> None:
    record_property("fault", "none, and silent")
    record_property("kernel", record["name"])

    result = run(record, (0, 1, 2, 3))

    assert result.faults == ()
    for got, name in zip(result.outputs, record["outputs"], strict=True):
        assert_close(got, expected(record, name), record.get("ulps", 0))


def test_every_kind_of_fault_has_several_guises() -> None:
    guises = Counter(kind for record in FAULTY for kind in kinds_of(record))

    assert set(guises) == KINDS
    assert min(guises.values()) >= 2


def test_every_record_has_a_name_of_its_own() -> None:
    assert len({record["name"] for record in RECORDS}) == len(RECORDS)


@pytest.mark.parametrize("record", FAULTY, ids=name_of)
def test_the_lines_of_a_record_are_in_its_source(record: Record) -> None:
    last = len(record["source"].splitlines())

    assert all(1 <= line <= last for line in record.get("lines", []))
