"""The status of a task, and which task it waits for."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

from tiny_llm_course.grading.report import exports
from tiny_llm_course.grading.report.standing import (
    TaskReport,
    standings,
    unknown_foundations,
)
from tiny_llm_course.grading.results import (
    BROKEN,
    NOT_STARTED,
    PASSED,
    WRONG,
    Explanation,
    Result,
    Results,
)
from tiny_llm_course.syllabus import select_days, task_at

DAY_4, DAY_5 = select_days(1, 4), select_days(1, 5)

NORM, MLP = "week 1, day 4, task 1", "week 1, day 4, task 2"
BLOCK, EMBEDDING = "week 1, day 5, task 1", "week 1, day 5, task 2"


def _results(*found: tuple[str, str, str]) -> Results:
    tests = {
        f"test {index}": Result(task, f"test {index}", status, message)
        for index, (task, status, message) in enumerate(found)
    }
    return Results(tests, {NORM: Explanation(NORM, ["a_mistake"], ["A sentence."])})


def test_task_is_done_when_all_its_tests_pass() -> None:
    results = _results((NORM, PASSED, ""), (NORM, PASSED, ""), (MLP, PASSED, ""))

    assert [report.status for report in standings(DAY_4, results)] == ["done", "done"]


def test_task_is_wrong_when_one_of_its_tests_fails() -> None:
    results = _results((NORM, PASSED, ""), (NORM, WRONG, "off"), (MLP, PASSED, ""))

    statuses = [report.status for report in standings(DAY_4, results)]

    assert statuses == ["wrong", "done"]


def test_the_failure_that_is_explained_is_the_one_shown() -> None:
    """A failure that the named mistake passes is not shown."""
    results = _results((NORM, WRONG, "off"), (NORM, WRONG, "off, and explained"))
    explained = Explanation(NORM, ["a_mistake"], ["A sentence."], test="test 1")
    results.explanations[NORM] = explained

    (report, *_) = standings(DAY_4, results)

    assert report.failures[0].message == "off, and explained"


def test_task_is_not_started_when_its_own_stub_is_there() -> None:
    results = _results((NORM, NOT_STARTED, task_at(NORM).not_started()))

    assert standings(DAY_4, results)[0].status == "not started"


def test_a_task_of_which_a_part_is_right_is_begun() -> None:
    """This holds for Python, and for C++, which Python calls by another name."""
    task = task_at("week 2, day 4, task 1")
    address = str(task.address)
    found = (
        Result(address, "a", PASSED, symbols=("kernels.matvec_naive",)),
        Result(
            address,
            "b",
            NOT_STARTED,
            task.not_started(),
            ("kernels.matvec_blocked",),
        ),
    )

    report = TaskReport(task, found)

    assert report.status == "begun"
    assert report.right_parts == ["matvec.h:matvec_naive"]


def test_a_part_that_is_wrong_is_not_covered_by_a_stub() -> None:
    stub = task_at(MLP).not_started()
    results = _results((MLP, NOT_STARTED, stub), (MLP, WRONG, "off"))

    (report,) = standings(DAY_4, results)

    assert report.status == "wrong"
    assert report.failures[0].message == "off"


def test_what_cannot_be_imported_waits_for_nothing() -> None:
    results = _results((NORM, WRONG, "off"), (BLOCK, BROKEN, "no Python"))

    (report,) = standings(DAY_5, results)

    assert report.status == "wrong"
    assert unknown_foundations([report]) == []


def test_task_waits_for_the_stub_of_another_task() -> None:
    """The block is written, and calls the MLP, which is not."""
    message = task_at(MLP).not_started()
    results = _results((MLP, NOT_STARTED, message), (BLOCK, NOT_STARTED, message))

    report = standings(DAY_5, results)[0]

    assert report.status == "waits"
    assert str(report.waits_for and report.waits_for.address) == MLP


def test_task_waits_for_a_wrong_task_that_it_builds_on() -> None:
    results = _results((NORM, WRONG, "off"), (BLOCK, WRONG, "off"))

    report = standings(DAY_5, results)[0]

    assert report.status == "waits"
    assert str(report.waits_for and report.waits_for.address) == NORM


def test_wrong_numbers_do_not_come_from_a_stub() -> None:
    """A stub raises when it is called, so the task itself is wrong."""
    results = _results(
        (NORM, NOT_STARTED, task_at(NORM).not_started()), (BLOCK, WRONG, "")
    )

    assert standings(DAY_5, results)[0].status == "wrong"


def test_task_with_a_known_mistake_of_its_own_waits_for_nothing() -> None:
    results = _results((MLP, WRONG, "off"), (BLOCK, WRONG, "off"))
    results.explanations[BLOCK] = Explanation(BLOCK, ["post_norm"], ["A sentence."])

    assert standings(DAY_5, results)[0].status == "wrong"


def test_task_that_passes_waits_for_nothing() -> None:
    results = _results((NORM, WRONG, "off"), (BLOCK, PASSED, ""))

    assert standings(DAY_5, results)[0].status == "done"


def test_foundations_of_a_wrong_task_have_to_be_graded() -> None:
    results = _results((BLOCK, WRONG, "off"), (EMBEDDING, PASSED, ""))

    below = unknown_foundations(standings(DAY_5, results))

    addresses = {str(task.address) for task in below}
    assert {NORM, MLP, "week 1, day 3, task 3", "week 1, day 1, task 1"} <= addresses
    assert BLOCK not in addresses


def test_json_has_a_point_for_each_task_done(tmp_path: Path) -> None:
    results = _results((NORM, WRONG, "off by one"), (MLP, PASSED, ""))

    exports.write_json(tmp_path / "a.json", "alice", standings(DAY_4, results))

    content = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert (content["solution"], content["points"], content["max_points"]) == (
        "alice",
        1,
        2,
    )
    first = content["tasks"][0]
    assert (first["status"], first["points"], first["message"], first["mistakes"]) == (
        "wrong",
        0,
        "off by one",
        ["a_mistake"],
    )


def test_junit_has_a_test_case_for_each_task(tmp_path: Path) -> None:
    results = _results((NORM, WRONG, "off by one"), (MLP, PASSED, ""))

    exports.write_junit(tmp_path / "a.xml", "alice", standings(DAY_4, results))

    suite = ET.parse(tmp_path / "a.xml").getroot()  # noqa: S314 - our own file
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.text == "off by one"
