"""The starter in a second language, and a learner's work in either."""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result as Ran

from tiny_llm_course import language
from tiny_llm_course.editing import starter
from tiny_llm_course.editing.lookup import language as reader
from tiny_llm_course.editing.stub_texts import texts, with_words
from tiny_llm_course.editing.translation import language_of, translated
from tiny_llm_course.places import Checkout, here
from tiny_llm_course.units import units

Run = Callable[[str], Ran]
FILES = starter.files(here())
NARROW = "Rescale each length-D vector"
WIDE = "Ｒｅｓｃａｌｅ ｅａｃｈ ｌｅｎｇｔｈ-Ｄ ｖｅｃｔｏｒ"  # noqa: RUF001
ANSWER = "        return x * self.weight  # mine\n"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_text_is_written_as_it_was_found(path: Path) -> None:
    source = FILES[path]

    for one in texts(source, path.name):
        assert one.written(one.words) == source[one.start : one.end]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_all_docstrings_and_comments_of_a_stub_are_found(path: Path) -> None:
    """With other words in their place, no words of English are left in quotes."""
    source = FILES[path]
    nothing = {one.words: "" for one in texts(source, path.name)}

    bare = with_words(source, path.name, nothing)

    assert '"""' not in bare.replace('""""""', "")
    comments = [line for line in bare.splitlines() if line.lstrip().startswith("//")]
    assert {line.strip() for line in comments} <= {"///", "//"}


def test_each_text_has_a_key_of_its_own() -> None:
    keys = [
        one.key for path, source in FILES.items() for one in texts(source, path.name)
    ]

    assert len(keys) == len(set(keys))
    assert {"layer_norm", "layer_norm.RMSNorm.__call__", "matvec.h"} <= set(keys)
    assert {"matvec.h:matvec_naive", "kernels#1"} <= set(keys)


def test_the_units_of_english_are_all_sentences_and_all_texts_of_stubs() -> None:
    english = units("en")

    assert english["grading.no_reason"] == "exit code {code}"
    assert english["week_1_day_4.hints.task_1.0"].split()
    assert english["stubs/layer_norm.RMSNorm"].startswith(NARROW)
    assert not any(".patterns" in key for key in english)


@pytest.mark.usefixtures("second_language")
def test_the_code_of_a_stub_is_the_same_in_each_language() -> None:
    """Only what it says differs, and all of it does."""
    wide, english = translated(FILES, "qps"), set(units("en").values())

    for path, text in wide.items():
        code, original = reader(path).parse(text), reader(path).parse(FILES[path])
        words = {one.words for one in texts(text, path.name)}
        assert code.rest([]) == original.rest([])
        assert words
        assert not words & english
    assert WIDE in wide[here().starter / "layer_norm.py"]


@pytest.mark.usefixtures("second_language")
def test_the_starter_is_generated_in_the_language_that_is_chosen(
    checkout: Checkout, pdm_run: Run
) -> None:
    ran = pdm_run("starter --lang qps")

    assert ran.exit_code == 0
    assert WIDE in (checkout.starter / "layer_norm.py").read_text(encoding="utf-8")
    assert pdm_run("starter --check --lang qps").exit_code == 0
    assert pdm_run("starter --check").exit_code == 1
    assert language_of(starter.files(checkout)) == "qps"


@pytest.fixture
def wide_checkout(
    checkout: Checkout, pdm_run: Run, memory: Path, second_language: None
) -> Checkout:
    """Return one whose stubs are in the second language, and commands in English."""
    del second_language
    assert pdm_run("starter --lang qps").exit_code == 0
    memory.unlink()
    return checkout


def solved(checkout: Checkout) -> Path:
    """Write an answer to a task, under the docstring of the stub."""
    path = checkout.starter / "layer_norm.py"
    text = path.read_text(encoding="utf-8")
    first, todo, last = text.rpartition('        todo("week 1, day 4, task 1")\n')
    assert todo
    path.write_text(first + ANSWER + last, encoding="utf-8")
    return path


