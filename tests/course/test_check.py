"""`pdm run check` shows a line per claim, and runs only what may have changed."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from tiny_llm_course.book.languages import languages
from tiny_llm_course.checks.cache import Kept
from tiny_llm_course.checks.running import BYTECODE, COMPILED, TRACING, Runner
from tiny_llm_course.checks.steps import Step, steps
from tiny_llm_course.commands import check
from tiny_llm_course.commands.check import report
from tiny_llm_course.doctor.system import find_compiler
from tiny_llm_course.language import ENGLISH
from tiny_llm_course.places import ROOT, TESTS

PASSES = ("-c", "print('..\\n==== 2 passed in 0.1s ====\\n')")
FAILS = ("-c", "print('a.py:1 E501'); exit('found 1')")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a checkout with what a step needs, and some files to read."""
    found = tmp_path / "checkout"
    shutil.copytree(ROOT / TRACING, found / TRACING)
    (found / "package").mkdir()
    (found / "package" / "module.py").write_text("")
    (found / "data.txt").write_text("data")
    (found / "other.txt").write_text("other")
    return found


@pytest.fixture
def num_runs(root: Path) -> Callable[..., int]:
    """Return a function that runs code as a step, and counts how often it has run."""
    ran = root.parent / "ran"

    def run(code: str, *, anew: bool = False) -> int:
        counts = f"open({str(ran)!r}, 'a').write('x')"
        step = Step("it passes", ("-c", f"{counts}; {code}"))
        list(Runner(Kept(root), anew=anew).run([step]))
        return len(ran.read_text())

    return run


