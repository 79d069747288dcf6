"""The figures of Week 2 come from one run on one machine."""

import re
from pathlib import Path

import pytest

from tiny_llm_course.places import CHAPTERS
from tiny_llm_lab import measured
from tiny_llm_lab.experiments import matvec_ladder

TYPED = re.compile(r"(?<![\w>])\d[\d,.]*\s(?:GB/s|GB a second|GFLOP/s|MB/s)")


def test_a_case_of_the_bench_is_found_by_what_it_is() -> None:
    row = measured.case_of("mlx_lm", "float32", "generate", 32)

    assert (row["engine"], row["rung"], row["tokens"]) == ("mlx_lm", "", 32)
    assert row["roofline_tokens_per_s"] == pytest.approx(
        measured.machine().read_bytes_per_s / row["bytes_moved"], rel=1e-3
    )


def test_what_the_bench_has_not_timed_is_not_found() -> None:
    with pytest.raises(StopIteration):
        measured.case_of("mlx_lm", "float32", "generate", 33)


def test_each_way_of_the_ladder_is_found() -> None:
    times_us = [measured.ladder_us(one) for one in matvec_ladder.VARIANTS]

    assert times_us == sorted(times_us, reverse=True)


@pytest.mark.parametrize(
    "page", sorted(CHAPTERS.glob("week-2-*.md")), ids=lambda path: path.stem
)
def test_no_chapter_types_a_speed_of_the_machine(page: Path) -> None:
    """One that is imagined, for an example, is a round hundred."""
    typed = TYPED.findall(page.read_text(encoding="utf-8"))

    assert [one for one in typed if not one.startswith("100 ")] == []
