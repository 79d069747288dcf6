"""`pdm run progress`: which tasks are done, and when a verdict expires."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tiny_llm_course import progress
from tiny_llm_course.editing import fingerprints
from tiny_llm_course.editing.saving import write_whole
from tiny_llm_course.grading.results import WRONG
from tiny_llm_course.places import Checkout
from tiny_llm_course.syllabus import task_at, tasks

Run = Callable[[str], Result]
Graded = Callable[..., None]

RMS_NORM = "week 1, day 4, task 1"
SILU = "week 1, day 4, task 2"

NUM_TASKS = len([task for task in tasks() if not task.optional])

BEGINNING = f"""\
week 1: From matmul to text
  day 1  [------------]  0 of 2  Attention and multi-head attention
    [ ] task 1  Softmax and scaled dot-product attention    not started
    [ ] task 2  Multi-head attention                        not started
  day 2  [------------]  0 of 2  Rotary position embedding
    [ ] task 1  RoPE with neighbouring pairs (traditional)  not started
    [ ] task 2  RoPE with halves, as in Qwen2               not started
    [ ] task 3  Sinusoidal positions (optional)             not started
  day 3  [------------]  0 of 3  Grouped-query attention
    [ ] task 1  Grouped attention                           not started
    [ ] task 2  The causal mask                             not started
    [ ] task 3  The attention of Qwen2                      not started
  day 4  [------------]  0 of 2  RMSNorm and the SwiGLU MLP
    [ ] task 1  RMSNorm                                     not started
    [ ] task 2  SiLU and the MLP of Qwen2                   not started
    [ ] task 3  The norm family (optional)                  not started
    [ ] task 4  The feed-forward family (optional)          not started
    [ ] task 5  Pre-norm and post-norm (optional)           not started
  day 5  [------------]  0 of 3  The Qwen2 model
    [ ] task 1  The transformer block                       not started
    [ ] task 2  The embedding                               not started
    [ ] task 3  The model, loaded from a checkpoint         not started
  day 6  [------------]  0 of 1  Generating text
    [ ] task 1  The generation loop                         not started
  day 7  [------------]  0 of 3  Sampling
    [ ] task 1  Temperature                                 not started
    [ ] task 2  Top-k                                       not started
    [ ] task 3  Top-p                                       not started

0 of {NUM_TASKS} tasks are done.
"""

UNDER_WAY = f"""\
week 1: From matmul to text
  day 3  [====>>>>----]  2 of 3  Grouped-query attention
    [x] task 1  Grouped attention       done
    [>] task 2  The causal mask         skipped
    [!] task 3  The attention of Qwen2  wrong

