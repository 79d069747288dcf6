"""The starter is the solution without the answers; replacing it loses nothing."""

import ast
import inspect
import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tiny_llm_course.editing import saving, starter
from tiny_llm_course.editing.python_code import PythonCode
from tiny_llm_course.grading.engine import not_begun, session
from tiny_llm_course.grading.report.standing import DONE, standings
from tiny_llm_course.places import REFERENCE, STARTER, TESTS
from tiny_llm_course.solution import Solution
from tiny_llm_course.syllabus import Address, Day, select_days, tasks, tasks_of
from tiny_llm_course.unsolved import Unsolved

SYMBOLS = sorted({symbol for task in tasks() for symbol in task.symbols})
IN_PYTHON = [
    day
    for day in select_days(None, None)
    if not any(task.kernels for task in day.tasks)
]
COMMAND = "from tiny_llm_course.commands.starter import command; command()"

GENERATED = starter.generate(REFERENCE)
GIVEN = [
    *("checks.py", "compiled.py", "kernels.py", "masks.py", "weights.py"),
    "whole_layer.py",
]
"""Files of which nothing is an answer."""


each_symbol = pytest.mark.parametrize("symbol", SYMBOLS)


def test_the_starter_in_the_tree_is_the_generated_one() -> None:
    """Nor is there a file that the solutions no longer have."""
    committed = {path.name: path.read_text() for path in STARTER.glob("*.py")}

    assert committed == GENERATED


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Solution:
    """Return the generated starter, ready to be called."""
    folder = tmp_path_factory.mktemp("starter")
    for name, text in GENERATED.items():
        (folder / name).write_text(text, encoding="utf-8")
    return Solution(folder, "generated_starter")


@each_symbol
def test_every_part_of_a_stub_names_the_first_task_of_its_symbol(
    stubs: Solution, symbol: str
) -> None:
    for function in callables(stubs.get(symbol)):
        arguments = [None] * len(inspect.signature(function).parameters)

        with pytest.raises(Unsolved) as error:
            function(*arguments)

        assert str(error.value) == tasks_of(symbol)[0].not_started()


def callables(target: Any) -> Iterator[Callable[..., Any]]:  # noqa: ANN401
    """Yield a function, or the methods of a class."""
    if inspect.isclass(target):
        yield from filter(inspect.isfunction, vars(target).values())
    else:
        yield target


@each_symbol
def test_a_stub_keeps_signature_and_docstring(symbol: str) -> None:
    file, name = symbol.split(".")
    solution = (REFERENCE / f"{file}.py").read_text(encoding="utf-8")
    if file == "qwen2_week2":
        solution = solution.replace(" | QuantizedWeights", "")

    assert interface(GENERATED[f"{file}.py"], name) == interface(solution, name)


@pytest.mark.parametrize("file", ["attention", "generate", "kv_cache", "qwen2_week2"])
def test_a_stub_speaks_of_nothing_that_comes_days_later(file: str) -> None:
    """What is only imported for an answer of a later day is gone with it."""
    imports = [
        name.name
        for node in ast.parse(GENERATED[f"{file}.py"]).body
        if isinstance(node, ast.ImportFrom) and node.level
        for name in node.names
    ]

    assert not {"kernels", "QuantizedWeights", "TinyKvFullCache"} & set(imports)


def test_what_a_stub_still_uses_is_imported() -> None:
    """`weights.py` is given as a whole, so it keeps what it calls."""
    assert "from . import kernels" in GENERATED["weights.py"]


def interface(source: str, name: str) -> str:
    """Return the code of a function or class without the bodies."""
    return ast.unparse(without_body(definitions(source)[name]))


