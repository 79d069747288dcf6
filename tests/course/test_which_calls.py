"""What the calls that are wrong have in common, and no right call has."""

from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx
import pytest

from tiny_llm_course.grading.diagnosis.which_calls import only_calls
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import normal
from tiny_llm_course.grading.judgement.trial import Outcome, Trial
from tiny_llm_course.oracle.cached import attention
from tiny_llm_course.specimens import Specimen
from tiny_llm_course.syllabus import Address
from tiny_llm_ref.attention import scaled_dot_product_attention_simple as right

TASK = Address(1, 1, 1)
ATTENTION = "attention.scaled_dot_product_attention_simple"


def _trial(
    num_queries: int, scale: float | None = None, dtype: mx.Dtype = mx.float32
) -> Trial:
    def test(grade: Grader) -> None:
        query, key, value = (
            normal(length, 4, dtype=dtype, name=str(index))
            for index, length in enumerate((num_queries, 3, 3))
        )
        call = Call(ATTENTION, (query, key, value), {"scale": scale})
        expected = attention.attention(query, key, value, scale)
        grade.assert_close(call, expected, dtype)

    return Trial(TASK, "test", test, {}, mx.cpu, frozenset({ATTENTION}))


def _said_of(wrong: Callable[..., Any], trials: Sequence[Trial]) -> str | None:
    solution = Specimen(TASK, ATTENTION, wrong).as_solution()
    return only_calls([Outcome(one, one.run(solution)) for one in trials], TASK)


def _with_a_scale(q: Any, k: Any, v: Any, scale: Any = None) -> Any:  # noqa: ANN401
    return right(q, k, v) if scale is None else v[: len(q)]


def _with_many_queries(q: Any, k: Any, v: Any, scale: Any = None) -> Any:  # noqa: ANN401
    return right(q, k, v, scale) if len(q) < 2 else v[: len(q)]


def _with_few_queries(q: Any, k: Any, v: Any, scale: Any = None) -> Any:  # noqa: ANN401
    return right(q, k, v, scale) if len(q) > 2 else v[: len(q)]


def _in_float16(q: Any, k: Any, v: Any, scale: Any = None) -> Any:  # noqa: ANN401
    return v[: len(q)] if q.dtype == mx.float16 else right(q, k, v, scale)


def _always(q: Any, k: Any, v: Any, scale: Any = None) -> Any:  # noqa: ANN401
    del k, scale
    return v[: len(q)]


def _at_random(q: Any, k: Any, v: Any, scale: Any = None) -> Any:  # noqa: ANN401
    return v[: len(q)] if len(q) == 2 and scale else right(q, k, v, scale)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (
            _with_a_scale,
            "wrong in every test where `scale` is a number, and in no other",
        ),
        (
            _with_many_queries,
            "wrong in every test where `L` is 2 or more, and in no other",
        ),
        (
            _with_few_queries,
            "wrong in every test where `L` is 2 or less, and in no other",
        ),
        (
            _in_float16,
            "wrong in every test where the dtype of `query` is float16, and in no"
            " other",
        ),
        (
            _always,
            "every call of `scaled_dot_product_attention_simple` is wrong, whatever its"
            " arguments",
        ),
        (_at_random, None),
    ],
)
def test_what_only_wrong_calls_have_is_told(
    wrong: Callable[..., Any], says: str | None
) -> None:
    sizes = [(1, None), (2, None), (3, None), (1, 0.3), (2, 0.3), (3, 0.3)]
    trials = [
        _trial(*one, dtype) for one in sizes for dtype in (mx.float32, mx.float16)
    ]

    assert _said_of(wrong, trials) == says


def test_a_stub_is_not_described() -> None:
    """It is not wrong, and there is nothing to find."""

    def stub(*_: object, **__: object) -> None:
        raise NotImplementedError

    assert _said_of(stub, [_trial(1), _trial(2)]) is None
