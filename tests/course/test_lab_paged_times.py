"""`pdm run lab paged-times`: pages in turns with one place, on the same numbers."""

import csv
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest
from click.testing import CliRunner

from tiny_llm_course.solution import load_solution
from tiny_llm_lab.commands.lab import command
from tiny_llm_lab.experiments import paged_times
from tiny_llm_lab.experiments.paged_times import GATHERED, ONE_PLACE, PAGED, Work
from tiny_llm_lab.timing import Rounds
from tiny_llm_ref import kernels

SMALL = Work("small", 2, 3, 64)


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make everything so small that a case takes milliseconds."""
    try:
        kernels.built()
    except kernels.NotBuiltError as error:
        pytest.skip(str(error))
    monkeypatch.setattr(paged_times, "ALL", (SMALL,))
    monkeypatch.setattr(paged_times, "POOL_BYTES", 100_000)
    monkeypatch.setattr(paged_times, "ROUNDS", Rounds(0, 2, 2))


def test_each_way_is_timed(tmp_path: Path) -> None:
    ran = CliRunner().invoke(command, ["paged-times", "--out", str(tmp_path)])

    with (tmp_path / "paged-times.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert ran.exit_code == 0, ran.output
    assert [row["way"] for row in rows] == [ONE_PLACE, GATHERED, PAGED]
    assert (tmp_path / "paged-times.svg").exists()


def test_all_ways_compute_the_same() -> None:
    drawn = paged_times._drawn(SMALL, 1)  # pyright: ignore[reportPrivateUsage]
    ways = paged_times._ways(SMALL, load_solution("ref"))  # pyright: ignore[reportPrivateUsage]

    results = [np.array(way(drawn)) for way in ways.values()]

    for one in results[1:]:
        assert mx.allclose(mx.array(one), mx.array(results[0]), atol=1e-5)


def test_pools_are_larger_than_a_cache() -> None:
    work = Work("as for the book", 8, 1, 1024)

    assert work.num_pools == -(-100_000 // (2 * 8 * 1024 * 2 * 64 * 4))


def test_the_table_compares_with_one_place() -> None:
    common = {"work": "small", "low_us": 1, "high_us": 9}
    rows = [
        {**common, "way": ONE_PLACE, "time_us": 10.0},
        {**common, "way": PAGED, "time_us": 12.0},
    ]

    lines = paged_times.summary(rows)

    assert [line["times one place"] for line in lines] == ["1.00", "1.20"]
