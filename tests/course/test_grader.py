"""The grader accepts right results, and explains wrong ones in a few lines."""

import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest

from tiny_llm_course.grading.engine import session
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.closeness import Truth
from tiny_llm_course.grading.judgement.grader import Grader, told_apart
from tiny_llm_course.grading.judgement.inputs import normal
from tiny_llm_course.grading.judgement.verdict import (
    BrokenError,
    NotStartedError,
    WrongError,
)
from tiny_llm_course.grading.results import PASSED
from tiny_llm_course.grading.scenarios.training import Trained
from tiny_llm_course.oracle import basics
from tiny_llm_course.places import REFERENCE
from tiny_llm_course.solution import load_solution
from tiny_llm_course.syllabus import select_days

INDEPENDENT = Path(__file__).parent / "independent_solution"

Write = Callable[[str], Grader]

RIGHT = "return x * mx.sigmoid(x)"


@pytest.fixture
def with_silu(with_files: Callable[..., Grader]) -> Write:
    """Return a function that writes a solution whose `silu` has the given body."""
    return lambda body: with_files(basics=f"def silu(x):\n    {body}")


def assert_silu(grader: Grader, x: mx.array | None = None) -> None:
    """Judge `silu` as the tests of day 4 do."""
    x = normal(2, 3) if x is None else x
    grader.assert_close(Call("basics.silu", (x,)), basics.silu(x), x.dtype)


@pytest.mark.parametrize("dtype", [mx.float32, mx.bfloat16], ids=str)
def test_a_right_answer_is_accepted(with_silu: Write, dtype: mx.Dtype) -> None:
    assert_silu(with_silu(RIGHT), normal(2, 3, dtype=dtype))


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("return x.sum(axis=0)", "expected shape (2, 3), got (3,)"),
        (f"{RIGHT}[None]", "expected shape (2, 3), got (1, 2, 3)"),
        ("return x.astype(mx.float16)", "expected dtype float32, got float16"),
        ("return x > 0", "expected dtype float32, got bool"),
        ("x + 1", "expected an mx.array, got NoneType"),
        ("return np.array(x)", "expected an mx.array, got ndarray"),
        ("return [x, x]", "expected an mx.array, got list"),
    ],
)
def test_an_answer_of_another_kind_is_wrong(
    with_silu: Write, body: str, complaint: str
) -> None:
    with pytest.raises(WrongError) as verdict:
        assert_silu(with_silu(body))

    assert str(verdict.value) == f"silu(float32[2, 3])\n  {complaint}"


def test_a_text_that_is_not_returned_is_told(with_files: Callable[..., Grader]) -> None:
    """A loop may print the text and forget to return it."""
    code = "def simple_generate(prompt):\n    print(prompt)"
    call = Call("generate.simple_generate", ("Once",))

    with pytest.raises(WrongError) as verdict:
        with_files(generate=code).assert_equal(call, "upon a time")

    assert str(verdict.value).splitlines()[1] == (
        "  returned nothing; expected 'upon a time': end it with `return`"
    )


@pytest.mark.parametrize(
    ("wrong", "shown"),
    [
        ("[2**-19, 2**-18]", "got 4.000004\n  32 ULPs"),
        ("[0.5, 1]", "got 5\n  8.39e+06 ULPs"),
        ("[1, mx.inf]", "got inf\n  inf ULPs"),
        ("[1, mx.nan]", "got nan\n  inf ULPs"),
    ],
)
def test_a_wrong_number_is_shown_at_the_worst_entry(
    with_silu: Write, wrong: str, shown: str
) -> None:
    truth = Truth(np.array([[0.5, 1.0], [2.0, 4.0]]), np.ones((2, 2)))
    call = Call("basics.silu", (mx.array(truth.value.astype(np.float32)),))

    with pytest.raises(WrongError) as verdict:
        with_silu(f"return x + mx.array([[0, 0], {wrong}])").assert_close(
            call, truth, mx.float32
        )

    assert str(verdict.value) == (
        f"silu(float32[2, 2])\n  at [1, 1]: expected 4, {shown} of float32 off "
        "(4 allowed); 2 of 4 entries are wrong"
    )


