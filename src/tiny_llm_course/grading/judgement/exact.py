"""Compares results exactly, part by part."""

from collections.abc import Mapping
from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call, show
from tiny_llm_course.grading.judgement.closeness import Truth
from tiny_llm_course.grading.judgement.grader import Grader, told_apart
from tiny_llm_course.grading.judgement.verdict import (
    ArrayEvidence,
    PartsEvidence,
    TextEvidence,
    WrongError,
)

Parts = Mapping[str, Any]
"""The expected parts of a result: arrays and plain values, by name."""


def assert_exactly(grade: Grader, call: Call, expected: mx.array, name: str) -> None:
    """Fail unless `call` returns an array that equals `expected`.

    Args:
        grade: Runs the call.
        call: What to run.
        expected: The right result.
        name: Its name in the report.
    """
    _compare(call, {name: grade.run(call)}, {name: expected})


def assert_tuple(grade: Grader, call: Call, expected: Parts) -> None:
    """Fail unless `call` returns exactly these parts, in this order."""
    got = grade.run(call)
    if not isinstance(got, tuple | list) or len(got) != len(expected):
        kind = tuple(map(show, got)) if isinstance(got, tuple | list) else show(got)
        names = {"expected": ", ".join(expected), "got": kind}
        raise WrongError(
            say("grading.no_such_parts", call=call, **names), TextEvidence(kind)
        )
    _compare(call, dict(zip(expected, got, strict=True)), expected)


def assert_fields(grade: Grader, call: Call, expected: Parts) -> None:
    """Fail unless `call` returns an object with exactly these attributes."""
    got = grade.run(call)
    for name in expected:
        if not hasattr(got, name):
            names = {"part": name, "got": ", ".join(vars(got)) or "none"}
            raise WrongError(
                say("grading.no_such_field", call=call, **names), TextEvidence(name)
            )
    _compare(call, {name: getattr(got, name) for name in expected}, expected)


def _compare(call: Call, got: Parts, expected: Parts) -> None:
    """Fail at the first part that differs. Packed words come last: all affect them."""
    for name in sorted(expected, key=lambda name: _is_packed(expected[name])):
        complaint = _difference(got[name], expected[name])
        if complaint:
            key, named = complaint
            evidence = PartsEvidence(tuple(map(_evidence, got.values())))
            message = say(f"grading.{key}", call=call, part=name, **named)
            raise WrongError(message, evidence)


def _difference(
    got: Any,  # noqa: ANN401 - what a solution returns
    expected: Any,  # noqa: ANN401
) -> tuple[str, dict[str, Any]] | None:
    """Return how a part differs, as a key of the catalogue with its arguments."""
    if not isinstance(expected, mx.array):
        names = {"expected": show(expected), "got": show(got)}
        return None if got == expected else ("part_of_another_kind", names)
    if not isinstance(got, mx.array) or show(got) != show(expected):
        return "part_of_another_kind", {"expected": show(expected), "got": show(got)}
    right, values = _entries(expected), _entries(got)
    wrong = right != values
    if not wrong.any():
        return None
    place = tuple(int(one) for one in np.argwhere(wrong)[0])
    if _is_packed(expected):
        shown = [f"0x{int(one[place]):08x}" for one in (right, values)]
    else:
        shown = told_apart(float(right[place]), float(values[place]))
    return "part_not_equal", {
        "place": list(place),
        "expected": shown[0],
        "got": shown[1],
        "num_wrong": int(wrong.sum()),
        "num_entries": wrong.size,
    }


def _evidence(part: Any) -> ArrayEvidence | TextEvidence:  # noqa: ANN401
    """Keep a part as evidence, to compare with the results of known mistakes.

    The same mistake in another order of operations gives slightly different numbers, so
    they need not be equal. Integers must be.
    """
    if not isinstance(part, mx.array):
        return TextEvidence(part)
    # Evidence is compared in float32, which cannot hold all 32-bit integers.
    array = part.reshape(-1).view(mx.uint8) if _is_packed(part) else part
    value = _entries(array.astype(mx.float32)).astype(np.float64)
    return ArrayEvidence(array, Truth(value, np.abs(value)))


def _is_packed(part: Any) -> bool:  # noqa: ANN401 - any part
    """Tell whether a part consists of 32-bit words."""
    return isinstance(part, mx.array) and part.dtype == mx.uint32


def _entries(array: mx.array) -> NDArray[Any]:
    """Return the entries of an array. Float32 holds every number of the half types."""
    is_packed = _is_packed(array)
    return np.array(array if is_packed else array.astype(mx.float32))