def definitions(source: str) -> dict[str, ast.FunctionDef | ast.ClassDef]:
    """Return the functions and classes of a file by name."""
    return {
        node.name: node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


def without_body(node: Any) -> Any:  # noqa: ANN401 - a function or a class
    """Keep the docstring, and the public methods of a class without their bodies."""
    docstring = node.body[:1] if ast.get_docstring(node) else []
    members = node.body if isinstance(node, ast.ClassDef) else []
    methods = [
        without_body(one)
        for one in members
        if isinstance(one, ast.FunctionDef) and is_public(one.name)
    ]
    node.body = [*docstring, *methods]
    return node


def is_public(name: str) -> bool:
    return not name.startswith("_") or name.endswith("__")


@pytest.mark.parametrize("file", sorted(GENERATED.keys() - set(GIVEN)))
def test_helpers_of_the_solution_are_gone(file: str) -> None:
    """A name with an underscore is part of an answer."""
    nodes = ast.walk(ast.parse(GENERATED[file]))
    named = [node.name for node in nodes if isinstance(node, ast.FunctionDef)]

    assert [name for name in named if not is_public(name)] == []


@pytest.mark.parametrize(
    ("file", "kept"),
    [
        ("generate.py", "Model = Callable["),
        ("qwen2_week1.py", "from .masks import Mask"),
        (
            "qwen2_week1.py",
            "from .attention import scaled_dot_product_attention_grouped",
        ),
        ("sampler.py", "from tiny_llm_course import todo\n"),
    ],
)
def test_what_a_signature_needs_stays(file: str, kept: str) -> None:
    assert kept in GENERATED[file]


@pytest.mark.parametrize("file", GIVEN)
def test_helpers_that_given_code_uses_stay(file: str) -> None:
    given = definitions((REFERENCE / file).read_text(encoding="utf-8"))

    assert definitions(GENERATED[file]).keys() == given.keys()


def test_code_that_is_given_stays_as_it_is() -> None:
    whole = (REFERENCE / "quantize.py").read_text(encoding="utf-8")

    given = whole[whole.index("def dequantize_linear(") : whole.index("def quantize(")]

    assert given in GENERATED["quantize.py"]


OLD = {"basics.py": "# the work of a week\n" * 9, "notes.py": "idea = 1\n"}
NEW = {"basics.py": "# a stub\n" * 5, "attention.py": "# another\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the learner's files, old and own ones."""
    return filled(tmp_path / "tiny_llm")


def filled(folder: Path) -> Path:
    folder.mkdir()
    for name, text in OLD.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def pending(folder: Path) -> list[saving.Change]:
    return [saving.Change(folder / name, text) for name, text in NEW.items()]


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.py")}


def test_writing_keeps_copies_of_what_it_replaces(folder: Path, tmp_path: Path) -> None:
    kept = saving.write(pending(folder), tmp_path / "copies")

    assert texts(folder) == OLD | NEW
    assert kept is not None
    assert texts(kept) == {"basics.py": OLD["basics.py"]}
    assert kept.parent == tmp_path / "copies"


def test_copies_of_files_with_one_name_are_both_kept(tmp_path: Path) -> None:
    changes = [
        saving.Change(tmp_path / folder / "matvec.h", "new\n")
        for folder in ("glue", "kernels")
    ]
    for change in changes:
        change.path.parent.mkdir()
        change.path.write_text(change.path.parent.name)

    kept = saving.write(changes, tmp_path / "copies")

    assert kept is not None
    assert {path.name: path.read_text() for path in kept.iterdir()} == {
        "glue-matvec.h": "glue",
        "kernels-matvec.h": "kernels",
    }


def test_writing_makes_no_copies_of_nothing(tmp_path: Path) -> None:
    kept = saving.write(pending(tmp_path / "tiny_llm"), tmp_path / "copies")

    assert texts(tmp_path / "tiny_llm") == NEW
    assert kept is None
    assert not (tmp_path / "copies").exists()


class Interruption(BaseException):
    """Simulates Ctrl-C at a chosen place."""


def interrupted(action: Callable[[], object], after: int) -> bool:
    """Run `action`, and interrupt it after some lines. Tell whether it got there."""
    lines = itertools.count()

    def trace(frame: FrameType, event: str, argument: object) -> Any:  # noqa: ANN401
        del frame, argument
        if event == "line" and next(lines) == after:
            raise Interruption
        return trace

    usual = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    except Interruption:
        return True
    finally:
        sys.settrace(usual)
    return False


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interruption_at_any_line_loses_nothing(tmp_path: Path) -> None:
    """In our code or the library's: each file is old or new, and old ones are kept."""
    copies = tmp_path / "copies"

    for after in itertools.count():
        folder = filled(tmp_path / str(after))
        was_interrupted = interrupted(
            lambda folder=folder: saving.write(pending(folder), copies / folder.name),
            after,
        )

        now = texts(folder)
        copied = {path.read_text() for path in (copies / folder.name).rglob("*.py")}
        assert OLD.keys() <= now.keys()
        assert all(text in {OLD.get(name), NEW.get(name)} for name, text in now.items())
        assert set(OLD.values()) <= {*now.values(), *copied}
        if not was_interrupted:
            break

    assert after > 50
    assert now == OLD | NEW


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return the root of another checkout, its starter up to date."""
    shutil.copytree(REFERENCE, tmp_path / "src" / "tiny_llm_ref")
    shutil.copytree(STARTER, tmp_path / "src" / "tiny_llm")
    return tmp_path


def run(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `pdm run starter` in a checkout."""
    return subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments],
        env=os.environ | {"TINY_LLM_HOME": str(checkout)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_check_finds_nothing_where_the_starter_is_up_to_date(checkout: Path) -> None:
    done = run(checkout, "--check")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "src/tiny_llm and src/extensions are up to date\n"


def test_check_names_what_is_out_of_date_and_changes_nothing(checkout: Path) -> None:
    folder = checkout / "src" / "tiny_llm"
    (folder / "basics.py").write_text("# the work of a week\n")
    (folder / "sampler.py").unlink()

    done = run(checkout, "--check")

    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == "out of date: basics.py, sampler.py; run `pdm run starter`\n"
    assert (folder / "basics.py").read_text() == "# the work of a week\n"
    assert not (folder / "sampler.py").exists()


def test_the_command_generates_and_says_where_the_old_text_is(checkout: Path) -> None:
    folder = checkout / "src" / "tiny_llm"
    (folder / "basics.py").write_text("# the work of a week\n")

    done = run(checkout)

    [copy] = (checkout / "copies").rglob("*.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        f"generated: basics.py\nthe previous versions are in {copy.parent}\n"
    )
    assert copy.read_text() == "# the work of a week\n"
    assert texts(folder) == GENERATED


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
    """No later day is begun. The last day is graded together with all others, below.

    Days with kernels would have to be compiled once for each.
    """
    day, folder = IN_PYTHON[number], stages[number]
    later = [task for one in IN_PYTHON[number + 1 :] for task in one.tasks]

    assert tasks_done([day], folder) == {task.address for task in day.tasks}
    assert not_begun.split(later, folder) == ([], later)


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
            text = (TESTS / task.test_file).read_text(encoding="utf-8")
            names = definitions(text)
            prefix = f"test_task_{task.address.task}_"
            yield next(name for name in names if name.startswith(prefix))


def fill_in(folder: Path, symbol: str) -> None:
    """Replace a stub by the reference's definition, with its helpers and imports."""
    file, name = symbol.split(".")
    path = folder / f"{file}.py"
    stub, reference = path.read_text(), (REFERENCE / f"{file}.py").read_text()
    answers = definitions(reference)
    helpers = [
        ast.get_source_segment(reference, node)
        for key, node in answers.items()
        if key.startswith("_") and key not in definitions(stub)
    ]
    answer = ast.get_source_segment(reference, answers[name])
    stub = stub.replace(ast.get_source_segment(stub, definitions(stub)[name]), answer)
    code = PythonCode.parse("\n\n\n".join([stub, *helpers]))
    for line in PythonCode.parse(reference).imports_for(name):
        code = code.with_import(line)
    path.write_text(code.text)