@pytest.mark.parametrize(
    ("a", "b", "shown"),
    [
        (1.0, 2.5, ("1", "2.5")),
        (4.0, 4 + 2**-20, ("4", "4.000001")),
        (np.float32(0.1), 0.1, ("0.100000001", "0.1")),
        (1.0, 1 + 2**-52, ("1.0", "1.0000000000000002")),
        (np.inf, -np.inf, ("inf", "-inf")),
    ],
)
def test_two_numbers_are_written_so_that_they_differ(
    a: float, b: float, shown: tuple[str, str]
) -> None:
    assert told_apart(a, b) == shown


@pytest.mark.parametrize("change", ["x += 1", "x[0] = 0", "x[:] = x * 2"])
def test_an_argument_that_is_changed_is_told(with_silu: Write, change: str) -> None:
    """`x += 1` changes the caller's array, as in NumPy."""
    with pytest.raises(WrongError) as verdict:
        assert_silu(with_silu(f"y = x * mx.sigmoid(x)\n    {change}\n    return y"))

    assert str(verdict.value) == (
        "silu(float32[2, 3])\n"
        "  changed its argument float32[2, 3] in place; work on a copy"
    )


def test_a_weight_that_is_changed_is_told(with_files: Callable[..., Grader]) -> None:
    code = """
class RMSNorm:
    def __init__(self, dim, weight, eps):
        weight *= 2

    def __call__(self, x):
        return x
"""
    call = Call("layer_norm.RMSNorm", (normal(2, 3),), build=(3, mx.ones(3), 1e-6))

    with pytest.raises(WrongError, match=r"changed its argument float32\[3\] in place"):
        with_files(layer_norm=code).run(call)


@pytest.mark.parametrize("body", [RIGHT, "x = x + 0\n    x += 1\n    return x"])
def test_a_copy_may_be_changed(with_silu: Write, body: str) -> None:
    """NaN, which does not equal itself, does not count as a change."""
    x = mx.array([1.0, mx.nan, -mx.inf])

    assert with_silu(body).run(Call("basics.silu", (x,))).shape == (3,)


def test_an_exception_is_told_with_the_learners_lines_and_none_of_ours(
    with_files: Callable[..., Grader],
) -> None:
    basics_py = "def silu(x):\n    return helper(x)\n\ndef helper(x):\n    return x @ x"

    with pytest.raises(BrokenError) as verdict:
        assert_silu(with_files(basics=basics_py))

    first, raised, *frames = str(verdict.value).splitlines()
    assert first == "silu(float32[2, 3])"
    assert raised.startswith("  raised ValueError: [matmul] Last dimension of first")
    assert frames == [
        "  basics.py, line 4, in silu: return helper(x)",
        "  basics.py, line 7, in helper: return x @ x",
    ]


@pytest.mark.parametrize(
    ("body", "raised"),
    [
        ("assert x.ndim == 1, 'one axis'", "AssertionError: one axis"),
        ("return silu(x)", "RecursionError: maximum recursion depth exceeded"),
        ("raise SystemExit('bye')", "SystemExit: bye"),
    ],
)
def test_whatever_a_solution_raises_is_told(
    with_silu: Write, body: str, raised: str
) -> None:
    with pytest.raises(BrokenError, match=f"raised {raised}"):
        assert_silu(with_silu(body))


def test_a_file_that_cannot_be_imported_is_told(with_silu: Write) -> None:
    with pytest.raises(BrokenError) as verdict:
        assert_silu(with_silu("retrun x"))

    assert str(verdict.value) == (
        "basics.py cannot be imported: SyntaxError: invalid syntax (basics.py, line 4)"
    )


