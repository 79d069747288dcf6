"""Week 2, day 2: what a token costs, and how fast it can be.

The chapter: book/en/week-2-day-2-measuring.md
"""

import math
from typing import Any

import mlx.core as mx
import pytest

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import each_dtype
from tiny_llm_course.grading.scenarios.architecture import Architecture, embedded
from tiny_llm_course.grading.scenarios.model_sizes import Sized
from tiny_llm_course.oracle.cached import roofline

FLOPS = "roofline.flops_per_token"
BYTES = "roofline.bytes_per_token"
ROOFLINE = "roofline.roofline"

SMALL = Architecture(
    hidden_size=64,
    num_attention_heads=4,
    num_key_value_heads=2,
    intermediate_size=192,
    num_hidden_layers=3,
    vocab_size=100,
)
MODELS = {
    "small": SMALL,
    "untied": Architecture(
        hidden_size=128,
        num_attention_heads=8,
        num_key_value_heads=2,
        intermediate_size=320,
        num_hidden_layers=2,
        vocab_size=70,
        tie_word_embeddings=False,
    ),
    "one key head": Architecture(
        hidden_size=128,
        num_attention_heads=4,
        num_key_value_heads=1,
        intermediate_size=64,
        num_hidden_layers=1,
        vocab_size=257,
    ),
    "embedded": embedded()[0],
    "Qwen2-0.5B": Architecture(896, 14, 2, 4864, 24, 151936),
    "Qwen2-7B": Architecture(3584, 28, 4, 18944, 28, 152064, tie_word_embeddings=False),
}

each_model = pytest.mark.parametrize("model", MODELS)
each_context = pytest.mark.parametrize("context", [1, 2, 33, 1000])


@each_context
@each_model
def test_task_1_agrees_with_the_counter_of_torch(
    grade: Grader, model: str, context: int
) -> None:
    """PyTorch counts while a model of `transformers` computes one more token."""
    sizes = MODELS[model]

    call = Sized(FLOPS, (context,), sizes=sizes)

    grade.assert_equal(call, roofline.flops(sizes, context))


@each_context
@each_model
def test_task_2_dense_weights_agree_with_the_arrays(
    grade: Grader, model: str, context: int
) -> None:
    _assert_bytes(grade, MODELS[model], context)


@each_dtype
@each_model
def test_task_2_a_dense_model_is_of_its_dtype(
    grade: Grader, model: str, dtype: mx.Dtype
) -> None:
    _assert_bytes(grade, MODELS[model], 17, dtype=dtype)


@pytest.mark.parametrize("bits", [2, 3, 4, 6, 8])
@each_model
def test_task_2_quantised_weights_agree_with_the_arrays(
    grade: Grader, model: str, bits: int
) -> None:
    _assert_bytes(grade, MODELS[model], 33, bits=bits)


@pytest.mark.parametrize("group_size", [32, 64])
@each_dtype
@pytest.mark.parametrize("bits", [4, 8])
def test_task_2_each_group_has_a_scale_and_a_bias(
    grade: Grader, bits: int, dtype: mx.Dtype, group_size: int
) -> None:
    _assert_bytes(
        grade,
        MODELS["untied"],
        33,
        bits=bits,
        group_size=group_size,
        dtype=dtype,
    )


@pytest.mark.parametrize("bits", [None, 4])
@pytest.mark.parametrize("context", [1, 2, 512, 32768])
def test_task_2_the_cache_grows_with_the_context(
    grade: Grader, context: int, bits: int | None
) -> None:
    _assert_bytes(grade, SMALL, context, bits=bits, dtype=mx.float16)


@pytest.mark.parametrize(
    ("flops", "num_bytes", "limit"),
    [
        (1e9, 1e9, "memory"),
        (6e9, 1e9, "compute"),
        (4e9, 1e9, "memory"),
        (1e9, 2e6, "compute"),
        (2e9, 5e6, "compute"),
    ],
)
def test_task_3_the_slower_of_the_two_decides(
    grade: Grader, flops: float, num_bytes: float, limit: str
) -> None:
    """This machine does 5 operations in the time that it takes to move a byte."""
    _assert_limit(grade, (flops, num_bytes, 2e11, 4e10), limit)


