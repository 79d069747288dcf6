"""Sanitizer reports on a learner's kernels are shown with file and line."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from tiny_llm_course.commands import test as grading
from tiny_llm_course.errors import CourseError
from tiny_llm_course.extension import programs, sanitizing
from tiny_llm_course.extension.programs import COMPILER
from tiny_llm_course.extension.sanitizing import complaints, shortened
from tiny_llm_course.grading.report.standing import TaskReport
from tiny_llm_course.grading.results import CRASHED, Result
from tiny_llm_course.syllabus import Address, task_at

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no compiler for C++")

SWIGLU = """#pragma once
#include "kernels/todo.h"
namespace tiny_llm {
inline void swiglu(float* y, int size) {
  {BODY}
}
}
"""

PROGRAM = """#include <cstdio>
#include <vector>
#include "kernels/fused.h"
int main() {
  std::vector<float> y(4);
  try {
    tiny_llm::swiglu(y.data(), 4);
  } catch (const tiny_llm::Unsolved&) {
  }
}
"""


@pytest.fixture
def solution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a solution with one kernel, and replace the program that calls it."""
    kernels = tmp_path / "extensions" / "kernels"
    kernels.mkdir(parents=True)
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "fused.cpp").write_text(PROGRAM)
    monkeypatch.setattr(sanitizing, "FOLDER", tmp_path / "programs")
    monkeypatch.setattr(programs, "CACHE", tmp_path / "cache")
    (tmp_path / "tiny_llm").mkdir()
    return tmp_path / "tiny_llm"


@pytest.fixture
def said(solution: Path) -> Callable[[str], list[str]]:
    """Return a function that runs the kernel with a given body."""

    def say(body: str) -> list[str]:
        header = solution.parent / "extensions" / "kernels" / "fused.h"
        header.write_text(SWIGLU.replace("{BODY}", body))
        return complaints(["fused.h:swiglu"], solution)

    return say


@needs_compiler
def test_a_write_past_the_end_is_shown_with_its_line(
    said: Callable[[str], list[str]],
) -> None:
    (complaint,) = said("for (int i = 0; i <= size; ++i) y[i] = 1;")

    assert complaint.splitlines() == [
        "a write past an end of an array, or through a pointer that leads nowhere",
        "  extensions/kernels/fused.h:5, in swiglu",
        "    for (int i = 0; i <= size; ++i) y[i] = 1;",
    ]


@needs_compiler
def test_what_cpp_does_not_define_is_shown_with_its_line(
    said: Callable[[str], list[str]],
) -> None:
    (complaint,) = said("y[0] = static_cast<float>(size + 2147483647);")

    assert complaint.splitlines()[:2] == [
        "undefined behaviour: signed integer overflow: 4 + 2147483647 cannot be "
        "represented in type 'int'",
        "  extensions/kernels/fused.h:5, in swiglu",
    ]


@needs_compiler
def test_of_right_kernels_and_of_stubs_nothing_is_said(
    said: Callable[[str], list[str]],
) -> None:
    assert said("y[size - 1] = 1;") == said('todo("week 2, day 7, task 3");') == []


@needs_compiler
def test_kernels_that_do_not_compile_are_not_called_clean(
    said: Callable[[str], list[str]],
) -> None:
    assert said("return 1 ") == [
        "the kernels do not compile; all errors: pdm run build-ext"
    ]


RACE = """==================
WARNING: ThreadSanitizer: data race (pid=71)
  Write of size 4 at 0x7b08 by thread T2:
    #0 {lambda(int)#1}::operator()(int) const /usr/include/c++/13/bits/x.h:9 (p+0x1)
    #1 tiny_llm::QuantizedMatrix<float>::q(int) {folder}/kernels/quantized_matrix.h:1
    #2 operator() {folder}/kernels/matvec.h:2 (p+0x2)

  Previous read of size 4 at 0x7b08 by main thread:
    #0 void tiny_llm::matvec_threaded<float>(int) {folder}/kernels/matvec.h:3 (p+0x2)

SUMMARY: ThreadSanitizer: data race {folder}/kernels/matvec.h:2 in operator()
"""


def test_of_a_race_both_places_are_shown(tmp_path: Path) -> None:
    folder = tmp_path / "extensions"
    (folder / "kernels").mkdir(parents=True)
    (folder / "kernels" / "matvec.h").write_text("first\n  second;\n  third;\n")

    shown = shortened(RACE.replace("{folder}", str(folder)), folder)

    assert shown.splitlines() == [
        "a data race: two threads use one number at the same time, and one of them "
        "writes",
        "  extensions/kernels/matvec.h:2, in operator()",
        "    second;",
        "  extensions/kernels/matvec.h:3, in matvec_threaded",
        "    third;",
    ]


def test_after_a_crash_the_kernels_are_looked_at_without_being_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    task = task_at(Address(2, 4, 1))
    asked: list[list[str]] = []
    monkeypatch.setattr(
        grading, "complaints", lambda kernels, _: asked.append(kernels) or ["found"]
    )
    crashed, passed = (
        TaskReport(task, (Result("", "", status),)) for status in (CRASHED, "passed")
    )

    grading.look_at_kernels([passed], "tiny_llm_ref", is_asked=False)
    grading.look_at_kernels([crashed, passed], "tiny_llm_ref", is_asked=False)

    assert asked == [list(task.kernels)]
    assert capsys.readouterr().out.endswith("under the compiler's sanitizers:\nfound\n")


def test_kernels_that_pass_may_have_been_lucky(
    capsys: pytest.CaptureFixture[str],
) -> None:
    done, python = (
        TaskReport(task_at(Address(2, day, 1)), (Result("", "", "passed"),))
        for day in (4, 3)
    )

    grading.look_at_kernels([python], "tiny_llm_ref", is_asked=False)
    assert capsys.readouterr().out == ""
    grading.look_at_kernels([python, done], "tiny_llm_ref", is_asked=False)
    command = "pdm run test --week 2 --day 4 --sanitize\n"
    assert capsys.readouterr().out.endswith(command)


def test_a_day_without_kernels_is_refused_before_it_is_graded() -> None:
    ran = CliRunner().invoke(
        grading.command, ["--week", "1", "--day", "1", "--sanitize"]
    )

    assert (ran.exit_code, ran.stderr) == (
        2,
        "test: --sanitize: expected a day with kernels, which Week 2 has from Day 4 "
        "on\n",
    )


def test_without_a_compiler_that_is_said(
    solution: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sanitizing, "COMPILER", None)

    with pytest.raises(CourseError, match=r"no C\+\+ compiler"):
        complaints(["fused.h:swiglu"], solution)
