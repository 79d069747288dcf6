"""Filled in day by day, the starter turns green day by day."""

import ast
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tiny_llm_course.editing.python_code import PythonCode
from tiny_llm_course.grading.engine import not_begun, session
from tiny_llm_course.grading.report.standing import DONE, standings
from tiny_llm_course.idle import Function
from tiny_llm_course.places import REFERENCE, STARTER, TESTS
from tiny_llm_course.syllabus import Address, Day, select_days

IN_PYTHON = [
    day
    for day in select_days(None, None)
    if not any(task.kernels for task in day.tasks)
]


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return a learner's files after each day, filled in with the reference's."""
    folder, found = STARTER, list[Path]()
    for day in IN_PYTHON:
        stage = tmp_path_factory.mktemp("stages") / f"{day.week}_{day.number}_done"
        folder = shutil.copytree(folder, stage)
        for symbol in sorted({name for task in day.tasks for name in task.symbols}):
            fill_in(folder, symbol)
        found.append(folder)
    return found


@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", range(len(IN_PYTHON) - 1))
def test_a_day_turns_green_when_it_is_filled_in(
    stages: list[Path], number: int
) -> None:
    """No later day is begun, but for tasks that only go on with what is written.

    The last day is graded together with all others, below.

    Days with kernels would have to be compiled once for each.
    """
    day, folder = IN_PYTHON[number], stages[number]
    later = [task for one in IN_PYTHON[number + 1 :] for task in one.tasks]

    assert tasks_done([day], folder) == {task.address for task in day.tasks}
    written = {
        name
        for one in IN_PYTHON[: number + 1]
        for task in one.tasks
        for name in task.parts
    }
    again = [task for task in later if written.issuperset(task.parts)]
    new = [task for task in later if task not in again]
    assert not_begun.split(later, folder) == (again, new)


@pytest.mark.timeout(600)
def test_days_stay_green_to_the_end(stages: list[Path]) -> None:
    done = tasks_done(IN_PYTHON, stages[-1])

    assert done == {task.address for day in IN_PYTHON for task in day.tasks}


def tasks_done(days: Sequence[Day], folder: Path) -> set[Address]:
    """Grade the first test of every task."""
    first = ["-k", f"not float16 and ({' or '.join(first_tests())})"]
    reports = standings(days, session.grade(days, str(folder), first))
    return {one.task.address for one in reports if one.status == DONE}


def first_tests() -> Iterator[str]:
    """Yield the name of the first test of every task."""
    for day in IN_PYTHON:
        for task in day.tasks:
            names = definitions((TESTS / task.test_file).read_text(encoding="utf-8"))
            prefix = f"test_task_{task.address.task}_"
            yield next(name for name in names if name.startswith(prefix))


def definitions(text: str) -> dict[str, str]:
    """Return how functions, classes and private texts are written, by name."""
    return {
        name: one.text
        for one in PythonCode.parse(text).definitions
        for name in one.names
        if isinstance(one.node, Function | ast.ClassDef)
        or (isinstance(one.node, ast.Assign) and name.startswith("_"))
    }


def fill_in(folder: Path, symbol: str) -> None:
    """Replace a stub by the reference's definition, with its helpers and imports."""
    file, name = symbol.split(".")
    path = folder / f"{file}.py"
    stub, reference = path.read_text(), (REFERENCE / f"{file}.py").read_text()
    stub = stub.replace(definitions(stub)[name], definitions(reference)[name])
    code = PythonCode.parse(with_helpers(stub, reference))
    for line in PythonCode.parse(reference).imports_for(name):
        code = code.with_import(line)
    path.write_text(code.text)


def with_helpers(stub: str, reference: str) -> str:
    """Add what the reference has besides, in front of what it has after it.

    The annotations of a method are looked up when its class is defined.
    """
    text, waiting, own = stub, list[str](), definitions(stub)
    for name, helper in definitions(reference).items():
        if name not in own:
            waiting.append(helper)
        elif waiting:
            text = text.replace(own[name], "\n\n\n".join([*waiting, own[name]]))
            waiting = []
    return "\n\n\n".join([text, *waiting])
