"""Reports, hints and `pdm run next` lead to places that there are in the book."""

import re
from pathlib import Path

import pytest

from tiny_llm_course.specimens import misconceptions
from tiny_llm_course.syllabus import Task, tasks


@pytest.mark.parametrize("task", list(tasks()), ids=lambda task: str(task.address))
def test_every_mistake_has_a_place_in_the_chapter_of_its_day(
    task: Task, built: Path
) -> None:
    """The report leads there: to the page as it is built."""
    page = (built / "en" / f"{task.chapter}.html").read_text(encoding="utf-8")
    places = [one.anchor.split("#") for one in misconceptions(task.address)]

    found = set(re.findall(r'\bid="([^"]+)"', page))
    assert {chapter for chapter, _ in places} == {task.chapter}
    assert {anchor for _, anchor in places} - found == set()
