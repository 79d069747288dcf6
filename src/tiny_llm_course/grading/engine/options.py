"""The options of our pytest plugin."""

from pathlib import Path

import pytest

from tiny_llm_course.grading.engine import fence
from tiny_llm_course.syllabus import Address


def add(parser: pytest.Parser) -> None:
    """Add `--solution`, `--task`, `--results` and `--scratch`."""
    parser.addoption(
        "--solution",
        default="tiny_llm",
        metavar="PACKAGE_OR_FOLDER",
        help="the solution to grade (default: tiny_llm)",
    )
    parser.addoption(
        "--task",
        action="append",
        type=Address.parse,
        metavar="ADDRESS",
        help="run the tests of this task only, such as 'week 1, day 4, task 1'",
    )
    parser.addoption(
        "--results",
        type=Path,
        metavar="FILE",
        help="write the outcome of each graded test here, and skip those already there",
    )
    parser.addoption(
        fence.OPTION,
        type=Path,
        metavar="FOLDER",
        help="work there, under limits of memory and time, as for a stranger's code",
    )
