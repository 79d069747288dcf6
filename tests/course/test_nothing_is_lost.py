"""No command loses a learner's work, whenever it is interrupted."""

import functools
import importlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tiny_llm_course.editing.saving import write_whole
from tiny_llm_course.places import Checkout

Run = Callable[[str], Result]
Contents = dict[Path, bytes]

MINE = "\n\ndef mine():\n    return 'the work of a week'\n"
WRITING = [
    (os, "replace"),
    (shutil, "copy2"),
    (shutil, "copymode"),
    (Path, "mkdir"),
    (Path, "write_bytes"),
    (Path, "unlink"),
]
"""The functions through which commands change files."""


class Interruption(BaseException):
    """Simulates Ctrl-C at a chosen place."""


def interrupt() -> None:
    raise Interruption


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def trap(
    function: Callable[..., Any], moment: Callable[[], None]
) -> Callable[..., Any]:
    """Call `moment` before a step, after it, and if possible in the middle."""

    @functools.wraps(function)
    def step(*arguments: Any, **more: Any) -> Any:  # noqa: ANN401
        moment()
        if function.__name__ == "write_bytes":
            path, data = arguments
            function(path, data[: len(data) // 2])
            moment()
        if function.__name__ == "copy2":
            source, target = map(Path, arguments)
            target.write_text(source.read_text(errors="replace")[:9])
            moment()
        answer = function(*arguments, **more)
        moment()
        return answer

    return step


def traps(at: int, end: Callable[[], None]) -> Iterator[tuple[Any, str, Any]]:
    """Yield replacements for all steps that call `end` at one moment."""
    moments = itertools.count()

    def moment() -> None:
        if next(moments) == at:
            end()

    for owner, name in WRITING:
        yield owner, name, trap(getattr(owner, name), moment)


def contents(checkout: Checkout) -> Contents:
    paths = [*checkout.starter.glob("*.py"), checkout.progress]
    return {path: path.read_bytes() for path in paths if path.exists()}


def restore(checkout: Checkout, before: Contents) -> None:
    shutil.rmtree(checkout.copies, ignore_errors=True)
    for path in {*contents(checkout), *before}:
        path.unlink(missing_ok=True)
    for path, data in before.items():
        path.write_bytes(data)


def assert_nothing_is_lost(
    checkout: Checkout, before: Contents, after: Contents
) -> None:
    """Each file is the old or the new one, and what is replaced has a copy."""
    now = contents(checkout)
    kept = {path.read_bytes() for path in checkout.copies.glob("*/*")}
    for path in {*before, *now} - {checkout.progress}:
        assert now.get(path) in {before.get(path), after.get(path)}
        assert before.get(path) in {None, now.get(path), *kept}


@pytest.fixture
def worker(checkout: Checkout) -> Checkout:
    """Return a checkout of a learner with work in all files, below what is solved."""
    for name in ("basics.py", "layer_norm.py", "qwen2_week1.py"):
        text = (checkout.reference / name).read_text()
        text = text.replace(" * ", " + ") + MINE
        (checkout.starter / name).write_text(text)
    (checkout.starter / "embedding.py").unlink()
    rope = checkout.reference / "positional_encoding.py"
    write_whole(rope, rope.read_text().replace("Rotate pairs", "Turn pairs"))
    return checkout


@pytest.mark.parametrize(
    ("line", "num_moments"),
    [
        ("reset --week 1 --day 4", 40),
        ("skip --week 1 --day 4 --task 2", 40),
        ("update", 20),
    ],
)
def test_an_interruption_at_any_moment_loses_nothing(
    pdm_run: Run,
    worker: Checkout,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    num_moments: int,
) -> None:
    """The command can simply be repeated."""
    before = contents(worker)
    assert pdm_run(line).exit_code == 0
    after = contents(worker)

    for at in itertools.count():
        restore(worker, before)
        with monkeypatch.context() as patch:
            for owner, name, step in traps(at, interrupt):
                patch.setattr(owner, name, step)
            try:
                pdm_run(line)
            except Interruption:
                pass
            else:
                break
        assert_nothing_is_lost(worker, before, after)
        pdm_run(line)
        assert without_progress(worker) == without_progress(worker, after)

    assert at > num_moments


def without_progress(checkout: Checkout, found: Contents | None = None) -> Contents:
    found = contents(checkout) if found is None else found
    return {path: data for path, data in found.items() if path != checkout.progress}


@pytest.mark.parametrize("at", range(1, 40, 6))
def test_a_kill_at_any_moment_loses_nothing(
    pdm_run: Run, worker: Checkout, at: int
) -> None:
    """Python cannot clean up then."""
    line = "skip --week 1 --day 4 --task 2"
    before = contents(worker)
    pdm_run(line)
    after = contents(worker)
    restore(worker, before)

    code = f"import runpy; runpy.run_path({__file__!r})['run_and_be_killed'](at={at})"
    ended = subprocess.run(
        [sys.executable, "-c", code, *line.split()],
        env=os.environ | {"TINY_LLM_HOME": str(worker.root)},
        check=False,
    )

    assert ended.returncode == -signal.SIGKILL
    assert_nothing_is_lost(worker, before, after)
    assert pdm_run(line).exit_code == 0
    assert without_progress(worker) == without_progress(worker, after)


def run_and_be_killed(at: int) -> None:
    """Run the command in `sys.argv`, and kill the process at one moment."""
    name = sys.argv.pop(1)
    module = importlib.import_module(f"tiny_llm_course.commands.{name}")
    for owner, step_name, step in traps(at, kill):
        setattr(owner, step_name, step)
    module.command()


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("hint --week 1 --day 4 --task 1", '{"tasks": {}, "hints": {}}'),
        ("hint --week 1 --day 4 --task 1", "not json at all"),
        ("progress", "not json at all"),
    ],
)
def test_progress_is_never_half_written(
    pdm_run: Run,
    checkout: Checkout,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    text: str,
) -> None:
    """The content of a damaged file is kept as well."""
    for at in itertools.count():
        restore(checkout, {checkout.progress: text.encode()})
        with monkeypatch.context() as patch:
            for owner, name, step in traps(at, interrupt):
                patch.setattr(owner, name, step)
            try:
                pdm_run(line)
            except Interruption:
                pass
            else:
                break
        now = checkout.progress.read_text()
        if now != text:
            assert set(json.loads(now)) == {"tasks", "hints"}
            copies = [one.read_text() for one in checkout.copies.glob("*/*")]
            assert text in copies or text.startswith("{")

    assert at > 8
