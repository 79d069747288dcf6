"""The options of our pytest plugin."""

from pathlib import Path

import pytest

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.engine import fence
from tiny_llm_course.syllabus import Address


def add(parser: pytest.Parser) -> None:
    """Add `--solution`, `--task`, `--results` and `--scratch`."""
    parser.addoption(
        "--solution",
        default="tiny_llm",
        metavar="PACKAGE_OR_FOLDER",
        help=say("grading.options.solution"),
    )
    parser.addoption(
        "--task",
        action="append",
        type=Address.parse,
        metavar="ADDRESS",
        help=say("grading.options.task"),
    )
    parser.addoption(
        "--results",
        type=Path,
        metavar="FILE",
        help=say("grading.options.results"),
    )
    parser.addoption(
        fence.OPTION,
        type=Path,
        metavar="FOLDER",
        help=say("grading.options.scratch"),
    )