def test_reset_puts_back_the_stub_in_the_language_of_the_files(
    wide_checkout: Checkout, pdm_run: Run
) -> None:
    path = wide_checkout.starter / "layer_norm.py"
    before = path.read_bytes()
    solved(wide_checkout)

    assert pdm_run("reset --week 1 --day 4 --task 1").exit_code == 0
    assert path.read_bytes() == before


def test_skip_puts_in_the_solution_in_the_language_of_the_files(
    wide_checkout: Checkout, pdm_run: Run
) -> None:
    path = wide_checkout.starter / "layer_norm.py"

    assert pdm_run("skip --week 1 --day 4 --task 1").exit_code == 0

    text = path.read_text(encoding="utf-8")
    assert WIDE in text
    assert "todo" not in ast.unparse(ast.parse(text)).partition("class RMSNorm")[2]
    assert "skipped" in pdm_run("progress --week 1 --day 4 --task 1").stdout
    assert "---" not in pdm_run("solution --week 1 --day 4 --task 1").stdout


@pytest.mark.usefixtures("wide_checkout")
def test_update_has_nothing_to_do_in_a_starter_of_either_language(pdm_run: Run) -> None:
    ran = pdm_run("update")

    assert ran.stdout == "src/tiny_llm and src/extensions are up to date.\n"


def test_update_brings_a_new_stub_in_the_language_of_the_files(
    wide_checkout: Checkout, pdm_run: Run
) -> None:
    """A learner's file from before a version that has `layer_norm.py` at all."""
    path = wide_checkout.starter / "layer_norm.py"
    before = path.read_bytes()
    path.unlink()

    assert pdm_run("update").stdout == "src/tiny_llm/layer_norm.py  new file\n"
    assert path.read_bytes() == before


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_update_to_another_language_keeps_all_that_the_learner_has_written(
    wide_checkout: Checkout, pdm_run: Run, newline: str
) -> None:
    """An answer, a docstring of one's own, a helper; in Windows' line ends, too."""
    path = solved(wide_checkout)
    text = (
        path.read_text(encoding="utf-8") + '\n\ndef helper():\n    """Mine, all."""\n'
    )
    path.write_bytes(text.replace("\n", newline).encode())

    ran = pdm_run("update --lang en")

    after = path.read_bytes().decode()
    assert ran.exit_code == 0
    assert after.count("\r\n") == (after.count("\n") if newline == "\r\n" else 0)
    assert NARROW in after
    assert WIDE not in after
    assert ANSWER.replace("\n", newline) in after
    assert '"""Mine, all."""' in after
    assert language_of(starter.files(wide_checkout)) == language.ENGLISH
    kept = wide_checkout.copies.rglob("layer_norm.py")
    assert text.replace("\n", newline) in [one.read_bytes().decode() for one in kept]


def test_a_docstring_that_a_learner_has_changed_is_theirs(
    wide_checkout: Checkout, pdm_run: Run
) -> None:
    path = solved(wide_checkout)
    text = path.read_text(encoding="utf-8").replace(WIDE, f"My own words: {WIDE}")
    path.write_text(text, encoding="utf-8")

    pdm_run("update --lang en")

    assert f"My own words: {WIDE}" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("more", ["def half(", "\0", "\n  x = 1\n y"])
def test_a_file_that_cannot_be_parsed_is_left_alone(
    wide_checkout: Checkout, pdm_run: Run, more: str
) -> None:
    path = wide_checkout.starter / "layer_norm.py"
    path.write_text(path.read_text(encoding="utf-8") + more, encoding="utf-8")
    before = path.read_bytes()

    ran = pdm_run("update --lang en")

    assert (ran.exit_code, path.read_bytes()) == (1, before)
    assert "layer_norm.py" in ran.stderr
