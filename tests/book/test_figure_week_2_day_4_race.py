"""The first figure of day 4 sets the measured loops against the measured memory."""

import itertools

import pytest
from tests.book.conftest import OpenFigure

from tiny_llm_lab.measured import machine

CHAPTER = "week-2-day-4-matvec-kernel"
NAME = "race-with-memory"


def test_the_longer_of_both_times_decides(figure: OpenFigure) -> None:
    data = figure.data
    per_ns = machine().read_bytes_per_s / 1e9

    for rung, bits, cores in itertools.product(data["cycles"], data["bits"], (1, 4)):
        figure.set(rung=rung, format=bits, cores=cores)

        loop = data["weights"] * data["cycles"][rung] * data["cycle_ns"] / cores
        memory = data["weights"] * data["bits"][bits] / 8 / per_ns
        assert figure.read("ms") == pytest.approx(max(loop, memory) / 1e6)
        assert figure.read("limit") == ("loop" if loop > memory else "memory")


def test_smaller_weights_help_only_where_memory_is_the_limit(
    figure: OpenFigure,
) -> None:
    """As the answer below the figure says, of the first loop and of the last."""
    times = {}
    for rung, bits in itertools.product(("plain", "vnni"), ("floats", "four")):
        figure.set(rung=rung, format=bits)
        times[rung, bits] = figure.read("ms")

    assert times["plain", "floats"] == times["plain", "four"]
    assert times["vnni", "floats"] > times["vnni", "four"]