1 of {NUM_TASKS} tasks are done, 1 skipped.
"""


def solve(checkout: Checkout, *files: str) -> None:
    """Write what a learner could have written."""
    for file in files:
        shutil.copy(checkout.reference / file, checkout.starter)


def change(checkout: Checkout, file: str, old: str, new: str) -> None:
    path = checkout.starter / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def status(checkout: Checkout, address: str) -> str:
    known, _ = progress.load(checkout)
    return progress.status(checkout, known, task_at(address))


def test_at_the_beginning_nothing_is_started(pdm_run: Run, checkout: Checkout) -> None:
    result = pdm_run("progress --week 1")

    assert (result.exit_code, result.stdout, result.stderr) == (0, BEGINNING, "")
    assert not checkout.progress.exists()


def test_tasks_have_marks_and_days_have_bars(
    pdm_run: Run, checkout: Checkout, graded: Graded
) -> None:
    pdm_run("skip --week 1 --day 3 --task 2")
    solve(checkout, "attention.py", "qwen2_week1.py")
    graded("week 1, day 3, task 1")
    graded("week 1, day 3, task 3", status=WRONG)

    assert pdm_run("progress --week 1 --day 3").stdout == UNDER_WAY


def test_a_terminal_shows_colours(
    pdm_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")

    shown = pdm_run("progress --week 1").stdout

    assert "\x1b[" in shown
    assert re.sub(r"\x1b\[[\d;]*m", "", shown) == BEGINNING


def test_the_file_can_be_read_by_people(checkout: Checkout, graded: Graded) -> None:
    solve(checkout, "layer_norm.py")
    graded(RMS_NORM)

    text = checkout.progress.read_text()
    text = re.sub(r'"[-\dT:+]{25}"', '"NOW"', text)
    text = re.sub(r'"[\da-f]{16}"', '"HASH"', text)
    assert text == (
        "{\n"
        '  "tasks": {\n'
        '    "week 1, day 4, task 1": {\n'
        '      "status": "done",\n'
        '      "when": "NOW",\n'
        '      "fingerprint": "HASH"\n'
        "    }\n"
        "  },\n"
        '  "hints": {}\n'
        "}\n"
    )


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("layer_norm.py", "    wide = ", "    # float16 overflows\n        wide = "),
        ("layer_norm.py", "Normalise every vector", "Do it to every vector"),
        ("layer_norm.py", "class RMSNorm:", "EPS = 1e-5\n\n\nclass RMSNorm:"),
        ("basics.py", "mx.sigmoid(x)", "mx.tanh(x)"),
        ("sampler.py", "import mlx.core as mx", "def ("),
    ],
)
def test_a_verdict_holds_when_something_else_changes(
    checkout: Checkout, graded: Graded, file: str, old: str, new: str
) -> None:
    """Comments, docstrings, other names in the file, files that are not imported."""
    solve(checkout, "layer_norm.py", "basics.py")
    graded(RMS_NORM)

    change(checkout, file, old, new)

    assert status(checkout, RMS_NORM) == "done"


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("qwen2_week1.py", "linear(gate * linear", "linear(gate + linear"),
        ("checks.py", ")) != shape", ")) == ()"),
        ("qwen2_week1.py", "import linear, silu", "import linear, linear as silu"),
        ("qwen2_week1.py", "import RMSNorm\n", "import RMSNorm\n\nprint('hello')\n"),
        ("qwen2_week1.py", "class Qwen2MLP:", "class Qwen2MLP"),
        ("basics.py", "mx.sigmoid(x)", "mx.tanh(x)"),
        ("basics.py", "import mlx.core as mx", "import numpy as mx"),
        ("basics.py", "return x * mx.sigmoid(x)", "return ("),
    ],
)
def test_a_verdict_falls_when_the_code_behind_it_changes(
    checkout: Checkout, graded: Graded, file: str, old: str, new: str
) -> None:
    """That is the definition, its helpers and imports, and other statements."""
    solve(checkout, "basics.py", "qwen2_week1.py")
    graded(SILU)

    change(checkout, file, old, new)

    assert status(checkout, SILU) == "changed"


@pytest.mark.parametrize(
    ("import_line", "where"),
    [
        ("from . import mine", "mine.sigmoid"),
        ("from .mine import *", "sigmoid"),
        ("from tiny_llm.mine import sigmoid", "sigmoid"),
        ("import tiny_llm.mine as own", "own.sigmoid"),
        ("from .parts.mine import sigmoid", "sigmoid"),
        ("from .parts import sigmoid", "sigmoid"),
    ],
)
def test_modules_of_the_learners_own_count(
    checkout: Checkout, graded: Graded, import_line: str, where: str
) -> None:
    (checkout.starter / "parts").mkdir()
    modules = [checkout.starter / "mine.py", checkout.starter / "parts" / "mine.py"]
    for module in modules:
        module.write_text("def sigmoid(x):\n    return x\n")
    solve(checkout, "basics.py", "qwen2_week1.py")
    change(checkout, "basics.py", "import Float", f"import Float\n{import_line}")
    change(checkout, "basics.py", "mx.sigmoid", where)
    graded(SILU)

    for module in modules:
        module.write_text("def sigmoid(x):\n    return 1 / x\n")

    assert status(checkout, SILU) == "changed"


def test_a_verdict_falls_when_its_tests_change(
    checkout: Checkout, graded: Graded, pdm_run: Run
) -> None:
    solve(checkout, "layer_norm.py")
    graded(RMS_NORM)

    tests = checkout.tests / "test_week_1_day_4.py"
    write_whole(tests, f"{tests.read_text()}\nassert True\n")

    line = pdm_run("progress --week 1 --day 4 --task 1").stdout.splitlines()[2]
    assert line == "    [~] task 1  RMSNorm  changed since it was graded"


def test_a_verdict_falls_when_the_grader_changes(
    checkout: Checkout, graded: Graded, monkeypatch: pytest.MonkeyPatch
) -> None:
    solve(checkout, "layer_norm.py")
    graded(RMS_NORM)

    monkeypatch.setattr(fingerprints, "_meaning_of_judge", lambda path: f"new {path}")

    assert status(checkout, RMS_NORM) == "changed"


def test_what_was_saved_during_the_run_is_not_what_was_graded(
    checkout: Checkout, graded: Graded
) -> None:
    solve(checkout, "layer_norm.py")
    before = progress.before(checkout, [task_at(RMS_NORM)])
    change(checkout, "layer_norm.py", "mx.rsqrt", "mx.sqrt")

    graded(RMS_NORM, graded=before)

    assert status(checkout, RMS_NORM) == "changed"


@pytest.mark.parametrize(
    "text", ["class RMSNorm: ...\n", "from .mine import RMSNorm, more\n"]
)
def test_code_that_was_never_graded_is_not_called_done(
    checkout: Checkout, text: str
) -> None:
    (checkout.starter / "layer_norm.py").write_text(text)

    assert status(checkout, RMS_NORM) == "changed"


def test_a_stub_is_not_started_whatever_was_there(
    checkout: Checkout, graded: Graded
) -> None:
    stub = (checkout.starter / "layer_norm.py").read_text()
    solve(checkout, "layer_norm.py")
    graded(RMS_NORM)

    (checkout.starter / "layer_norm.py").write_text(stub)

    assert status(checkout, RMS_NORM) == "not started"


def test_a_mistake_in_a_file_does_not_make_its_stubs_look_touched(
    checkout: Checkout,
) -> None:
    change(checkout, "attention.py", "import math", "import")

    assert status(checkout, "week 1, day 3, task 2") == "not started"


@pytest.mark.parametrize(
    ("pytest_args", "found"),
    [
        ([], "done"),
        (["-k", "task_1"], "done"),
        (["-ktask_1", "-q"], "done"),
        (["-k", "task_1 and float32"], "changed"),
        (["-x"], "changed"),
        (["--lf"], "changed"),
    ],
)
def test_a_task_is_done_when_all_its_tests_ran(
    checkout: Checkout, graded: Graded, pytest_args: list[str], found: str
) -> None:
    solve(checkout, "layer_norm.py")

    graded(RMS_NORM, pytest_args=pytest_args)

    assert status(checkout, RMS_NORM) == found


def test_one_failure_is_enough_to_be_wrong(checkout: Checkout, graded: Graded) -> None:
    solve(checkout, "layer_norm.py")

    graded(RMS_NORM, status=WRONG, pytest_args=["-k", "float32"])

    assert status(checkout, RMS_NORM) == "wrong"


DAMAGED = [
    "",
    '{"tasks": {',
    "[]",
    "{}",
    '{"tasks": {"week 1, day 4, task 1": {"status": "done"}}, "hints": {}}',
    '{"tasks": {"week 1, day 4, task 1": "done"}, "hints": {}}',
    '{"tasks": {}, "hints": {"week 1, day 4, task 1": "many"}}',
    json.dumps(
        {
            "tasks": {RMS_NORM: {"status": "so so", "when": "", "fingerprint": ""}},
            "hints": {},
        }
    ),
    "\x00\xff",
    "[" * 200_000,
    '{"tasks": ' + '{"a":' * 200_000,
    '{"tasks": {}, "hints": {"week 1, day 4, task 1": Infinity}}',
    '{"tasks": {}, "hints": {"week 1, day 4, task 1": NaN}}',
    '{"tasks": {}, "hints": {"week 1, day 4, task 1": -5}}',
    '{"tasks": {"week 1, day 4, task 1": {"status": "done", "when": Infinity, '
    '"fingerprint": ""}}, "hints": {}}',
]


@pytest.mark.parametrize("text", DAMAGED, ids=lambda text: text[:60])
def test_a_damaged_file_is_set_aside_and_begun_anew(
    pdm_run: Run, checkout: Checkout, text: str
) -> None:
    checkout.progress.write_text(text, encoding="latin-1")

    first, second = (pdm_run("progress --week 1") for _ in range(2))

    (copy,) = checkout.copies.glob("*/progress.json")
    assert first.stderr == (
        "progress.json was damaged, so it starts empty; the damaged file is "
        f"{copy.relative_to(checkout.root)}\n"
    )
    assert copy.read_text(encoding="latin-1") == text
    assert (first.exit_code, first.stdout) == (0, BEGINNING)
    assert (second.stderr, second.stdout) == ("", BEGINNING)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_what_is_no_file_is_put_away(
    pdm_run: Run, checkout: Checkout, make: Callable[[Path], None]
) -> None:
    """A folder cannot be read, and reading a pipe would block forever."""
    make(checkout.progress)

    first, second = (pdm_run("progress --week 1") for _ in range(2))

    (kept,) = checkout.copies.glob("*/progress.json")
    assert first.stderr == (
        "progress.json was damaged, so it starts empty; the damaged file is "
        f"{kept.relative_to(checkout.root)}\n"
    )
    assert (first.exit_code, first.stdout) == (0, BEGINNING)
    assert (second.stderr, second.stdout) == ("", BEGINNING)
    assert not checkout.progress.exists()