@pytest.mark.parametrize(
    ("flops", "num_bytes", "limit"),
    [(1e11, 1e9, "memory"), (1e12, 1e8, "compute"), (3e9, 5e9, "memory")],
)
def test_task_3_another_machine_has_other_limits(
    grade: Grader, flops: float, num_bytes: float, limit: str
) -> None:
    """A GPU does 300 operations in the time that it takes to move a byte."""
    _assert_limit(grade, (flops, num_bytes, 9e14, 3e12), limit)


@pytest.mark.parametrize(
    ("flops", "num_bytes", "limit"), [(1e9, 1e9, "compute"), (1e6, 1e9, "memory")]
)
def test_task_3_a_slow_processor_has_its_limits_too(
    grade: Grader, flops: float, num_bytes: float, limit: str
) -> None:
    """In Python alone, a byte arrives faster than an operation is done."""
    _assert_limit(grade, (flops, num_bytes, 1e9, 4e10), limit)


def test_task_3_work_that_moves_nothing_is_computed(grade: Grader) -> None:
    _assert_limit(grade, (1e9, 0.0, 2e11, 4e10), "compute")


def test_task_3_work_that_computes_nothing_is_moved(grade: Grader) -> None:
    _assert_limit(grade, (0.0, 1e9, 2e11, 4e10), "memory")


def test_task_3_takes_whole_numbers(grade: Grader) -> None:
    """The other two tasks return integers."""
    _assert_limit(grade, (10**9, 3 * 10**9, 2 * 10**11, 4 * 10**10), "memory")


def _assert_bytes(
    grade: Grader,
    sizes: Architecture,
    context: int,
    *,
    bits: int | None = None,
    group_size: int = 64,
    dtype: mx.Dtype = mx.float32,
) -> None:
    """Compare with the arrays of a model of `mlx_lm`. Defaults are not passed on."""
    given = {"bits": bits, "group_size": group_size, "dtype": dtype}
    usual = {"bits": None, "group_size": 64, "dtype": mx.float32}
    kwargs = {name: one for name, one in given.items() if one != usual[name]}

    call = Sized(BYTES, (context,), kwargs, sizes=sizes)

    exact = roofline.num_bytes(sizes, context, bits, group_size, dtype)
    grade.assert_equal(call, exact)


def _assert_limit(
    grade: Grader, work: tuple[float, float, float, float], limit: str
) -> None:
    """Compare the time of some work on some machine, and what limits it."""
    flops, num_bytes, flops_per_s, bytes_per_s = work
    of_limit = {"compute": flops / flops_per_s, "memory": num_bytes / bytes_per_s}

    call = Call(ROOFLINE, work)

    got = grade.run(call)
    expected = (of_limit[limit], limit)
    grade.assert_that(
        _is_pair(got) and math.isclose(got[0], expected[0], rel_tol=1e-6),
        call,
        say("week_2_day_2.complaints.seconds", expected=expected, got=_rounded(got)),
    )
    grade.assert_that(
        got[1] == limit,
        call,
        say("week_2_day_2.complaints.limit", expected=expected, got=_rounded(got)),
    )


def _is_pair(got: Any) -> bool:  # noqa: ANN401 - what a solution returns
    """Tell whether this is a number and a word."""
    return (
        isinstance(got, tuple | list)
        and len(got) == 2
        and isinstance(got[0], int | float)
    )


def _rounded(got: Any) -> str:  # noqa: ANN401 - what a solution returns
    """Write an answer with as many digits as matter."""
    if _is_pair(got):
        return f"({got[0]:.6g}, {got[1]!r})"
    return f"{got:.6g}" if isinstance(got, float) else repr(got)