@pytest.mark.parametrize(
    "body",
    [
        "from tiny_llm_course import todo\n    todo('week 1, day 4, task 2')",
        "raise NotImplementedError",
        "raise NotImplementedError('later')",
        "pass",
        "return None",
    ],
)
def test_a_stub_is_not_started(with_silu: Write, body: str) -> None:
    """A stub is ours, Python's own NotImplementedError, or an empty body."""
    with pytest.raises(NotStartedError) as verdict:
        assert_silu(with_silu(body))

    assert str(verdict.value) == (
        "week 1, day 4, task 2 is not started (SiLU and the MLP of Qwen2): read "
        "`pdm run book week-1-day-4-rmsnorm-and-mlp#task-2`, fill in basics.py, then "
        "run `pdm run test --week 1 --day 4 --task 2`"
    )


def test_what_is_missing_is_not_started(with_files: Callable[..., Grader]) -> None:
    with pytest.raises(NotStartedError, match=r"basics\.py has no silu$"):
        assert_silu(with_files(basics=""))


@pytest.mark.parametrize(
    "body", [f"import warnings; warnings.warn('hm'); {RIGHT}", f"'\\d'; {RIGHT}"]
)
def test_a_warning_is_no_mistake(with_silu: Write, body: str) -> None:
    r"""Python warns of a formula with \d in a docstring, for example."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("error")
        assert_silu(with_silu(body))

    assert len(seen) == 1


def test_an_independent_solution_passes(tmp_path: Path) -> None:
    """Its own softmax, norm, rotation and attention, under our layers of Qwen2."""
    folder = shutil.copytree(REFERENCE, tmp_path / "independent_solution")
    shutil.copytree(INDEPENDENT, folder, dirs_exist_ok=True)
    days = [day for day in select_days(1, None) if day.number <= 4]
    required = [task for day in days for task in day.tasks if not task.optional]

    results = session.grade(days, str(folder), tasks=required).tests.values()

    assert {one.task for one in results} == {str(task.address) for task in required}
    assert [result for result in results if result.status != PASSED] == []


def test_a_layer_that_was_trained_first_is_written_line_by_line() -> None:
    build = (3, *[mx.zeros(3)] * 4)
    batch, x = mx.zeros((2, 3)), mx.zeros((1, 3))

    call = Trained(
        "norms.BatchNorm", (x,), build=build, batches=(batch,), attribute="running_var"
    )

    assert str(call).splitlines() == [
        "layer = BatchNorm(3, float32[3], float32[3], float32[3], float32[3])",
        "layer(float32[2, 3], training=True)",
        "layer(float32[1, 3])",
        "layer.running_var",
    ]
    assert any(array is batch for array in call.arrays())


def test_a_layer_that_is_called_twice_is_written_line_by_line() -> None:
    before, x = mx.zeros((1, 2, 1, 4)), mx.zeros((1, 3, 1, 4))
    named = {"seq_len": 9}

    call = Call(
        "positional_encoding.RoPE", (x,), build=(4,), named=named, earlier=((before,),)
    )

    assert str(call).splitlines() == [
        "built = RoPE(4, seq_len=9)",
        "built(float32[1, 2, 1, 4])",
        "built(float32[1, 3, 1, 4])",
    ]
    assert call.run(load_solution("ref")).shape == x.shape
    assert any(array is before for array in call.arrays())


def test_where_a_line_ends_tells_no_complaint_from_another(with_silu: Write) -> None:
    """Some solutions print a line break before the second copy of a text."""
    grader, call = with_silu(RIGHT), Call("basics.silu", (mx.zeros(1),))
    evidence = []
    for printed in ("a text\na text", "a text a text"):
        with pytest.raises(WrongError) as caught:
            grader.assert_that(claim=False, call=call, complaint=f"printed {printed!r}")
        evidence.append(caught.value.evidence)

    assert evidence[0].matches(evidence[1])
