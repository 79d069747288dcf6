"""`pdm run lab kernel-times`: kernels are interleaved with what they replace."""

import csv
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest
from click.testing import CliRunner

from tiny_llm_course.solution import load_solution
from tiny_llm_lab.commands.lab import command
from tiny_llm_lab.experiments import kernel_times
from tiny_llm_lab.experiments.kernel_times import KERNEL, PRODUCT, WORK, times_us
from tiny_llm_lab.timing import Rounds
from tiny_llm_ref import kernels


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make everything so small that a case takes milliseconds."""
    try:
        kernels.built()
    except kernels.NotBuiltError as error:
        pytest.skip(str(error))
    monkeypatch.setattr(kernel_times, "INTERMEDIATE", 64)
    monkeypatch.setattr(kernel_times, "TOKENS", 3)
    monkeypatch.setattr(kernel_times, "CHAIN", 2)
    monkeypatch.setattr(kernel_times, "ROUNDS", Rounds(0, 2, 2))


def test_each_way_is_timed(tmp_path: Path) -> None:
    ran = CliRunner().invoke(
        command, ["kernel-times", "--quick", "--out", str(tmp_path)]
    )

    with (tmp_path / "kernel-times.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert ran.exit_code == 0, ran.output
    assert [row["way"] for row in rows] == ["week 1", "mx.compile", KERNEL]
    assert (tmp_path / "kernel-times.svg").exists()


@pytest.mark.parametrize("work", [one for one in WORK if one != PRODUCT])
def test_all_ways_compute_the_same(work: str) -> None:
    """Only then can times be compared. PyTorch's products have other inputs."""
    ways = WORK[work](load_solution("ref"))

    first, *others = [np.array(call()) for call in ways.values()]

    for other in others:
        np.testing.assert_allclose(other, first, rtol=1e-3, atol=1e-4)


def test_all_variants_compute_the_same_product() -> None:
    mx.random.seed(0)
    ways = WORK[PRODUCT](load_solution("ref"))
    found = {name: call() for name, call in ways.items()}
    exact = np.array(found.pop("mx.quantized_matmul"))
    assert found.pop("PyTorch, bfloat16").shape == exact.shape

    for own in found.values():
        assert np.abs(np.array(own) - exact).max() < 0.02 * np.abs(exact).max()


def test_times_are_found_by_what_was_done() -> None:
    rows = [
        {"work": work, "way": "kernel", "time_us": time_us}
        for work, time_us in (("norm", 3.0), ("gate", 7.0))
    ]

    assert times_us(rows, "gate") == {"kernel": 7.0}
