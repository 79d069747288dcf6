"""A C++ program is compiled once, and again when one of its sources changes."""

import subprocess
from pathlib import Path

import pytest

from tiny_llm_course.extension import programs
from tiny_llm_course.extension.programs import COMPILER, Program

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no compiler for C++")


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Return a program that includes a header which includes another."""
    monkeypatch.setattr(programs, "CACHE", tmp_path / "programs")
    headers = tmp_path / "headers"
    headers.mkdir()
    (headers / "one.h").write_text('#pragma once\n#include "two.h"\n')
    write(headers, "0")
    source = tmp_path / "small.cpp"
    source.write_text('#include "one.h"\nint main() { return two; }\n')
    return Program(source, (headers,), "plain", ("-O0",))


def write(headers: Path, value: str) -> None:
    """Write the header that decides what the program returns."""
    text = f'#pragma once\n#include "one.h"\nconstexpr int two = {value};\n'
    (headers / "two.h").write_text(text)


def returned(program: Program) -> int:
    return subprocess.run([program.compiled()], check=False).returncode


def test_what_is_kept_is_not_compiled_again(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = program.compiled()
    monkeypatch.setattr(Program, "_compile", None)

    assert program.compiled() == first


def test_a_header_behind_a_header_counts(program: Program) -> None:
    before = returned(program)
    write(program.headers[0], "7")

    assert (before, returned(program)) == (0, 7)


def test_options_count(program: Program) -> None:
    other = Program(program.source, program.headers, program.kind, ("-O1",))

    assert other.path() != program.path()


def test_of_older_ones_nothing_stays(program: Program) -> None:
    program.compiled()
    write(program.headers[0], "7")
    new = program.compiled()

    assert list(programs.CACHE.glob("small-plain-*")) == [new]


def test_what_does_not_compile_is_not_kept(program: Program) -> None:
    write(program.headers[0], "no number")

    with pytest.raises(subprocess.CalledProcessError):
        program.compiled()

    assert not program.path().exists()
