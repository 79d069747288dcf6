"""`pdm run lab step-costs`: a step with pieces of a prompt, of all lengths."""

import csv
from pathlib import Path

import pytest
from click.testing import CliRunner

from tiny_llm_course.solution import load_solution
from tiny_llm_lab.bench.models import EMBEDDED_MODEL, load_mlx
from tiny_llm_lab.commands.lab import command
from tiny_llm_lab.experiments import step_costs
from tiny_llm_lab.experiments.step_costs import STREAMS, step_of, summary, times_ms
from tiny_llm_lab.timing import Rounds


def test_each_length_is_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_costs, "ROUNDS", Rounds(0, 2, 2))
    monkeypatch.setattr(step_costs, "TOKENS", (0, 4))

    ran = CliRunner().invoke(command, ["step-costs", "--quick", "--out", str(tmp_path)])

    with (tmp_path / "step-costs.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert ran.exit_code == 0, ran.output
    assert [int(row["tokens"]) for row in rows] == [4, 8]


def test_each_step_begins_with_the_same_caches() -> None:
    """Otherwise the last one would be slower than the first."""
    solution = load_solution("ref")
    model = solution.get("qwen2_week3.Qwen2ModelWeek3")(load_mlx(EMBEDDED_MODEL))
    step = step_of(model, solution)

    first, _, again = step(3), step(5), step(3)

    assert first.shape[0] == STREAMS + 1
    assert (first == again).all().item()
    assert step(0).shape[0] == STREAMS


ROWS = [
    {"model": "small", "tokens": tokens, "time_ms": 9.0, "low_ms": low_ms}
    for tokens, low_ms in ((4, 2.0), (64, 7.0))
]


def test_times_are_found_by_the_model() -> None:
    assert times_ms(ROWS, "small") == {4: 2.0, 64: 7.0}


def test_the_table_compares_with_a_step_without_a_prompt() -> None:
    assert [row["times"] for row in summary(ROWS)] == [1.0, 3.5]
