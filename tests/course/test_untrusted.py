"""Untrusted code cannot affect anything by what it prints, raises or does."""

import runpy
import shutil
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import pytest

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.engine import fence, session
from tiny_llm_course.grading.engine.launch import Launched
from tiny_llm_course.inference.blame import SolutionError, blame
from tiny_llm_course.places import REFERENCE, ROOT
from tiny_llm_course.solution import Solution
from tiny_llm_course.syllabus import select_days, task_at
from tiny_llm_course.untrusted import (
    MAX_ERROR_LENGTH,
    MAX_LENGTH,
    visible,
    words_of,
)

DAY_4 = select_days(1, 4)
TASK = task_at("week 1, day 4, task 1")
FEW = ["-k", "row_of_zeros and float32"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, é and 中\n\tdone", "plain, é and 中\n\tdone"),
        ("\x1b[2J\x07", r"\x1b[2J\x07"),
        ("a\rb", r"a\rb"),
        ("\u202e", r"\u202e"),
        ("\udc80", r"\udc80"),
    ],
)
def test_what_a_terminal_would_obey_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_what_is_too_long_is_cut_with_a_note() -> None:
    shown = visible("x" * 100_000)

    assert shown == "x" * MAX_LENGTH + say("grading.cut", number=100_000 - MAX_LENGTH)


class Speechless(Exception):
    def __str__(self) -> str:
        raise ValueError("no")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("\x1bc"), r"\x1bc"),
        (Speechless(), say("grading.speechless", error="ValueError")),
        (
            ValueError("y" * 2000),
            "y" * MAX_ERROR_LENGTH + say("grading.cut", number=2000 - MAX_ERROR_LENGTH),
        ),
    ],
)
def test_any_exception_can_be_told(error: Exception, words: str) -> None:
    assert words_of(error) == words


def test_what_ends_a_talk_is_written_out(tmp_path: Path) -> None:
    path = tmp_path / "sampler.py"
    path.write_text("def draw():\n    raise ValueError('\\x1b[2J')\n")

    with pytest.raises(SolutionError) as error, blame(Solution(tmp_path, "theirs")):
        runpy.run_path(str(path))["draw"]()

    assert str(error.value).endswith(r"ValueError: \x1b[2J")


NORM = """
import os, resource, socket

class Speechless(Exception):
    def __str__(self):
        raise ValueError

class RMSNorm:
    def __init__(self, dim, weight, eps):
        {body}
"""


@pytest.fixture
def told(tmp_path: Path) -> Callable[[str], str]:
    """Return a function that grades a norm, and returns the report."""

    def grade(body: str) -> str:
        folder = shutil.copytree(REFERENCE, tmp_path / "theirs")
        (folder / "layer_norm.py").write_text(NORM.format(body=body))
        results = session.grade(DAY_4, str(folder), FEW, tasks=[TASK])
        return next(iter(results.tests.values())).message

    return grade


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (r"raise ValueError('\x1b[2J')", r"raised ValueError: \x1b[2J"),
        ("raise Speechless", "raised Speechless: (no text: its __str__ raises"),
        ("bytearray(2**35)", "raised MemoryError"),
    ],
)
def test_a_report_survives_what_a_solution_raises(
    told: Callable[[str], str], body: str, message: str
) -> None:
    assert message in told(body)


WHERE = """
        found = socket.socket().connect_ex(('127.0.0.1', {port}))
        limits = [resource.getrlimit(one)[0] for one in (
            resource.RLIMIT_DATA, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE)]
        raise ValueError(os.getcwd(), os.listdir(), limits, found == 0)
"""


def test_a_stranger_works_in_an_empty_folder_without_network_under_limits(
    told: Callable[[str], str],
) -> None:
    """As far as the system can."""
    limits = [fence.MEMORY_BYTES, fence.CPU_S, fence.FILE_BYTES]
    with socket.create_server(("127.0.0.1", 0)) as server:
        message = told(WHERE.format(port=server.getsockname()[1]))

    assert f"scratch', [], {limits}, {not fence.without_network()})" in message
    assert f"'{ROOT}" not in message


def test_a_system_that_cannot_take_the_network_away_is_silent(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: "/bin/false")

    assert fence.without_network.__wrapped__() == ()
    assert capfd.readouterr() == ("", "")


class Launching(Exception):
    """Raised instead of starting a process."""


@pytest.mark.parametrize("name", ["tiny_llm", "ref", "stranger"])
def test_the_solutions_of_the_checkout_are_at_home(name: str, tmp_path: Path) -> None:
    given: list[str] = []
    if name == "stranger":
        name = str(shutil.copytree(REFERENCE, tmp_path / "stranger"))

    def launch(arguments: Sequence[str]) -> Launched:
        given.extend(arguments)
        stop()

    with pytest.raises(Launching):
        session.grade(DAY_4, name, launch=launch)

    assert (fence.OPTION in given) == ("stranger" in name)


def stop() -> NoReturn:
    raise Launching
