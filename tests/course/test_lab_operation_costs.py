"""`pdm run lab operation-costs`: additions one by one, and joined into an operation."""

import csv
from pathlib import Path

import mlx.core as mx
import pytest
from click.testing import CliRunner

from tiny_llm_lab.commands.lab import command
from tiny_llm_lab.experiments import operation_costs
from tiny_llm_lab.experiments.operation_costs import JOINED, chain, summary, times_us
from tiny_llm_lab.timing import Rounds


def test_each_operation_is_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operation_costs, "CHAIN", 4)
    monkeypatch.setattr(operation_costs, "ROUNDS", Rounds(0, 2, 2))

    ran = CliRunner().invoke(
        command, ["operation-costs", "--quick", "--out", str(tmp_path)]
    )

    with (tmp_path / "operation-costs.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert ran.exit_code == 0, ran.output
    assert [(row["numbers"], int(row["additions"])) for row in rows] == [
        ("4", additions) for additions in JOINED
    ]


@pytest.mark.parametrize("additions", JOINED)
def test_a_chain_adds_as_often_as_it_says(additions: int) -> None:
    found = chain(additions, 3, mx.array([1.0, -2.0]))()

    assert found.tolist() == [1.0 + 3 * additions, -2.0 - 6 * additions]


ROWS = [
    {"numbers": 4, "additions": additions, "time_us": 9.0, "low_us": low_us}
    for additions, low_us in ((1, 3.0), (8, 4.0))
]


def test_times_are_found_by_the_additions() -> None:
    assert times_us(ROWS, 8) == {4: 4.0}


def test_the_table_has_both_ways_side_by_side() -> None:
    assert [row["one by one, us"] for row in summary(ROWS)] == [3.0, 24.0]
