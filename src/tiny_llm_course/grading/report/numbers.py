"""Writes the numbers of a failed call: inputs, expected output, actual output."""

import inspect
from collections.abc import Iterator
from textwrap import indent
from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call, show
from tiny_llm_course.grading.judgement.closeness import ulps_off, wide
from tiny_llm_course.grading.judgement.verdict import ArrayEvidence, VerdictError
from tiny_llm_course.layout import pad, widest
from tiny_llm_course.solution import BrokenFileError, Solution
from tiny_llm_course.unsolved import Unsolved

WHOLE = 64
"""Arrays of up to this many entries are shown in full, larger ones cut."""

AROUND = 3
"""The number of neighbours of the worst entry shown on each side."""


def write(call: Call, verdict: VerdictError, solution: Solution) -> str:
    """Write all numbers of a call, and what is wrong with them.

    Args:
        call: The call.
        verdict: Its verdict.
        solution: The solution that was called.
    """
    lines = [str(verdict)]
    for name, value in _arguments(call, solution):
        lines += _shown(name, value)
    evidence = verdict.evidence
    if isinstance(evidence, ArrayEvidence):
        lines += _shown(say("report.expected"), evidence.truth.value)
        lines += _shown(say("report.got"), evidence.got)
        lines += _worst(evidence)
    return "\n".join(lines)


def _arguments(call: Call, solution: Solution) -> Iterator[tuple[str, Any]]:
    """Yield the arguments, under the solution's parameter names."""
    try:
        named = solution.get(call.symbol)
    except (Unsolved, BrokenFileError):
        named = None
    if call.build is not None:
        yield from zip(_names(named, len(call.build)), call.build, strict=True)
        named = getattr(named, call.method, None)
    # A method that is taken from its class has the object as first argument.
    skipped = int(isinstance(named, type(_names)) and call.build is not None)
    names = _names(named, len(call.args) + skipped)[skipped:]
    yield from zip(names, call.args, strict=True)
    yield from call.kwargs.items()


def _names(function: object, number: int) -> list[str]:
    """Return the names of a function's first parameters, or numbers if unknown."""
    try:
        names = list(inspect.signature(function).parameters)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        names = []
    places = range(len(names) + 1, number + 1)
    more = [say("report.argument", number=place) for place in places]
    return [*names, *more][:number]


def _shown(name: str, value: Any) -> Iterator[str]:  # noqa: ANN401 - any argument
    """Yield a value with its name, an array below it."""
    if not isinstance(value, mx.array | np.ndarray):
        yield f"{name} = {show(value)}"
        return
    entries = wide(value) if isinstance(value, mx.array) else value
    kind = show(value) if isinstance(value, mx.array) else f"float64{list(value.shape)}"
    yield f"{name}: {kind}"
    yield indent(_written(entries), "  ")


def _written(entries: NDArray[Any]) -> str:
    """Write an array; of a large one, only the edges."""
    return np.array2string(
        entries,
        max_line_width=86,
        precision=7,
        threshold=WHOLE,
        edgeitems=2,
    )


def _worst(evidence: ArrayEvidence) -> Iterator[str]:
    """Yield both arrays around the entry that is furthest off, if they are cut."""
    got, truth = evidence.got, evidence.truth
    if got.shape != truth.value.shape or got.size <= WHOLE:
        return
    off = ulps_off(got, truth)
    *rows, place = map(int, np.unravel_index(int(np.argmax(off)), off.shape))
    near = (*rows, slice(max(0, place - AROUND), place + AROUND + 1))
    yield say("report.worst", place=[*rows, place])
    words = [say("report.expected"), say("report.got")]
    for word, entries in zip(words, (truth.value[near], wide(got)[near]), strict=True):
        yield f"  {pad(word, widest(words))} {_written(entries)}"
