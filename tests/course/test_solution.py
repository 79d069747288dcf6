"""A solution is loaded file by file, whatever its folder is called."""

import importlib
import inspect
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tiny_llm_course.errors import CourseError
from tiny_llm_course.places import REFERENCE
from tiny_llm_course.solution import BrokenFileError, load_solution
from tiny_llm_course.unsolved import Unsolved

BASICS = "def silu():\n    return __file__\n"
USES_BASICS = "{import_line}\n\ndef causal_mask():\n    return {call}()\n"


def write(folder: Path, **files: str) -> Path:
    """Write a solution: the text of each file by its name without `.py`."""
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


def test_the_init_file_is_not_run(tmp_path: Path) -> None:
    """It may import the rest of a checkout that is not here."""
    folder = write(tmp_path / "theirs", __init__="import no_such_module", basics=BASICS)

    silu = load_solution(str(folder)).get("basics.silu")

    assert silu() == f"{folder}/basics.py"


@pytest.mark.parametrize("name", ["theirs", "my-solution", "tiny_llm", "tiny_llm_ref"])
@pytest.mark.parametrize(
    ("import_line", "call"),
    [
        ("from .basics import silu", "silu"),
        ("from . import basics", "basics.silu"),
        ("from tiny_llm.basics import silu", "silu"),
        ("import tiny_llm.basics", "tiny_llm.basics.silu"),
    ],
)
def test_files_import_each_other(
    tmp_path: Path, name: str, import_line: str, call: str
) -> None:
    """Files from a checkout import from tiny_llm, wherever they have been copied."""
    attention = USES_BASICS.format(import_line=import_line, call=call)
    folder = write(tmp_path / name, basics=BASICS, attention=attention)

    mask = load_solution(str(folder)).get("attention.causal_mask")

    assert mask() == f"{folder}/basics.py"


@pytest.mark.parametrize("name", ["theirs", "tiny_llm_ref"])
def test_files_import_each_other_by_the_name_of_their_folder(
    tmp_path: Path, name: str
) -> None:
    """This includes the name of our own solutions, as in a fork."""
    line = f"from {name}.basics import silu"
    attention = USES_BASICS.format(import_line=line, call="silu")
    folder = write(tmp_path / name, basics=BASICS, attention=attention)

    mask = load_solution(str(folder)).get("attention.causal_mask")

    assert mask() == f"{folder}/basics.py"


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("theirs", ".basics"),
        ("theirs", "theirs.basics"),
        ("tiny_llm", "tiny_llm.basics"),
        ("tiny_llm_ref", ".basics"),
    ],
)
def test_an_import_inside_a_function_works_when_it_is_called(
    tmp_path: Path, name: str, module: str
) -> None:
    attention = f"def causal_mask():\n    from {module} import silu\n    return silu()"
    folder = write(tmp_path / name, basics=BASICS, attention=attention)

    mask = load_solution(str(folder)).get("attention.causal_mask")

    assert mask() == f"{folder}/basics.py"


