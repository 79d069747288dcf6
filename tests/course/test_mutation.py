"""A machine changes the reference, and the tests have to notice."""

import sys
from collections.abc import Callable
from pathlib import Path

import mlx.core as mx
import pytest

from tiny_llm_course.grading.call import Call
from tiny_llm_course.grading.grader import Grader
from tiny_llm_course.grading.inputs import normal
from tiny_llm_course.grading.trial import Trial
from tiny_llm_course.mutation import outcomes
from tiny_llm_course.mutation.proof import MutantScore, score, work_off
from tiny_llm_course.mutation.python import mutants_of
from tiny_llm_course.mutation.worker import try_all
from tiny_llm_course.oracle.kept import basics
from tiny_llm_course.syllabus import Address

Test = Callable[[Grader], None]
SILU = "basics.silu"
IN_FLOAT32 = (
    f"{SILU}: return x * mx.sigmoid(x) => return (x * mx.sigmoid(x)).astype(mx.float32)"
)


def in_half_precision(grade: Grader) -> None:
    x = normal(3, 4, dtype=mx.float16)
    grade.assert_close(Call(SILU, (x,)), basics.silu(x), mx.float16)


def in_float32_only(grade: Grader) -> None:
    x = normal(3, 4)
    grade.assert_close(Call(SILU, (x,)), basics.silu(x), mx.float32)


def proved(tmp_path: Path, *tests: Test, listed: set[str] | None = None) -> MutantScore:
    task = Address(1, 4, 2)
    names = frozenset({SILU})
    trials = [Trial(task, one.__name__, one, {}, mx.cpu, names) for one in tests]
    path = tmp_path / "mutants.jsonl"
    path.touch()
    try_all(mutants_of(SILU), trials, path)
    tried = [one for one in outcomes.read(path) if one.key != outcomes.ALL_DONE]
    return score("week 1, day 4", tried, listed or set())


def test_every_mutant_is_rejected(tmp_path: Path) -> None:
    found = proved(tmp_path, in_float32_only, in_half_precision)

    assert found.num_rejected == found.num_mutants >= 8
    assert found.is_proven


def test_a_weaker_test_lets_a_mutant_through(tmp_path: Path) -> None:
    found = proved(tmp_path, in_float32_only)

    assert found.survived == (IN_FLOAT32,)
    assert not found.is_proven


def test_a_mutant_that_is_listed_may_pass(tmp_path: Path) -> None:
    found = proved(tmp_path, in_float32_only, listed={IN_FLOAT32})

    assert found.equivalent == (IN_FLOAT32,)
    assert found.is_proven


@pytest.mark.parametrize("listed", [IN_FLOAT32, f"{SILU}: a => b"])
def test_what_is_listed_in_vain_fails_the_proof(tmp_path: Path, listed: str) -> None:
    found = proved(tmp_path, in_float32_only, in_half_precision, listed={listed})

    assert found.stale == (listed,)
    assert not found.is_proven


ENDS_AT = """
import json, os, sys, time

def write(key, status):
    with open(sys.argv[1], "a") as file:
        file.write(json.dumps({"key": key, "status": status}) + "\\n")

with open(sys.argv[1]) as file:
    known = {json.loads(line)["key"] for line in file}
for key in ("a", "b", "c"):
    if key not in known:
        write(key, "")
        if key == "b":
            %s
        write(key, "rejected")
write("all done", "")
"""


@pytest.mark.parametrize("end", ["os.abort()", "time.sleep(60)"])
def test_a_mutant_that_ends_or_hangs_the_process_is_left_behind(
    tmp_path: Path, end: str
) -> None:
    path = tmp_path / "mutants.jsonl"
    command = [sys.executable, "-S", "-c", ENDS_AT % end, str(path)]

    tried = work_off(command, path, silence_limit_s=1)

    assert [(one.key, one.status) for one in tried] == [
        ("a", outcomes.REJECTED),
        ("b", outcomes.ENDED),
        ("c", outcomes.REJECTED),
    ]
