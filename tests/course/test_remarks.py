"""Calls of the library operation that a task asks to write are reported."""

from pathlib import Path

import pytest

from tiny_llm_course.grading.engine.remarks import library_calls
from tiny_llm_course.places import REFERENCE
from tiny_llm_course.syllabus import Task, task_at, tasks

RMS_NORM = task_at("week 1, day 4, task 1")


@pytest.mark.parametrize(
    "text",
    [
        "import mlx.core as mx\ny = mx.fast.rms_norm(x, w, e)",
        "import mlx.core\ny = mlx.core.fast.rms_norm(x, w, e)",
        "from mlx import core\ny = core.fast.rms_norm(x, w, e)",
        "from mlx.core import fast as quick\ny = quick.rms_norm(x, w, e)",
    ],
)
def test_operation_is_seen_however_it_is_imported(tmp_path: Path, text: str) -> None:
    (tmp_path / "layer_norm.py").write_text(text, encoding="utf-8")

    found = library_calls(RMS_NORM, tmp_path)

    assert found == [("layer_norm.py", "mx.fast.rms_norm")]


def test_class_of_the_library_is_seen(tmp_path: Path) -> None:
    text = "import mlx.nn as nn\nclass RMSNorm(nn.RMSNorm): ...\n"
    (tmp_path / "layer_norm.py").write_text(text, encoding="utf-8")

    assert library_calls(RMS_NORM, tmp_path) == [("layer_norm.py", "nn.RMSNorm")]


def test_other_files_and_broken_files_say_nothing(tmp_path: Path) -> None:
    (tmp_path / "layer_norm.py").write_text("def (", encoding="utf-8")
    (tmp_path / "other.py").write_text("import mlx.nn as nn\nnn.RMSNorm", "utf-8")

    assert library_calls(RMS_NORM, tmp_path) == []


@pytest.mark.parametrize("task", list(tasks()), ids=lambda one: str(one.address))
def test_reference_writes_everything_itself(task: Task) -> None:
    assert library_calls(task, REFERENCE) == []
