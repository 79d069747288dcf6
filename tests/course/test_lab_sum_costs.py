"""`pdm run lab sum-costs`: two processes, started for each number of tokens."""

import csv
from pathlib import Path

from click.testing import CliRunner

from tiny_llm_lab.commands.lab import command
from tiny_llm_lab.experiments import sum_costs


def test_sums_are_timed(tmp_path: Path) -> None:
    ran = CliRunner().invoke(command, ["sum-costs", "--quick", "--out", str(tmp_path)])

    with (tmp_path / "sum-costs.csv").open(encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert ran.exit_code == 0, ran.output
    times = [float(row[f"{name}_us"]) for name in ("least", "low", "time", "high")]
    assert times[0] > 0
    assert times == sorted(times)


def test_summary_says_how_much_is_added_up() -> None:
    times = {"least_us": 50.0, "time_us": 70.0, "low_us": 60.0, "high_us": 80.0}

    (line,) = sum_costs.summary([{"tokens": 2, **times}])

    assert (line["kB"], line["half of the rounds"]) == (7.2, "60.0 to 80.0")
