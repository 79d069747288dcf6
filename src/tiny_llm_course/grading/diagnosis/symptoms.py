"""How an output is wrong: what helps when no known mistake explains it."""

import itertools
import math
from collections.abc import Iterator

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.closeness import (
    ALLOWED_ULPS,
    Truth,
    is_close,
    ulps_off,
)

Values = NDArray[np.float64]

CHANCE = 0.05
"""Shares that differ by less may be alike: some thousand draws are made."""


def describe(got: mx.array, truth: Truth) -> str | None:
    """Say in one line how `got` differs from the truth, if there is a pattern.

    Args:
        got: A wrong output of the right shape. If it is close, its dtype is wrong, and
            there is no pattern in the values.
        truth: What it should be.
    """
    values = np.array(got.astype(mx.float32), dtype=np.float64)
    if values.shape != truth.value.shape:
        return next(_shapes(values.shape, truth.value.shape), None)
    if values.size == 0:
        return None
    if is_close(got, truth):
        return None
    return next(_patterns(got, values, truth), None)


def describe_value(got: object, expected: object) -> str | None:
    """Say in one line how a text or a number differs from what it should be."""
    if isinstance(got, str) and isinstance(expected, str):
        return next(_texts(got, expected), None)
    if isinstance(got, int | float) and isinstance(expected, int | float) and expected:
        if math.isfinite(got):
            return say("symptoms.factor_of_one", factor=got / expected)
        return None
    if type(got) is not type(expected):
        names = {"got": type(got).__name__, "expected": type(expected).__name__}
        return say("symptoms.another_type", **names)
    return None


def _texts(got: str, expected: str) -> Iterator[str]:
    """Yield what is too much or too little in a text."""
    if not got:
        yield say("symptoms.text_empty")
    if not expected:
        yield say("symptoms.text_not_empty")
    before, found, behind = got.partition(expected)
    if found and before and behind:
        yield say("symptoms.text_within", before=before, behind=behind)
    if found:
        key = "text_before" if before else "text_behind"
        yield say(f"symptoms.{key}", more=before or behind)
    if expected.startswith(got):
        yield say("symptoms.text_cut", number=len(got), total=len(expected))
    if expected.endswith(got):
        yield say("symptoms.text_begins_late", number=len(expected) - len(got))
    pairs = zip(got, expected, strict=False)
    num_alike = sum(
        1 for _ in itertools.takewhile(lambda both: both[0] == both[1], pairs)
    )
    if num_alike:
        yield say("symptoms.text_from", right=expected[:num_alike][-20:])


def describe_shares(got: Values, expected: Values) -> str | None:
    """Say in one line how the shares of drawn tokens differ from what they should be.

    Args:
        got: The share of each token in each row.
        expected: Its probability.
    """
    return next(_shares(got, expected), None)


def _shares(got: Values, expected: Values) -> Iterator[str]:
    """Yield what is true of all rows first, then of single tokens."""
    if np.all(got[:, 0] > 1 - CHANCE):
        yield say("symptoms.nothing_left")
    if len(got) > 1 and np.all(np.abs(got - got[0]) < CHANCE):
        yield say("symptoms.rows_alike")
    if np.all(got.max(axis=-1) == 1):
        yield say("symptoms.always_one_token")
    for key, wrong in (
        ("token_should_be_dropped", (expected == 0) & (got > 0)),
        ("token_should_be_kept", (expected > CHANCE) & (got == 0)),
    ):
        if wrong.any():
            row, token = np.argwhere(wrong)[0].tolist()
            yield say(f"symptoms.{key}", row=row, token=token)
    left = (got > 0) & (expected > 0)
    logs, logs_got = np.log(expected[left]), np.log(got[left])
    is_uneven = len(logs) > 2 and np.ptp(logs) > CHANCE
    slope = float(np.polyfit(logs, logs_got, 1)[0]) if is_uneven else 1.0
    if slope > 0 and abs(slope - 1) > CHANCE:
        yield say("symptoms.other_temperature", factor=1 / slope)


