"""A task that fails because of one that it builds on has no mistake of its own."""

import shutil
from pathlib import Path

import pytest

from tiny_llm_course.grading.report.assessment import assess
from tiny_llm_course.places import REFERENCE
from tiny_llm_course.syllabus import select_days


@pytest.mark.parametrize(
    ("right", "wrong", "statuses"),
    [
        ("self.attention(self.input_layernorm(x), mask)", "self.attention("
         "self.input_layernorm(x))", ["wrong", "done", "waits"]),
        ('layer(x, mask="causal")', "layer(x)", ["done", "done", "wrong"]),
    ],
    ids=["in the block", "in the model"],
)  # fmt: skip
def test_a_mask_that_is_dropped_is_named_where_it_is_dropped(
    tmp_path: Path, right: str, wrong: str, statuses: list[str]
) -> None:
    """The outputs of the model are the same."""
    folder = Path(shutil.copytree(REFERENCE, tmp_path / "solution"))
    file = folder / "qwen2_week1.py"
    text = file.read_text("utf-8")
    assert right in text
    file.write_text(text.replace(right, wrong), encoding="utf-8")

    reports = assess(select_days(1, 5), str(folder))

    assert [report.status for report in reports] == statuses
    explained = [report.explanation is not None for report in reports]
    assert explained == [one == "wrong" for one in statuses]
