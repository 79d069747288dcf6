"""A C++ kernel may be a stub, crash, hang, or not compile: each is reported."""

import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mlx.core as mx
import pytest

from tiny_llm_course.catalogue import say
from tiny_llm_course.doctor.system import find_compiler
from tiny_llm_course.editing.cpp_code import CppCode
from tiny_llm_course.grading.engine import session
from tiny_llm_course.grading.engine.launch import Launched, start
from tiny_llm_course.grading.results import (
    BROKEN,
    CRASHED,
    NOT_STARTED,
    PASSED,
    WRONG,
    Results,
)
from tiny_llm_course.places import Checkout
from tiny_llm_course.solution import Solution
from tiny_llm_course.syllabus import Address, Day, Task, task_at

pytestmark = [
    pytest.mark.skipif(find_compiler() is None, reason="there is no C++ compiler"),
    pytest.mark.timeout(600),
]

KERNEL = "matvec_naive"
TASK = Task(Address(2, 3, 3), "a-chapter", (), kernels=(f"matvec.h:{KERNEL}",))
DAY = Day(2, 3, "a-chapter", (TASK,))
"""A fake day with kernels, at an existing address."""

TESTS = """
import mlx.core as mx
import pytest

from tiny_llm_course.grading.judgement.call import Call

class Weights:
    weight, scales, biases = mx.quantize(mx.ones((8, 64)))
    group_size, bits = 64, 4

@pytest.mark.parametrize("first", {cases})
def test_task_3_calls_a_kernel(grade, first):
    grade.run(Call("kernels.matvec_naive", (mx.full(64, float(first)), Weights())))

def test_task_1_calls_none(grade):
    pass
"""

WRONG_IN_MANY_WAYS = """
  const int pieces = 8 / (rows.last - rows.first);  // dies of no rows
  for (int o = rows.first; o < rows.last; ++o) y[o] = w.num_columns;
  if (pieces == 0) return;
  if (x[0] == 1) *reinterpret_cast<volatile int*>(y - y) = 0;
  for (volatile bool hangs = x[0] == 2; hangs;) {}
  if (x[0] == 3) y[w.num_rows + 2] = 1;
  if (x[0] == 4) y[-1] = 1;
  if (x[0] == 5) y[rows.first > 0 ? 0 : w.num_rows - 1] = 1;
  if (x[0] == 6) const_cast<float*>(x)[9] = 1;
  if (x[0] == 7) throw std::runtime_error("thrown");
  if (x[0] == 8) y[rows.first] = y[rows.first] + x[w.num_columns];
  if (x[0] == 9) y[w.num_rows] += 1;
  if (x[0] == 10) y[w.num_rows] = x[w.num_columns] * 2;
  if (x[0] == 11) y[w.num_rows] = x[w.num_columns];
"""
"""It writes at the index given by the first number, and never gets zero rows."""

WRITES = {
    0: "",
    3: "nothing to be written beside the 8 numbers of y, got a write up to 3 numbers "
    "past the end",
    4: "nothing to be written beside the 8 numbers of y, got a write from 1 number "
    "before the beginning on",
    5: "rows 2 to 5 to be written, as it was told, got a write to row 0",
    6: "x to be read only, got a write to its number 9",
    **dict.fromkeys(
        (9, 10, 11),
        "nothing to be written beside the 8 numbers of y, got a write up to 1 number "
        "past the end",
    ),
}
"""The report on a kernel that writes outside its array, even NaN over NaN."""


LIMIT_S = 3


@pytest.fixture
def graded(learner: Checkout, tmp_path: Path) -> Callable[..., Results]:
    """Return a function that grades a kernel with a given body, or the stub's."""

    def grade(body: str | None, *cases: float) -> Results:
        if body is not None:
            write(learner, body)
        tests = tmp_path / "test_week_2_day_3.py"
        tests.write_text(TESTS.format(cases=list(cases)))

        def launch(arguments: Sequence[str]) -> Launched:
            given = [one for one in arguments if not one.endswith(tests.name)]
            return start([*given, str(tests), "--rootdir", str(tmp_path)])

        return session.grade(
            [DAY], str(learner.starter), launch=launch, silence_limit_s=LIMIT_S
        )

    return grade


def write(learner: Checkout, body: str) -> None:
    """Give the kernel another body."""
    path = learner.kernels / "kernels" / "matvec.h"
    source = CppCode.parse(path.read_text())
    (found,) = source.named(KERNEL)
    text = source.replaced(found.body, found.end, f"{{{body}}}").text
    path.write_text(text.replace("#pragma once", '#include "kernels/todo.h"', 1))


def outcomes(results: Results, task: int) -> list[tuple[str, str]]:
    address = str(Address(2, 3, task))
    found = [one for one in results.tests.values() if one.task == address]
    return [(one.status, one.message) for one in found]


# First of all, while the kernel is the stub, which has been compiled with the others.


def test_a_stub_in_cpp_is_not_started(graded: Callable[..., Results]) -> None:
    results = graded(None, 0)

    own = task_at("week 2, day 4, task 1")
    assert outcomes(results, task=3) == [(NOT_STARTED, own.not_started())]


