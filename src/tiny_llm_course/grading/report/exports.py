"""Writes the results of a run for a teacher's programs: JSON, and JUnit's XML."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tiny_llm_course.day_number import DayNumber
from tiny_llm_course.grading.report.standing import DONE, TaskReport


def write_json(path: Path, solution: str, reports: Sequence[TaskReport]) -> None:
    """Write one object, with an entry and a point per task.

    Args:
        path: The file.
        solution: Who was graded.
        reports: How each task stands.
    """
    required = [report for report in reports if not report.task.optional]
    content = {
        "solution": solution,
        "points": len(_done(required)),
        "max_points": len(required),
        "optional_points": len(_done(reports)) - len(_done(required)),
        "tasks": [_as_object(report) for report in reports],
    }
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def write_junit(path: Path, solution: str, reports: Sequence[TaskReport]) -> None:
    """Write a test suite with a test case per task.

    Args:
        path: The file.
        solution: Who was graded.
        reports: How each task stands.
    """
    from xml.etree import ElementTree as ET  # slow, and few ask for this file

    failed = [report for report in reports if report.is_open]
    counts = {"tests": str(len(reports)), "failures": str(len(failed))}
    suite = ET.Element("testsuite", {"name": solution, **counts})
    for report in reports:
        address = report.task.address
        case = ET.SubElement(
            suite,
            "testcase",
            classname=f"week {address.week}, day {address.day}",
            name=f"task {address.task}: {report.task.title}",
        )
        if report in failed:
            failure = ET.SubElement(case, "failure", message=report.status)
            failure.text = report.failures[0].message
    ET.indent(suite)
    ET.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def _done(reports: Sequence[TaskReport]) -> list[TaskReport]:
    return [report for report in reports if report.status == DONE]


def _as_object(report: TaskReport) -> dict[str, Any]:
    address, explanation = report.task.address, report.explanation
    return {
        "week": address.week,
        "day": DayNumber(address.day).plain,
        "task": address.task,
        "title": report.task.title,
        "optional": report.task.optional,
        "status": report.status,
        "points": int(report.status == DONE),
        "tests": len(report.results),
        "tests_passed": len(report.results) - len(report.failures),
        "message": report.failures[0].message if report.failures else "",
        "mistakes": explanation.names if explanation else [],
        "remarks": list(report.remarks),
    }
