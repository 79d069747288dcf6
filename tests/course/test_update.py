"""`pdm run update`: a new version of the course, and the learner's work as it was."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tiny_llm_course.editing.saving import write_whole
from tiny_llm_course.places import Checkout

Run = Callable[[str], Result]

SOLVED = """
def softmax(x, axis):
    return x  # not yet
"""


@pytest.fixture
def basics(checkout: Checkout) -> Path:
    """Return a file in which one of three tasks has been begun."""
    path = checkout.starter / "basics.py"
    stub = path.read_text()
    start, end = stub.index("def softmax"), stub.index("\n\ndef linear")
    path.write_text(stub[:start] + SOLVED.lstrip() + stub[end:])
    return path


def publish(checkout: Checkout, file: str, old: str, new: str) -> None:
    """Change the course, as pulling a new version does."""
    path = checkout.reference / file
    assert old in path.read_text()
    write_whole(path, path.read_text().replace(old, new))


def contents(checkout: Checkout) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in checkout.starter.rglob("*.py")}


def test_the_same_version_brings_nothing(
    pdm_run: Run, checkout: Checkout, basics: Path
) -> None:
    before = contents(checkout)

    result = pdm_run("update")

    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "src/tiny_llm and src/extensions are up to date.\n"
    assert contents(checkout) == before
    assert not checkout.copies.exists()
    assert SOLVED in basics.read_text()


def test_stubs_are_renewed_and_work_is_left_alone(
    pdm_run: Run, checkout: Checkout, basics: Path
) -> None:
    publish(checkout, "basics.py", "    Args:\n", "    Arguments:\n")
    publish(checkout, "basics.py", "axis: int)", "axis: int = -1)")
    before = basics.read_text()

    result = pdm_run("update")

    (kept,) = checkout.copies.iterdir()
    assert result.exit_code == 0
    assert re.sub(r"py:\d+", "py:N", result.stdout) == (
        "src/tiny_llm/basics.py:N  linear: the stub is updated\n"
        f"The previous versions are in {kept.relative_to(checkout.root)}\n"
    )
    assert basics.read_text() == before.replace("    Args:\n", "    Arguments:\n")
    assert (kept / "basics.py").read_text() == before


def test_a_second_update_has_nothing_to_do(pdm_run: Run, checkout: Checkout) -> None:
    publish(checkout, "basics.py", "    Args:\n", "    Arguments:\n")
    pdm_run("update")

    assert (
        pdm_run("update").stdout == "src/tiny_llm and src/extensions are up to date.\n"
    )


def test_new_files_and_names_are_added(
    pdm_run: Run, checkout: Checkout, basics: Path
) -> None:
    given = '\n\ndef gelu(x: float) -> float:\n    """Be smooth."""\n    return x / 2\n'
    publish(checkout, "basics.py", "\n\ndef silu", f"{given}\n\ndef silu")
    (checkout.reference / "memory.py").write_text("SIZE = 1\n")
    (checkout.starter / "embedding.py").unlink()

    result = pdm_run("update")

    lines = re.sub(r"py:\d+", "py:N", result.stdout).splitlines()
    assert lines[:-1] == [
        "src/tiny_llm/basics.py:N  gelu is new",
        "src/tiny_llm/embedding.py  new file",
        "src/tiny_llm/memory.py  new file",
    ]
    text = basics.read_text()
    assert text.index("def linear") < text.index(given) < text.index("def silu")
    assert (checkout.starter / "memory.py").read_text() == "SIZE = 1\n"
    assert "class Embedding" in (checkout.starter / "embedding.py").read_text()


def test_a_new_stub_brings_what_its_signature_needs(
    pdm_run: Run, checkout: Checkout
) -> None:
    publish(checkout, "embedding.py", '"V E"]\n', '"V E"], table: Table\n')
    publish(checkout, "embedding.py", "\n\nclass ", "\nTable = Any\n\n\nclass ")
    publish(
        checkout,
        "embedding.py",
        "\nimport mlx",
        "\nfrom typing import Any\n\nimport mlx",
    )

    pdm_run("update")

    text = (checkout.starter / "embedding.py").read_text()
    compile(text, "embedding.py", "exec")
    assert text.index("import Any") < text.index("Table = Any") < text.index("class ")


def test_given_code_that_differs_is_named_and_left_alone(
    pdm_run: Run, checkout: Checkout
) -> None:
    """The learner or the course may have changed it."""
    publish(checkout, "quantize.py", "bits=mlx_layer.bits", "bits=4")
    before = contents(checkout)

    result = pdm_run("update")

    assert result.stdout == (
        "src/tiny_llm/quantize.py:10  dequantize_linear differs from what the course "
        "gives now; it stays as it is\n"
    )
    assert result.exit_code == 0
    assert contents(checkout) == before


@pytest.mark.parametrize(
    "note", ["    # first the maximum\n", "    maximum = mx.max(x)\n"]
)
def test_a_stub_with_a_note_in_it_is_work(
    pdm_run: Run, checkout: Checkout, note: str
) -> None:
    path = checkout.starter / "basics.py"
    todo = '    todo("week 1, day 1, task 1")\n'
    path.write_text(path.read_text().replace(todo, note + todo))
    publish(checkout, "basics.py", "Turn scores", "Change scores")

    pdm_run("update")

    assert note in path.read_text()
    assert "Turn scores" in path.read_text()


def test_a_file_that_is_not_python_is_left_alone(
    pdm_run: Run, checkout: Checkout, basics: Path
) -> None:
    """The other files are updated."""
    basics.write_text(f"def (\n{basics.read_text()}")
    publish(checkout, "basics.py", "    Args:\n", "    Arguments:\n")
    publish(checkout, "layer_norm.py", "    Args:\n", "    Arguments:\n")
    before = basics.read_text()

    result = pdm_run("update")

    assert result.exit_code == 1
    assert result.stderr == (
        "src/tiny_llm/basics.py:1 is not Python (invalid syntax); fix it first\n"
    )
    assert result.stdout.startswith("src/tiny_llm/layer_norm.py:9  RMSNorm: the stub")
    assert basics.read_text() == before


def test_everything_comes_back_after_all_was_deleted(
    pdm_run: Run, checkout: Checkout
) -> None:
    before = contents(checkout)
    for path in before:
        path.unlink()

    result = pdm_run("update")

    assert contents(checkout) == before
    assert "src/tiny_llm/__init__.py  new file" in result.stdout.splitlines()


GIT = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org"]


@pytest.fixture
def git(checkout: Checkout) -> Callable[..., None]:
    """Return a function that runs git in a checkout cloned from a published course."""

    def run(line: str, folder: Path = checkout.root) -> None:
        words = [*GIT, "-C", str(folder), *line.split()]
        subprocess.run(words, check=False, capture_output=True)

    run("init --initial-branch=main")
    run("add --all")
    run("commit -m begin")
    course = checkout.root.with_name("course")
    run(f"clone . {course}")
    run(f"remote add origin {course}")
    run("fetch origin")
    run("branch --set-upstream-to=origin/main")
    text = (course / BASICS).read_text()
    (course / BASICS).write_text(text.replace(STUB, f"pass\n    {STUB}"))
    run("commit -am new", course)
    return run


BASICS = "src/tiny_llm/basics.py"
STUB = 'todo("week 1, day 1, task 1")'


def write_work(checkout: Checkout) -> None:
    """Change the same line as the new version."""
    path = checkout.root / BASICS
    path.write_text(path.read_text().replace(STUB, "return x"))


def test_a_pull_that_git_refused_is_not_up_to_date(
    pdm_run: Run, checkout: Checkout, git: Callable[..., None]
) -> None:
    write_work(checkout)
    git("pull --no-rebase")

    result = pdm_run("update")

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "A newer version was fetched, but is not in your files: git does not overwrite "
        'what is not committed. Commit first: git commit -am "my work" && git pull && '
        "pdm run update\n"
    )


@pytest.mark.parametrize(
    ("how", "finish"),
    [("--no-rebase", "git commit --no-edit"), ("--rebase", "git rebase --continue")],
)
def test_a_conflict_is_to_be_settled_first(
    pdm_run: Run, checkout: Checkout, git: Callable[..., None], how: str, finish: str
) -> None:
    """Until then no file is written."""
    write_work(checkout)
    git("commit -am work")
    git(f"pull {how}")
    (checkout.starter / "embedding.py").unlink()
    before = contents(checkout)

    result = pdm_run("update")

    assert (result.exit_code, result.stdout) == (2, "")
    assert re.sub(r"py:\d+", "py:N", result.stderr) == (
        f"update: {BASICS}:N holds two versions of the same lines; keep one, then: "
        f"git add {BASICS} && {finish}\n"
    )
    assert contents(checkout) == before


def test_a_conflict_that_is_settled_is_to_be_committed(
    pdm_run: Run, checkout: Checkout, git: Callable[..., None]
) -> None:
    write_work(checkout)
    settled = (checkout.root / BASICS).read_text()
    git("commit -am work")
    git("pull --no-rebase")
    (checkout.root / BASICS).write_text(settled)

    to_add = pdm_run("update")
    git(f"add {BASICS}")
    to_commit = pdm_run("update")
    git("commit --no-edit")
    done = pdm_run("update")

    assert (to_add.exit_code, to_commit.exit_code, done.exit_code) == (2, 2, 0)
    assert to_add.stderr == (
        f"update: git could not merge {BASICS}; once it is as you want it: "
        f"git add {BASICS} && git commit --no-edit\n"
    )
    assert to_commit.stderr == (
        "update: git has not finished merging; run: git commit --no-edit\n"
    )
    assert done.stdout == "src/tiny_llm and src/extensions are up to date.\n"


def test_half_merged_lines_are_seen_without_git(
    pdm_run: Run, checkout: Checkout
) -> None:
    """An applied stash leaves them as well, and so does a copied folder."""
    path = min(checkout.kernels.rglob("*.h"))
    path.write_text(f"//\n<<<<<<< Updated upstream\n{path.read_text()}")

    result = pdm_run("update")

    assert result.exit_code == 2
    file = path.relative_to(checkout.root).as_posix()
    assert result.stderr == (
        f"update: {file}:2 holds two versions of the same lines; keep one, then: "
        f"git add {file} && git commit\n"
    )