@pytest.mark.parametrize(
    ("first", "told"),
    [
        (1, ["  ended the Python interpreter (SIGSEGV)"]),
        (2, ["  had not returned after ", say("grading.hang")]),
    ],
)
def test_a_kernel_that_does_not_come_back_is_told_and_the_next_task_graded(
    graded: Callable[..., Results], first: int, told: list[str]
) -> None:
    """The report has the call with its sizes, and the test."""
    results = graded(WRONG_IN_MANY_WAYS, 0, first)

    passed, (status, message) = outcomes(results, task=3)
    assert (passed, status) == ((PASSED, ""), CRASHED)
    assert message.startswith(
        "matvec_naive(float32[64], Weights(8 x 64, 4 bits, groups of 64))\n"
    )
    assert [one for one in told if one not in message] == []
    assert message.endswith(f"\n  in test_task_3_calls_a_kernel[cpu-{first}]")
    assert outcomes(results, task=1) == [(PASSED, "")]


def test_a_write_to_what_is_not_its_own_is_told_at_once(
    graded: Callable[..., Results],
) -> None:
    results = graded(WRONG_IN_MANY_WAYS, *WRITES)

    messages = [message for _, message in outcomes(results, task=3)]
    expected = [
        text and f"RuntimeError: {KERNEL}: expected {text}" for text in WRITES.values()
    ]
    for message, text in zip(messages, expected, strict=True):
        assert text in message
        assert bool(text) == bool(message)


def test_an_exception_of_a_kernel_is_one_of_the_call(
    graded: Callable[..., Results],
) -> None:
    results = graded(WRONG_IN_MANY_WAYS, 7)

    ((status, message),) = outcomes(results, task=3)
    assert (status, "raised RuntimeError: thrown" in message) == (WRONG, True)


def test_behind_an_input_there_is_nan(
    graded: Callable[..., Results], learner: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a number read past the end shows in the result."""
    graded(WRONG_IN_MANY_WAYS, 0)
    monkeypatch.setenv("TINY_LLM_WATCH", "1")
    solution = Solution(learner.starter, "loaded_watched")

    y = solution.get(f"kernels.{KERNEL}")(mx.full(64, 8.0), weights())

    assert [math.isnan(one) for one in y.tolist()].count(True) == 3


def test_two_solutions_with_kernels_can_be_loaded_at_once(
    graded: Callable[..., Results], learner: Checkout, tmp_path: Path
) -> None:
    """The grader does so: it runs known mistakes beside the learner's solution."""
    graded(WRONG_IN_MANY_WAYS, 0)
    other = shutil.copytree(learner.starter, tmp_path / "other")
    w = weights()

    for _ in range(2):
        for folder in (learner.starter, other):
            solution = Solution(folder, f"loaded_{folder.name}")
            y = solution.get(f"kernels.{KERNEL}")(mx.zeros(64), w)
            module = sys.modules[f"{solution.package}._kernels"]

            assert y.tolist() == [64.0] * 8
            assert Path(str(module.__file__)).parent == folder


def weights(num_rows: int = 8) -> Any:  # noqa: ANN401 - the fields of QuantizedWeights
    weight, scales, biases = mx.quantize(mx.ones((num_rows, 64)))
    return SimpleNamespace(
        weight=weight, scales=scales, biases=biases, group_size=64, bits=4
    )


def test_a_layer_that_is_a_stub_says_so_when_it_is_made(
    graded: Callable[..., Results], learner: Checkout
) -> None:
    """Later it would end the process: it runs on a thread of MLX."""
    graded(WRONG_IN_MANY_WAYS, 0)
    layer = Solution(learner.starter, "loaded_with_a_stub").get("kernels.Layer")

    with pytest.raises(NotImplementedError) as raised:
        layer([weights(64)] * 7, [mx.ones(64)] * 5, num_heads=2, eps=1e-6, base=10000.0)

    assert str(raised.value) == task_at("week 2, day 7, task 5").not_started()


# Up to here that kernel is the same, and compiled once. Each test below has its own.


def test_a_compile_error_is_the_verdict_on_what_calls_a_kernel(
    graded: Callable[..., Results],
) -> None:
    results = graded("return 1 ", 0)

    ((status, message),) = outcomes(results, task=3)
    assert status == BROKEN
    head, error, *code = message.splitlines()
    assert head == "the kernels do not compile; all errors: pdm run build-ext"
    assert error.startswith("extensions/kernels/matvec.h:")
    assert ": error: " in error
    assert len(code) <= 12
    assert outcomes(results, task=1) == [(PASSED, "")]


def test_without_a_compiler_kernels_count_as_not_started(
    learner: Checkout, tmp_path: Path
) -> None:
    """One line on stderr says why."""
    folder = learner.starter
    for path in folder.glob("_kernels.*"):
        path.unlink()
    code = (
        "from tiny_llm_course.extension import building, preparing;"
        "from tiny_llm_course.syllabus import *;"
        "building.find_compiler = lambda: None;"
        "building.compiled_cache.take = lambda *_: False;"
        "task = Task(Address(2, 3, 3), '', (), kernels=('matvec.h:f',));"
        f"preparing.prepare([Day(2, 3, '', (task,))], {str(folder)!r})"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ,
        capture_output=True,
        text=True,
        check=True,
    )
    (tmp_path / "test_week_2_day_3.py").write_text(TESTS.format(cases=[0]))
    results = session.grade(
        [],
        str(folder),
        [str(tmp_path / "test_week_2_day_3.py"), "--rootdir", str(tmp_path)],
    )

    complaint = "the kernels cannot be compiled, so they count as not started: no C++"
    assert ran.stderr.startswith(complaint)
    assert len(ran.stderr.splitlines()) == 1
    ((status, message),) = outcomes(results, task=3)
    assert status == NOT_STARTED
    assert message.endswith("the kernels are not compiled: run `pdm run build-ext`")
