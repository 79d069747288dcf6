"""`pdm run lab matvec-ladder`: variants are interleaved with MLX and reading memory."""

import csv
from pathlib import Path

import pytest
from click.testing import CliRunner

from tiny_llm_lab.commands.lab import command
from tiny_llm_lab.experiments import matvec_ladder
from tiny_llm_lab.experiments.matvec_ladder import LIBRARY, READING, RUNGS, Shape
from tiny_llm_lab.timing import Rounds
from tiny_llm_ref import kernels


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make everything so small that a case takes milliseconds."""
    try:
        kernels.built()
    except kernels.NotBuiltError as error:
        pytest.skip(str(error))
    monkeypatch.setattr(matvec_ladder, "SHAPES", (Shape("small", 8, 128),))
    monkeypatch.setattr(matvec_ladder, "SET_BYTES", 2000)
    monkeypatch.setattr(matvec_ladder, "READ_MB", 1)
    monkeypatch.setattr(matvec_ladder, "ROUNDS", Rounds(0, 2, 2))


def test_each_rung_is_timed_beside_the_library_and_the_memory(tmp_path: Path) -> None:
    ran = CliRunner().invoke(command, ["matvec-ladder", "--out", str(tmp_path)])

    with (tmp_path / "matvec-ladder.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert ran.exit_code == 0, ran.output
    assert [row["rung"] for row in rows] == [*RUNGS, LIBRARY, READING]
    assert rows[-1]["share_of_bandwidth"] == "1.0"
    assert (tmp_path / "matvec-ladder.svg").exists()


def test_the_table_compares_with_the_naive_rung() -> None:
    common = {"matrix": "small", "rows": 8, "columns": 128, "low_us": 1, "high_us": 9}
    times = {"naive": 100.0, "int8": 4.0, READING: 50.0}
    rows = [
        {
            **common,
            "rung": rung,
            "time_us": time_us,
            "gb_per_s": 1.0,
            "share_of_bandwidth": 0.5,
        }
        for rung, time_us in times.items()
    ]

    lines = matvec_ladder.summary(rows)

    assert [line["times naive"] for line in lines] == ["1.0", "25.0"]


def test_a_matrix_takes_its_words_and_two_floats_for_each_group() -> None:
    assert Shape("gate", 4864, 896).num_bytes == 4864 * (896 // 2 + 896 // 64 * 8)
