"""What is missing in a file of a solution is reported only when it is used."""

import textwrap
from pathlib import Path

import pytest

from tiny_llm_course.intake import FailedImport
from tiny_llm_course.places import REFERENCE
from tiny_llm_course.solution import BrokenFileError, Solution, load_solution
from tiny_llm_course.unsolved import Unsolved


def loaded(folder: Path, **files: str) -> Solution:
    """Write a solution and load it."""
    folder.mkdir()
    for name, text in files.items():
        path = folder / f"{name}.py"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    return load_solution(str(folder))


@pytest.mark.parametrize(
    ("line", "missing"),
    [
        ("from extensions import ops", "cannot import name 'ops' from 'extensions'"),
        ("from their_kernels import ops", "No module named 'their_kernels'"),
        ("import their_kernels as ops", "No module named 'their_kernels'"),
        ("import their_kernels.deep as ops", "No module named 'their_kernels'"),
        ("from math import no_such_name as ops", "cannot import name 'no_such_name'"),
        ("from .tools import ops", "No module named 'theirs.tools'"),
    ],
)
def test_a_missing_module_is_told_where_it_is_used(
    tmp_path: Path, line: str, missing: str
) -> None:
    """Everything else in the file works."""
    basics = f"""
        import math
        {line}

        def silu(x):
            return math.exp(x)

        def linear(x):
            return ops.linear(x)
    """
    solution = loaded(tmp_path / "theirs", basics=basics)

    assert solution.get("basics.silu")(0) == 1
    with pytest.raises(ImportError, match=missing) as error:
        solution.get("basics.linear")(0)
    assert "(basics.py, line 3)" in str(error.value)
    (failed,) = solution.failed_imports
    assert (failed.file, failed.line) == ("basics.py", 3)


@pytest.mark.parametrize(
    "use",
    [
        "@ops.jit\ndef silu(x): return x",
        "def silu(x: ops.Array | None): return ops(x)",
        "class silu(ops.Module):\n    def __init__(self, x): ops.run(x)",
        "run = ops.compiled()\ndef silu(x): return run(x)",
        "def silu(x): return isinstance(x, ops)",
        "def silu(x): return bool(ops)",
    ],
)
def test_what_a_file_does_with_it_at_its_top_is_no_use(
    tmp_path: Path, use: str
) -> None:
    solution = loaded(tmp_path / "theirs", basics=f"import ops\n{use}")

    silu = solution.get("basics.silu")

    with pytest.raises(ModuleNotFoundError, match=r"'ops' \(basics\.py, line 1\)"):
        silu(0)


def test_a_name_that_is_found_is_there_beside_one_that_is_not(tmp_path: Path) -> None:
    basics = "from math import exp, nothing\ndef silu(x): return exp(x)"

    solution = loaded(tmp_path / "theirs", basics=basics)

    assert solution.get("basics.silu")(0) == 1


def test_who_deals_with_a_missing_module_is_left_alone(tmp_path: Path) -> None:
    basics = """
        try:
            import no_such_module
        except ImportError:
            no_such_module = None

        def silu(x):
            return no_such_module
    """
    solution = loaded(tmp_path / "theirs", basics=basics)

    assert solution.get("basics.silu")(0) is None
    assert solution.failed_imports == []


@pytest.mark.parametrize("files", [{}, {"basics": "pi = 3"}], ids=["no file", "a file"])
def test_a_name_of_a_task_that_is_missing_is_not_started(
    tmp_path: Path, files: dict[str, str]
) -> None:
    attention = "from .basics import softmax\ndef causal_mask(): return softmax()"
    solution = loaded(tmp_path / "theirs", attention=attention, **files)

    with pytest.raises(Unsolved, match="week 1, day 1, task 1 is not started"):
        solution.get("attention.causal_mask")()
    assert solution.failed_imports == []


def test_a_name_that_the_course_gives_is_told_as_such(tmp_path: Path) -> None:
    """In an older version of the course the file had no `dequantize_linear`."""
    embedding = "from .quantize import dequantize_linear as d\ndef Embedding(): d()"
    solution = loaded(tmp_path / "theirs", embedding=embedding, quantize="")

    with pytest.raises(ImportError) as error:
        solution.get("embedding.Embedding")()

    assert str(error.value) == (
        "quantize.py has no dequantize_linear, which the course gives: `pdm run "
        "update` brings it (embedding.py, line 1)"
    )


@pytest.mark.parametrize(
    "line",
    [
        "import tiny_llm_ref",
        "import tiny_llm_ref.basics as b",
        "from tiny_llm_ref.basics import silu",
        "from tiny_llm_ref import basics",
        "import importlib; b = importlib.import_module('tiny_llm_ref.basics')",
        "b = __import__('tiny_llm_ref')",
        "def silu(x):\n        from tiny_llm_ref.basics import silu as s; return s(x)",
    ],
)
def test_our_solution_is_not_theirs(tmp_path: Path, line: str) -> None:
    solution = loaded(tmp_path / "theirs", basics=f"\n{line}\ndef silu(x): pass")

    with pytest.raises(BrokenFileError, match=r"basics\.py, line \d imports tiny_llm_"):
        solution.get("basics.silu")


