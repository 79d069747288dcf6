"""The report on a test that crashed the interpreter."""

from pathlib import Path

import mlx.core as mx
import pytest

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.engine.ended import Ended, tell
from tiny_llm_course.grading.engine.trace import Trace
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.underway import Underway
from tiny_llm_course.grading.results import Result

RUNNING = Result("week 1, day 7, task 1", "tests/test_week_1_day_7.py::test_it[cpu]")
IN_MLX = 'Current thread:\n  File "/course/grading/grader.py", line 9 in _attempt\n'
IN_THEIRS = '  File "{folder}/sampler.py", line 2 in sample\n'


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    """Return the trace files of a process that was ended during a call."""
    found = Trace(tmp_path / "results.jsonl")
    Underway(found.note).begin(Call("sampler.make_sampler", (mx.zeros(5),), build=(0,)))
    (tmp_path / "results.stack").write_text(IN_MLX)
    return found


def told(trace: Trace, folder: Path, how: str) -> list[str]:
    return tell(RUNNING, Ended(how, "", 60), trace, folder).splitlines()


def test_a_crash_below_python_says_what_it_is_as_a_rule(
    trace: Trace, tmp_path: Path
) -> None:
    """MLX is lazy: the line with the mistake has been left by then."""
    assert told(trace, tmp_path, "SIGSEGV") == [
        "make_sampler(0)(float32[5])",
        "  ended the Python interpreter (SIGSEGV)",
        *f"  {say('grading.crash_in_mlx')}".splitlines(),
        "  in test_it[cpu]",
    ]


def test_a_crash_at_a_line_of_theirs_needs_no_rule(
    trace: Trace, tmp_path: Path
) -> None:
    (tmp_path / "sampler.py").write_text("def sample():\n    crash()\n")
    stack = tmp_path / "results.stack"
    stack.write_text(IN_THEIRS.format(folder=tmp_path) + IN_MLX)

    assert told(trace, tmp_path, "SIGABRT")[2:] == [
        "  sampler.py, line 2, in sample: crash()",
        "  in test_it[cpu]",
    ]


def test_a_crash_outside_of_a_call_names_none(trace: Trace, tmp_path: Path) -> None:
    Underway(trace.note).end()

    assert told(trace, tmp_path, "exit code 3") == [
        "  ended the Python interpreter (exit code 3)",
        "  in test_it[cpu]",
    ]