def test_a_claim_that_holds_is_one_line_with_how_it_ended(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes = list(report(Runner(Kept(root)), [Step("the tests pass", PASSES)]))

    line = r"the tests pass +ok +\d+\.\d s  2 passed in 0\.1s\n"
    assert re.fullmatch(line, capsys.readouterr().out)
    assert [outcome.succeeded for outcome in outcomes] == [True]


def test_a_claim_of_many_parts_is_one_line_as_well(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = [Step("the tests pass", PASSES, part=f"day {day}") for day in range(3)]

    list(report(Runner(Kept(root)), parts))

    line = r"the tests pass +ok +\d+\.\d s  3 parts\n"
    assert re.fullmatch(line, capsys.readouterr().out)


def test_the_first_step_that_fails_shows_all_it_printed_and_ends_the_run(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hangs = Step("it ends", ("-c", "import time; time.sleep(100)"))
    fails = Step("the lint passes", FAILS, part="a.py")

    outcomes = list(report(Runner(Kept(root)), [fails, hangs]))

    line, *rest = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"the lint passes +FAILED +\d+\.\d s  found 1", line)
    assert rest == ["", "a.py", "a.py:1 E501", "found 1", ""]
    assert [outcome.succeeded for outcome in outcomes] == [False]


def test_both_sides_of_the_promise_are_checked() -> None:
    """Accepting the reference proves little unless the starter is rejected."""
    claims = {step.claim for step in steps()}

    assert {"the tests tell right from wrong", "the starter passes nothing"} <= claims


def test_each_file_of_tests_is_in_a_step() -> None:
    """Those of a page in a browser share one, so that a browser starts less often."""
    files = {path.relative_to(ROOT).as_posix() for path in TESTS.glob("*/test_*.py")}

    assert files <= {one for step in steps() for one in step.arguments}


def test_a_long_step_shows_more_of_what_another_shows() -> None:
    """A check that leaves it out still has something of each file and page."""
    every = steps()
    told = {one for step in every if not step.is_long for one in step.arguments}
    of_long = {one for step in every if step.is_long for one in step.arguments}

    assert of_long - told == {"long", *(one for one in languages() if one != ENGLISH)}


@pytest.mark.parametrize(
    ("options", "ran"),
    [([], ["first"]), (["--long"], ["first", "more"]), (["--all"], ["first", "more"])],
)
def test_long_steps_run_when_they_are_asked_for(
    options: list[str], ran: list[str], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "ROOT", root)
    found = [Step("first", PASSES), Step("more", PASSES, is_long=True)]
    for name, some in (("FIRST", []), ("BOOK", []), ("steps", lambda: found)):
        monkeypatch.setattr(check, name, some)

    said = CliRunner().invoke(check.command, options)

    assert said.exit_code == 0
    lines = said.output.splitlines()
    assert sorted(line.split()[0] for line in lines if " ok " in line) == ran
    left_out = "1 that take long were left out: pdm run check --long"
    assert (left_out in lines) == (not options)


def test_what_a_step_has_from_the_start_is_no_garbage_to_look_for(root: Path) -> None:
    """Looking through all that PyTorch brings along takes longer than many a test."""
    code = "import gc, torch; print(any(one is torch for one in gc.get_objects()))"

    ((_, outcome),) = Runner(Kept(root)).run([Step("it ends", ("-c", code))])

    assert outcome.output == "False\n"


COMPILES = """
import mlx.core as mx
mx.set_default_device(mx.cpu)
mx.eval(mx.compile(lambda x: mx.exp(x) + x)(mx.ones(3)))
"""


@pytest.mark.skipif(find_compiler() is None, reason="there is no C++ compiler")
def test_what_mlx_compiles_is_there_for_the_next_step(root: Path) -> None:
    list(Runner(Kept(root)).run([Step("it compiles", ("-c", COMPILES))]))

    assert list((root / COMPILED).glob("*/cpu/*.so"))


OWN_FILES = """
import sys, tempfile
from pathlib import Path
folder = Path(tempfile.mkdtemp())
(folder / "own.py").touch()
sys.path.append(str(folder))
import own
print(folder)
"""


def test_nothing_stays_of_a_step_s_own_files(root: Path) -> None:
    """Neither they, nor what Python has compiled of them, for a path of no return."""
    runner = Runner(Kept(root))

    ((_, outcome),) = runner.run([Step("it ends", ("-c", OWN_FILES))])

    assert not Path(outcome.last_line).exists()
    assert not list((root / BYTECODE).rglob("own.*"))


READING = {
    "a file": "open('data.txt').read()",
    "a module": "import sys; sys.path.append('.'); import package.module",
    "a folder": "import os; os.listdir('package')",
    "in a child": (
        "import subprocess, sys; "
        "subprocess.run([sys.executable, '-c', \"open('data.txt')\"])"
    ),
}
CHANGES = {
    "a file": "data.txt",
    "a module": "package/module.py",
    "a folder": "package/new.py",
    "in a child": "data.txt",
}


@pytest.mark.parametrize("what", READING)
def test_a_step_runs_again_when_what_it_reads_has_changed_and_not_before(
    root: Path, num_runs: Callable[..., int], what: str
) -> None:
    first = num_runs(READING[what])
    (root / "other.txt").write_text("changed")
    second = num_runs(READING[what])
    (root / CHANGES[what]).write_text("changed = 1")
    third = num_runs(READING[what])

    assert (first, second, third) == (1, 1, 2)


def test_a_module_that_was_compiled_long_ago_is_read_all_the_same(
    root: Path, num_runs: Callable[..., int]
) -> None:
    """Python then opens the bytecode and not the source."""
    num_runs(READING["a module"], anew=True)
    num_runs(READING["a module"], anew=True)

    (root / "package" / "module.py").write_text("changed = 1")

    assert num_runs(READING["a module"]) == 3


def test_a_module_is_compiled_once_whatever_the_author_has_set(
    root: Path, num_runs: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")

    num_runs(READING["a module"])

    assert list((root / BYTECODE).rglob("package/module.*.pyc"))
    assert not list((root / "package").glob("__pycache__"))


def test_a_step_that_imports_little_is_watched_as_well(root: Path) -> None:
    """Its process is not a copy of the server's, whose libraries it does not have."""
    code = "import sys, package.module; print('torch' in sys.modules)"
    step = Step("it ends", ("-c", code), is_light=True)

    def run() -> list[tuple[str, bool]]:
        ran = Runner(Kept(root)).run([step])
        return [(outcome.last_line, outcome.was_kept) for _, outcome in ran]

    assert [run(), run()] == [[("False", False)], [("False", True)]]
    (root / "package" / "module.py").write_text("changed = 1")
    assert run() == [("False", False)]


@pytest.mark.parametrize(("wanted", "num_compiled"), [("", 1), ("1", 0)])
def test_the_server_compiles_for_those_after_it(
    root: Path, wanted: str, num_compiled: int
) -> None:
    """Python starts it with the `-B` of the check, and an environment of its own."""
    environment = {
        "PYTHONPATH": str(root / TRACING),
        "PYTHONPYCACHEPREFIX": str(root / BYTECODE),
        "PYTHONDONTWRITEBYTECODE": wanted,
    }

    subprocess.run(
        [sys.executable, "-B", "-c", "import package.module"],
        cwd=root,
        env=environment,
        check=True,
    )

    found = list((root / BYTECODE).rglob("package/module.*.pyc"))
    assert len(found) == num_compiled


@pytest.mark.parametrize(
    "code",
    [
        "subprocess.run([sys.executable, '-c', ''], env={})",
        "subprocess.run(['git', '--version'])",
    ],
    ids=["a Python that is started without", "git"],
)
def test_what_nobody_sees_the_reading_of_depends_on_everything(
    root: Path, num_runs: Callable[..., int], code: str
) -> None:
    num_runs(f"import subprocess, sys; {code}")

    (root / "other.txt").write_text("changed")

    assert num_runs(f"import subprocess, sys; {code}") == 2


@pytest.mark.parametrize("sources", ["extensions_ref", "extensions_shared"])
def test_a_compiled_kernel_stands_for_its_sources(
    root: Path, num_runs: Callable[..., int], sources: str
) -> None:
    """The module itself is not a source, since it is compiled if it is missing."""
    kernel = root / "src" / sources / "kernels" / "norm.h"
    kernel.parent.mkdir(parents=True)
    kernel.write_text("")
    code = "open('src/tiny_llm_ref/_kernels.so')"
    (root / "src" / "tiny_llm_ref").mkdir()
    (root / "src" / "tiny_llm_ref" / "_kernels.so").touch()
    num_runs(code)

    kernel.write_text("// changed")

    assert num_runs(code) == 2


@pytest.mark.parametrize("code", ["exit(1)", "open('data.txt', 'r+').write('x')"])
def test_neither_a_failure_is_kept_nor_what_was_changed_meanwhile(
    num_runs: Callable[..., int], code: str
) -> None:
    num_runs(code)

    assert num_runs(code) == 2


def test_another_setting_runs_everything_again(
    num_runs: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    num_runs("")

    monkeypatch.setenv("MLX_ANOTHER_SETTING", "1")  # which no machine has already

    assert num_runs("") == 2


def test_all_runs_everything_again(num_runs: Callable[..., int]) -> None:
    num_runs("")

    assert num_runs("", anew=True) == 2


def test_a_step_runs_again_when_what_it_makes_is_gone(root: Path) -> None:
    """Changes to files that the step itself writes do not make it run again."""
    made = root / "book" / "build" / "site"
    page = str(made / "page.html")
    made.mkdir(parents=True)
    code = f"open({page!r}, 'w').close(); open({page!r})"
    step = Step("it is built", ("-c", code), makes=made)
    list(Runner(Kept(root)).run([step]))
    kept = [outcome.was_kept for _, outcome in Runner(Kept(root)).run([step])]

    shutil.rmtree(made)

    assert kept == [True]
    assert not any(one.was_kept for _, one in Runner(Kept(root)).run([step]))


def test_a_built_page_counts_for_who_reads_it(
    root: Path, num_runs: Callable[..., int]
) -> None:
    site = root / "book" / "build" / "site"
    site.mkdir(parents=True)
    (site / "page.html").write_text("page")
    (site / "other.html").write_text("other")
    code = "open('book/build/site/page.html')"

    first = num_runs(code)
    (site / "other.html").write_text("changed")
    second = num_runs(code)
    (site / "page.html").write_text("changed")

    assert (first, second, num_runs(code)) == (1, 1, 2)


def test_kept_numbers_count_for_who_reads_them(
    root: Path, num_runs: Callable[..., int]
) -> None:
    numbers = root / "book" / "build" / "numbers.pickle"
    numbers.parent.mkdir(parents=True)
    numbers.write_text("1")
    code = "open('book/build/numbers.pickle')"

    first = num_runs(code)
    second = num_runs(code)
    numbers.write_text("2")

    assert (first, second, num_runs(code)) == (1, 1, 2)


def test_a_module_that_has_been_compiled_is_no_new_file(
    root: Path, num_runs: Callable[..., int]
) -> None:
    folder = root / "src" / "tiny_llm_ref"
    folder.mkdir(parents=True)
    code = "import os; os.listdir('src/tiny_llm_ref')"

    first = num_runs(code)
    (folder / "_kernels.so").touch()
    second = num_runs(code)
    (folder / "norm.py").touch()

    assert (first, second, num_runs(code)) == (1, 1, 2)