def test_our_solution_is_not_theirs_behind_another_file(tmp_path: Path) -> None:
    files = {
        "basics": "from .mine import silu",
        "mine": "from tiny_llm_ref.basics import silu",
        "attention": "from .basics import silu\ndef causal_mask(x): return x",
    }
    solution = loaded(tmp_path / "theirs", **files)

    assert solution.get("attention.causal_mask")(3) == 3
    with pytest.raises(ImportError, match=r"mine\.py, line 1 imports tiny_llm_ref"):
        solution.get("basics.silu")(0)


IDLE = ["pass", "...", '"""Say what it does."""', '"""A"""; ...']


@pytest.mark.parametrize(
    ("definition", "body"),
    [
        *(("def causal_mask(*_):", one) for one in [*IDLE, "return", "return None"]),
        *(("class causal_mask:", one) for one in IDLE),
        *(("class causal_mask:\n  def __init__(self, *_):", one) for one in IDLE),
    ],
)
def test_what_does_nothing_is_not_started(
    tmp_path: Path, definition: str, body: str
) -> None:
    solution = loaded(tmp_path / "theirs", attention=f"{definition}\n    {body}\n")

    with pytest.raises(Unsolved, match="is not started"):
        solution.get("attention.causal_mask")(1, 2, 3)


def test_a_method_that_does_nothing_is_not_started(tmp_path: Path) -> None:
    """But a method that ours does not have may be empty."""
    layer_norm = """
        class RMSNorm:
            def __init__(self, dim):
                self.dim = dim

            def reset(self):
                pass

            def __call__(self, x):
                pass
    """
    norm = loaded(tmp_path / "theirs", layer_norm=layer_norm).get("layer_norm.RMSNorm")

    assert norm(3).reset() is None
    with pytest.raises(Unsolved, match="week 1, day 4, task 1 is not started"):
        norm(3)(0)


@pytest.mark.parametrize(
    ("text", "returned"),
    [
        ("import abc\nclass RMSNorm(abc.ABC): pass", "RMSNorm"),
        ("class RMSNorm:\n  eps = 0\n  def __init__(self): pass", "RMSNorm"),
        ("def RMSNorm(): return 0", "int"),
        ("def RMSNorm(): x = None", "NoneType"),
        ("def helper(): pass\ndef RMSNorm(): return helper()", "NoneType"),
    ],
)
def test_what_is_short_may_be_an_attempt(
    tmp_path: Path, text: str, returned: str
) -> None:
    """A short body is an attempt; a stub would raise that the task is not started."""
    attempt = loaded(tmp_path / "theirs", layer_norm=text).get("layer_norm.RMSNorm")

    assert type(attempt()).__name__ == returned


def test_lines_are_counted_as_they_are_written(tmp_path: Path) -> None:
    basics = (
        "from math import (\n    pi,\n    exp,\n)\n\ndef silu(x):\n    return 1 / 0\n"
    )
    silu = loaded(tmp_path / "theirs", basics=basics).get("basics.silu")

    with pytest.raises(ZeroDivisionError) as error:
        silu(0)

    assert error.traceback[-1].lineno == 7 - 1


def test_the_reference_is_imported_as_it_is() -> None:
    """Its annotations are checked by a separate import hook."""
    assert load_solution("ref").failed_imports == []
    assert REFERENCE.name == "tiny_llm_ref"


def test_a_failed_import_is_written_down_once(tmp_path: Path) -> None:
    files = {"basics": "import ops", "attention": "from . import basics"}
    solution = loaded(tmp_path / "theirs", **files)

    for file in ("attention.causal_mask", "basics.silu"):
        with pytest.raises(Unsolved):
            solution.get(file)

    complaint = "No module named 'ops'"
    assert solution.failed_imports == [FailedImport("basics.py", 1, complaint)]


def test_copies_of_a_file_each_say_where_they_are(tmp_path: Path) -> None:
    """They are compiled once."""
    text = "def silu(x):\n    def inner(): return 1 / 0\n    return inner()\n"
    copies = [loaded(tmp_path / name, basics=text) for name in ("one", "two")]

    for copy in copies:
        with pytest.raises(ZeroDivisionError) as error:
            copy.get("basics.silu")(0)
        path = copy.folder / "basics.py"
        assert [frame.path for frame in error.traceback[-2:]] == [path, path]


def test_a_copy_in_another_folder_has_another_name(tmp_path: Path) -> None:
    """So an import by the name of one folder is no longer the solution's own."""
    text = "from one.basics import softmax\ndef causal_mask(): return softmax()"
    one, two = (loaded(tmp_path / name, attention=text) for name in ("one", "two"))

    with pytest.raises(Unsolved, match="task 1 is not started"):
        one.get("attention.causal_mask")()
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'one\."):
        two.get("attention.causal_mask")()