def _shapes(got: tuple[int, ...], expected: tuple[int, ...]) -> Iterator[str]:
    """Yield how one shape comes from another."""
    if [size for size in got if size != 1] == [size for size in expected if size != 1]:
        more = len(got) > len(expected)
        yield say("symptoms.axis_too_many" if more else "symptoms.axis_too_few")
    if sorted(got) == sorted(expected):
        yield say("symptoms.axes_in_another_order")
    if math.prod(got) == math.prod(expected):
        yield say("symptoms.cut_otherwise")
    if len(got) < len(expected) and _is_within(got, expected):
        yield say("symptoms.axis_lost")
    if len(got) > len(expected) and _is_within(expected, got):
        yield say("symptoms.broadcast_apart")
    if len(got) == len(expected):
        pairs = enumerate(zip(got, expected, strict=True))
        wrong = [axis for axis, (a, b) in pairs if a != b]
        if len(wrong) == 1:
            names = {"got": got[wrong[0]], "expected": expected[wrong[0]]}
            yield say("symptoms.other_size", axis=wrong[0], **names)


def _is_within(part: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    """Tell whether some sizes occur in a shape in their order."""
    rest = iter(whole)
    return all(size in rest for size in part)


def _patterns(got: mx.array, values: Values, truth: Truth) -> Iterator[str]:
    """Yield what is true of the whole array first, then where it is wrong."""
    finite = np.isfinite(values) | (values == truth.value)
    if not finite.all():
        names = {"num": int((~finite).sum()), "total": values.size}
        place = [int(one) for one in np.argwhere(~finite)[0]]
        yield say("symptoms.not_finite", place=place, **names)
        return
    if not values.any():
        yield say("symptoms.all_zero")
    yield from _related(got, values, truth)
    yield from _places(ulps_off(got, truth) > ALLOWED_ULPS)


def _related(got: mx.array, values: Values, truth: Truth) -> Iterator[str]:
    """Yield a simple relation between all entries and the right ones."""
    value = truth.value
    largest = np.unravel_index(np.argmax(np.abs(value)), value.shape)
    factor = values[largest] / value[largest] if value[largest] else 0.0
    if factor and is_close(got, Truth(value * factor, truth.scale * abs(factor))):
        yield say("symptoms.factor", factor=factor)
    offset = float(np.median(values - value))
    if is_close(got, Truth(value + offset, truth.scale + abs(offset))):
        yield say("symptoms.offset", offset=offset)
    scale = np.broadcast_to(truth.scale, value.shape)
    if value.ndim >= 2 and value.shape[-1] == value.shape[-2]:
        swapped = Truth(value.swapaxes(-1, -2), scale.swapaxes(-1, -2))
        if is_close(got, swapped):
            yield say("symptoms.swapped_axes")
    order = np.argsort(value, axis=None)
    in_order = mx.array(np.sort(values, axis=None)).astype(got.dtype)
    if is_close(in_order, Truth(value.ravel()[order], scale.ravel()[order])):
        yield say("symptoms.other_order")


def _places(wrong: NDArray[np.bool_]) -> Iterator[str]:
    """Yield along which axis only a part of the entries is wrong."""
    for axis, size in enumerate(wrong.shape):
        others = tuple(one for one in range(wrong.ndim) if one != axis)
        indices = np.flatnonzero(wrong.any(axis=others)).tolist()
        if len(indices) == size or not indices:
            continue
        is_few = len(indices) <= min(4, size // 2)
        first, last = indices[0], indices[-1]
        is_run = indices == list(range(first, last + 1))
        if is_run and last == size - 1:
            yield say("symptoms.from_index", index=first, axis=axis)
        elif is_run and first == 0:
            yield say("symptoms.up_to_index", index=last, axis=axis)
        elif is_few:
            shown = ", ".join(map(str, indices))
            yield say("symptoms.some_indices", indices=shown, axis=axis, size=size)
