"""What a report says of a solution as a whole, graded like any other."""

import shutil
from pathlib import Path

from tiny_llm_course.grading.assessment import assess
from tiny_llm_course.grading.standing import TaskReport
from tiny_llm_course.places import Checkout
from tiny_llm_course.syllabus import select_days


def graded(folder: Path, day: int, *arguments: str) -> list[TaskReport]:
    """Grade a day of Week 1."""
    return assess(select_days(1, day), str(folder), arguments)


def test_a_failed_import_is_one_remark_and_sinks_nothing_else(
    checkout: Checkout,
) -> None:
    """As `from extensions import ...` does, where nothing has been compiled."""
    shutil.copy(checkout.reference / "embedding.py", checkout.starter)
    shutil.copy(checkout.reference / "basics.py", checkout.starter)
    path = checkout.starter / "embedding.py"
    path.write_text("from extensions import ops\n" + path.read_text())

    (report,) = graded(checkout.starter, 5, "-k", "task_2")

    assert report.status == "done"
    assert [remark.splitlines()[0] for remark in report.remarks] == [
        "Remark: embedding.py, line 1 fails (cannot import name 'ops' from "
        "'extensions' (unknown location))."
    ]
