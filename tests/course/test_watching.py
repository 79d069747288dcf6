"""Which tasks are graded after a save, and how soon."""

import threading
import time
from pathlib import Path

import pytest

from tiny_llm_course.places import REFERENCE, STARTER
from tiny_llm_course.syllabus import tasks
from tiny_llm_course.watching import changed_tasks, read_texts, saves


def _addresses(before: dict[str, str], after: dict[str, str]) -> list[str]:
    return [str(task.address) for task in changed_tasks(before, after)]


def test_task_of_a_changed_symbol_is_graded() -> None:
    before = read_texts(STARTER)
    after = {**before, "layer_norm": read_texts(REFERENCE)["layer_norm"]}

    assert _addresses(before, after) == ["week 1, day 4, task 1"]


def test_only_the_changed_symbol_of_a_file_counts() -> None:
    before = read_texts(REFERENCE)
    text = before["basics"].replace("return x * mx.sigmoid(x)", "return x")

    assert _addresses(before, {**before, "basics": text}) == ["week 1, day 4, task 2"]


def test_symbol_of_two_tasks_has_both_graded() -> None:
    before = read_texts(REFERENCE)
    text = before["positional_encoding"].replace(
        "self.cos = mx.cos", "self.cos = mx.sin"
    )
    after = {**before, "positional_encoding": text}

    expected = ["week 1, day 2, task 1", "week 1, day 2, task 2"]
    assert _addresses(before, after) == expected


def test_comment_changes_nothing() -> None:
    before = read_texts(REFERENCE)
    after = {**before, "basics": before["basics"] + "\n# a thought\n"}

    assert _addresses(before, after) == []


@pytest.mark.parametrize("added", ["import math\n", "def _helper(): ...\n", "def ("])
def test_what_all_of_a_file_may_use_has_all_of_it_graded(added: str) -> None:
    before = read_texts(REFERENCE)
    after = {**before, "sampler": before["sampler"] + added}

    own = [
        str(task.address)
        for task in tasks()
        if any(symbol.startswith("sampler.") for symbol in task.symbols)
    ]
    assert _addresses(before, after) == own


@pytest.mark.parametrize("by_rename", [False, True], ids=["in place", "by rename"])
def test_save_is_seen_at_once(tmp_path: Path, *, by_rename: bool) -> None:
    file = tmp_path / "basics.py"
    file.write_text("a = 1\n", encoding="utf-8")

    def save() -> None:
        time.sleep(0.5)
        if by_rename:
            (tmp_path / "new").write_text("a = 2\n", encoding="utf-8")
            (tmp_path / "new").replace(file)
        else:
            file.write_text("a = 2\n", encoding="utf-8")

    editor = threading.Thread(target=save)
    editor.start()
    seen = next(saves(tmp_path, read_texts(tmp_path)))
    editor.join()

    assert seen == ({"basics": "a = 1\n"}, {"basics": "a = 2\n"})


def test_save_before_the_watching_begins_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "basics.py"
    file.write_text("a = 1\n", encoding="utf-8")
    texts = read_texts(tmp_path)
    file.write_text("a = 2\n", encoding="utf-8")

    seen = next(saves(tmp_path, texts))

    assert seen == ({"basics": "a = 1\n"}, {"basics": "a = 2\n"})
