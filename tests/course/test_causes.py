"""Mistakes that an error proves by itself."""

import importlib.util
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from tiny_llm_course.grading.diagnosis.causes import cause_of
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.trial import Outcome, Trial
from tiny_llm_course.specimens import Specimen
from tiny_llm_course.syllabus import Address

SILU = Address(1, 4, 2)


def _trial(num_rows: int) -> Trial:
    def test(grade: Grader) -> None:
        grade.assert_equal(Call("basics.silu", (mx.ones((num_rows, 4)),)), 1)

    return Trial(SILU, str(num_rows), test, {}, mx.cpu)


def _said_of(silu: Callable[..., object]) -> str:
    solution = Specimen(SILU, "basics.silu", silu).as_solution()
    trials = map(_trial, range(1, 5))
    found = cause_of([Outcome(one, one.run(solution)) for one in trials])
    return found.says if found else ""


def _keeps_a_word_of_torch(x: mx.array) -> Any:  # noqa: ANN401
    return mx.softmax(x, dim=-1)  # type: ignore[call-overload]


def _unsqueezes(x: Any) -> Any:  # noqa: ANN401
    return x.unsqueeze(0)


def _unflattens(x: Any) -> Any:  # noqa: ANN401
    return x.unflatten(-1, (2, 2))


def _uses_math(x: Any) -> Any:  # noqa: ANN401
    return x / (1 + math.exp(-x))


def _asks_an_array(x: mx.array) -> Any:  # noqa: ANN401
    return x if mx.ones((2, 3)) else -x


def _counts_axes(x: mx.array) -> Any:  # noqa: ANN401
    b, h, w = x.shape
    return x.reshape(b, h, w)


def _takes_two_of_topk(x: mx.array) -> Any:  # noqa: ANN401
    values, places = mx.topk(mx.concatenate([x, x, x]), 3, axis=0)
    return values + places


def _counts_axes_by_letters(x: mx.array) -> Any:  # noqa: ANN401
    return mx.einsum("blh->bhl", x)


def _wants_more(x: mx.array, beta: float) -> Any:  # noqa: ANN401
    return beta * x


def _refuses(x: mx.array) -> Any:  # noqa: ANN401
    width = x.shape[-1]
    if width % 3:
        raise ValueError(f"no width of {width}")
    return x


def _misspells(x: mx.array) -> Any:  # noqa: ANN401
    return X + x  # type: ignore[name-defined]


def _adds_a_word(x: mx.array, mask: str = "causal") -> Any:  # noqa: ANN401
    return x + mask  # type: ignore[operator]


def _needs_a_mask(x: mx.array, mask: mx.array | None = None) -> Any:  # noqa: ANN401
    return x + mask  # type: ignore[operator]


@pytest.mark.parametrize(
    ("silu", "begins"),
    [
        (_keeps_a_word_of_torch, "`dim` and `keepdim` are words of PyTorch."),
        (_unsqueezes, "An array of MLX has no `unsqueeze`"),
        (_unflattens, "An array has no `unflatten`: MLX has it as a function"),
        (_uses_math, "`math.exp` takes one number."),
        (_asks_an_array, "An array of many entries is asked whether it is true."),
        (_counts_axes, "An input with exactly 3 axes is expected"),
        (_takes_two_of_topk, "`mx.topk` returns the values alone"),
        (_counts_axes_by_letters, "An einsum is written for a number of axes"),
        (_wants_more, "`beta` may be left out of a call"),
        (_refuses, "The check at test_causes.py:"),
        (_misspells, "`X` has no value"),
        (_adds_a_word, 'An argument may be a word, such as "causal"'),
        (_needs_a_mask, "`mask` may be None, and is used as if it never were"),
    ],
)
def test_an_error_that_has_one_reason_is_named(
    silu: Callable[..., object], begins: str
) -> None:
    assert _said_of(silu).startswith(begins)


def test_the_place_and_the_values_are_told() -> None:
    assert _said_of(_refuses).endswith(": `width % 3` (width = 4).")
    assert _said_of(_uses_math).endswith("`math.exp(-x)`.")


class _Hostile(int):
    def __repr__(self) -> str:
        raise RuntimeError


def _refuses_a_hostile_value(x: mx.array) -> Any:  # noqa: ANN401
    limit, huge, name = _Hostile(9), 10**5000, "\x1b[2J"
    if x.size < huge and limit > 0 and name:
        raise ValueError(name)
    return x


def test_a_value_that_cannot_be_told_is_left_out() -> None:
    """It is somebody's code that would write it."""
    assert _said_of(_refuses_a_hostile_value).endswith("(name = '\\x1b[2J').")


def _multiplies_what_does_not_fit(x: mx.array) -> mx.array:
    return x @ mx.zeros((7, 7))


def _fails_once(x: mx.array) -> mx.array:
    return _uses_math(x) if x.shape[0] == 1 else -x


@pytest.mark.parametrize("silu", [_multiplies_what_does_not_fit, _fails_once])
def test_an_error_with_many_reasons_or_of_few_tests_proves_nothing(
    silu: Callable[..., object],
) -> None:
    """Of sizes that do not fit, either one may be wrong."""
    assert not _said_of(silu)


def test_a_part_that_refuses_points_to_the_line_that_calls_it(tmp_path: Path) -> None:
    """The check is right: what it is given is not."""
    spec = importlib.util.spec_from_file_location("tiny_llm_ref.own", tmp_path / "a.py")
    (tmp_path / "a.py").write_text(
        "def linear(x):\n"
        "    if x.ndim < 9:\n"
        "        raise ValueError('too few axes')\n"
        "def silu(x):\n"
        "    return linear(x)\n"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    said = _said_of(module.silu)

    assert (
        said
        == "`linear` is handed something else than it takes at a.py:5: `linear(x)`."
    )