@pytest.mark.parametrize(
    "name", ["json", "sys", "torch", "tiny_llm_ref", "tests", "my-solution", "v1.2"]
)
def test_a_folder_of_any_name_is_loaded_as_itself(tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(REFERENCE, tmp_path / name)

    mlp = load_solution(str(folder)).get("qwen2_week1.Qwen2MLP")

    assert Path(inspect.getfile(mlp)).parent == folder


@pytest.mark.parametrize("name", ["json", "sys", "torch", "tiny_llm_ref.basics"])
def test_a_folder_shadows_no_module(tmp_path: Path, name: str) -> None:
    module = importlib.import_module(name)
    folder = shutil.copytree(REFERENCE, tmp_path / name.partition(".")[0])

    load_solution(str(folder)).get("qwen2_week1.Qwen2MLP")

    assert importlib.import_module(name) is module


@pytest.mark.parametrize(
    ("basics", "complaint"),
    [
        ("x = 1\ndef silu(:\n", "SyntaxError: invalid syntax (basics.py, line 2)"),
        (
            "from math import nothing\n\nnothing + 1\n",
            "TypeError: unsupported operand type(s) for +: 'Placeholder' and 'int' "
            "(basics.py, line 3)",
        ),
        ("import sys\nsys.exit('bye')\n", "SystemExit: bye (basics.py, line 2)"),
        ("table = {}\ntable[0]\n", "KeyError: 0 (basics.py, line 2)"),
        ("import \\\n  math\n1 / 0\n", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_file_that_cannot_be_imported_is_told_with_its_line(
    tmp_path: Path, basics: str, complaint: str
) -> None:
    solution = load_solution(str(write(tmp_path / "theirs", basics=basics)))

    with pytest.raises(BrokenFileError) as error:
        solution.get("basics.silu")

    assert str(error.value).startswith(f"basics.py cannot be imported: {complaint}")
    assert str(error.value).count("line") == 1


def test_only_what_imports_a_broken_file_suffers(tmp_path: Path) -> None:
    """The error points to the broken file."""
    files = {
        "basics": "silu = 1 / 0",
        "attention": "from .basics import silu",
        "layer_norm": "class RMSNorm: pass",
    }
    solution = load_solution(str(write(tmp_path / "theirs", **files)))

    assert solution.get("layer_norm.RMSNorm").__name__ == "RMSNorm"
    with pytest.raises(BrokenFileError, match=r"attention\.py .*\(basics\.py, line 1"):
        solution.get("attention.causal_mask")


@pytest.mark.parametrize(
    ("symbol", "reason"),
    [
        ("basics.silu", "basics.py has no silu"),
        ("qwen2_week1.Qwen2MLP", "there is no qwen2_week1.py"),
    ],
)
def test_what_is_missing_is_not_started(
    tmp_path: Path, symbol: str, reason: str
) -> None:
    solution = load_solution(str(write(tmp_path / "theirs", basics="pi = 3")))

    with pytest.raises(Unsolved) as error:
        solution.get(symbol)

    assert str(error.value) == (
        "week 1, day 4, task 2 is not started (SiLU and the MLP of Qwen2): read "
        "`pdm run book week-1-day-4-rmsnorm-and-mlp#task-2`, fill in basics.py, then "
        f"run `pdm run test --week 1 --day 4 --task 2`; {reason}"
    )


def test_a_stub_at_the_top_of_a_file_is_not_started(tmp_path: Path) -> None:
    text = "from tiny_llm_course import todo\ntodo('week 1, day 4, task 2')"
    solution = load_solution(str(write(tmp_path / "theirs", basics=text)))

    with pytest.raises(Unsolved, match="week 1, day 4, task 2 is not started"):
        solution.get("basics.silu")


@pytest.mark.parametrize("name", ["classmate", "shelf.classmate"])
def test_a_package_is_found_by_name_and_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    folder = tmp_path.joinpath(*name.split("."))
    write(folder, __init__="import no_such_module", basics=BASICS)
    (tmp_path / "shelf").mkdir(exist_ok=True)
    (tmp_path / "shelf" / "__init__.py").write_text("import no_such_module")
    monkeypatch.syspath_prepend(tmp_path)

    solution = load_solution(name)

    assert solution.folder == folder
    assert solution.get("basics.silu")() == f"{folder}/basics.py"


def test_our_solutions_have_a_short_name() -> None:
    assert load_solution("ref").folder == REFERENCE


def test_a_solution_can_be_loaded_again(tmp_path: Path) -> None:
    """The files are read again, since they may have changed."""
    first = write(tmp_path / "a" / "theirs", basics=BASICS)
    second = write(tmp_path / "b" / "theirs", basics="silu = abs")

    load_solution(str(first)).get("basics.silu")
    silu = load_solution(str(second)).get("basics.silu")

    assert silu is abs


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        (
            "tiny_lm",
            "there is no solution 'tiny_lm': neither a folder nor a package; did you "
            "mean 'tiny_llm'?",
        ),
        (
            "/no/such/folder",
            "there is no solution '/no/such/folder': neither a folder nor a package",
        ),
        ("math", "there is no solution 'math': neither a folder nor a package"),
        ("a..b", "there is no solution 'a..b': neither a folder nor a package"),
    ],
)
def test_an_unknown_name_is_one_line(name: str, complaint: str) -> None:
    with pytest.raises(CourseError) as error:
        load_solution(name)

    assert str(error.value) == complaint


def test_a_folder_without_files_of_a_solution_is_none(tmp_path: Path) -> None:
    write(tmp_path / "notes", diary="")

    with pytest.raises(CourseError) as error:
        load_solution(str(tmp_path / "notes"))

    assert str(error.value) == (
        f"solution '{tmp_path}/notes': expected a folder with files such as basics.py, "
        f"got {tmp_path}/notes with none of them"
    )


def test_the_name_of_the_course_is_only_lent(tmp_path: Path) -> None:
    """Other code that imports tiny_llm still gets the learner's own files."""
    attention = "from tiny_llm.only_here import causal_mask"
    only_here = "causal_mask = None"
    folder = write(tmp_path / "theirs", attention=attention, only_here=only_here)
    before = _modules_of("tiny_llm")

    load_solution(str(folder)).get("attention.causal_mask")

    assert _modules_of("tiny_llm") == before


def _modules_of(package: str) -> dict[str, ModuleType]:
    return {
        name: module
        for name, module in sys.modules.items()
        if name.partition(".")[0] == package
    }


def test_others_can_look_for_the_file_of_any_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PyTorch does so: it asks `inspect` for the module of a line of code."""
    folder = write(tmp_path / "their_package", __init__="", basics=BASICS)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module(folder.name)
    code = compile("", "a file of nobody", "exec")
    assert inspect.getmodule(code, code.co_filename) is None

    load_solution(folder.name)

    assert inspect.getmodule(code, code.co_filename) is None
