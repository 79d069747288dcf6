"""Mutation testing: the tests have to notice automatic changes of the reference."""

import ast
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import mlx.core as mx
import pytest
from click.testing import CliRunner

from tiny_llm_course.composed_mistakes.text import whole_text_of
from tiny_llm_course.errors import CourseError
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import normal
from tiny_llm_course.grading.judgement.trial import Trial
from tiny_llm_course.grading.scenarios.architecture import (
    Architecture,
    mlx_model,
    model_weights,
)
from tiny_llm_course.grading.scenarios.caching import CACHE
from tiny_llm_course.oracle.cached import basics
from tiny_llm_course.solution import Solution, load_solution
from tiny_llm_course.syllabus import Address, Day, select_days, tasks
from tiny_llm_lab.commands.test_grader import command
from tiny_llm_lab.mutation import outcomes
from tiny_llm_lab.mutation import proof as python_proof
from tiny_llm_lab.mutation.proof import MutantScore, score, work_off
from tiny_llm_lab.mutation.python import Mutant, called, mutants_of
from tiny_llm_lab.mutation.unproven import Group, groups
from tiny_llm_lab.mutation.worker import try_all

Test = Callable[[Grader], None]
SILU = "basics.silu"
MODEL = "qwen2_week2.Qwen2ModelWeek2"
HEADS = "attention.SimpleMultiHeadAttention"
IN_FLOAT32 = f"{SILU}: return x * mx.sigmoid(x) => return in_float32(x * mx.sigmoid(x))"
WIDENED = f"{SILU}:  => x = x.astype(mx.float32)"


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

    assert set(found.survived) == {IN_FLOAT32, WIDENED}
    assert not found.is_proven


def test_a_mutant_that_is_listed_may_pass(tmp_path: Path) -> None:
    found = proved(tmp_path, in_float32_only, listed={IN_FLOAT32, WIDENED})

    assert set(found.equivalent) == {IN_FLOAT32, WIDENED}
    assert found.is_proven


@pytest.mark.parametrize("listed", [IN_FLOAT32, f"{SILU}: a => b"])
def test_what_is_listed_in_vain_fails_the_proof(tmp_path: Path, listed: str) -> None:
    found = proved(tmp_path, in_float32_only, in_half_precision, listed={listed})

    assert found.stale == (listed,)
    assert not found.is_proven


def test_what_is_left_out_is_not_changed() -> None:
    whole = {one.name for one in mutants_of(HEADS)}
    part = {one.name for one in mutants_of(HEADS, frozenset({"_split_heads"}))}

    assert part < whole
    assert any("mx.unflatten" in name for name in whole)
    assert not any("mx.unflatten" in name for name in part)


@cache
def mutants_of_the_model() -> dict[str, Mutant]:
    """Return them by name: each use of them would take a second."""
    return {one.name: one for one in mutants_of(MODEL)}


def test_a_statement_that_is_left_out_is_not_changed() -> None:
    line = "x = self.embedding(inputs)"
    whole = set(mutants_of_the_model())
    part = {one.name for one in mutants_of(MODEL, frozenset({line}))}

    assert any(name.startswith(f"{line} =>") for name in whole)
    assert not any(name.startswith(f"{line} =>") for name in part)


def test_a_helper_is_changed_for_all_that_use_it() -> None:
    """The model has its product from the head alone, and that has no bias."""
    dropped = "return linear(x, weight, bias) => return linear(x, weight)"
    mutant = mutants_of_the_model()[dropped]

    right, wrong = logits(load_solution("ref")), logits(mutant.as_solution())

    assert not mx.allclose(right, wrong).item()


def logits(solution: Solution) -> mx.array:
    sizes = Architecture()
    model = solution.get(MODEL)(mlx_model(sizes, model_weights(sizes, mx.float32)))
    caches = [solution.get(CACHE)() for _ in range(sizes.num_hidden_layers)]
    return model(mx.array([[3, 1, 4]]), 0, caches)


def test_another_public_name_may_be_changed_besides() -> None:
    alone = set(mutants_of_the_model())
    with_block = {
        one.name for one in mutants_of(MODEL, besides=frozenset({"Qwen2MLP"}))
    }

    assert alone < with_block
    assert any("gate" in name for name in with_block - alone)


def test_no_two_mutants_have_one_name() -> None:
    keys = [one.key for one in mutants_of("sampler.make_sampler")]

    assert len(keys) > 100
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("group", groups(), ids=lambda one: f"{one.day} {one.symbol}")
def test_what_is_listed_has_a_reason(group: Group) -> None:
    days = {f"week {one.week}, day {one.number}" for one in select_days(None, None)}

    assert group.day in days
    assert group.symbol in {symbol for task in tasks() for symbol in task.symbols}
    assert group.reason.endswith(".")
    assert group.mutants or group.unchanged or group.besides


@pytest.mark.parametrize(
    "group",
    [one for one in groups() if one.unchanged or one.besides],
    ids=lambda one: f"{one.day} {one.symbol}",
)
def test_what_is_left_alone_or_changed_besides_exists(group: Group) -> None:
    """The name or the first line of a statement: an old one would say nothing."""
    text = whole_text_of(group.symbol)

    assert text is not None
    inside = ast.walk(text.tree)
    known = {called(one) for one in inside if isinstance(one, ast.stmt)}
    assert {*group.unchanged, *group.besides} <= known


@pytest.mark.parametrize(("survived", "exit_code"), [((), 0), ((IN_FLOAT32,), 1)])
def test_the_command_fails_where_a_mutant_passes(
    monkeypatch: pytest.MonkeyPatch, survived: tuple[str, ...], exit_code: int
) -> None:
    def proved_without_running(days: list[Day]) -> list[MutantScore]:
        del days
        named = {"record": 2, "nothing": 1}
        return [MutantScore("week 1, day 4", 12, 11, survived=survived, named=named)]

    monkeypatch.setattr(python_proof, "prove", proved_without_running)

    ran = CliRunner().invoke(command, ["--mutants", "--week", "1", "--day", "4"])

    assert ran.exit_code == exit_code
    assert "mutants rejected   11 of   12" in ran.output
    assert "of 3 sampled: nothing 1, record 2" in ran.output
    assert (f"passes every test: {IN_FLOAT32}" in ran.output) == bool(survived)


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

HARMS = """
import json, sys

last = {"key": "all done", "test": "test_of_softmax"}
open(sys.argv[1], "w").write(json.dumps(last))
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


@pytest.mark.parametrize(
    ("program", "says"), [(HARMS, "test_of_softmax"), ("print('no')", "no")]
)
def test_there_is_no_proof_without_a_reference_that_passes(
    tmp_path: Path, program: str, says: str
) -> None:
    """Nor after a mutant has written into an array that other tests use."""
    path = tmp_path / "mutants.jsonl"

    with pytest.raises(CourseError, match=says):
        work_off([sys.executable, "-S", "-c", program, str(path)], path)
