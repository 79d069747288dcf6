"""Every misuse of a command is one line on stderr and exit code 2."""

import importlib
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from tiny_llm_course.book.typed_commands import scripts
from tiny_llm_course.commands.terminal import CourseCommand
from tiny_llm_course.doctor.libraries import pdm_install
from tiny_llm_course.errors import CourseError


@click.command(name="probe", cls=CourseCommand)
@click.option("--number", type=int, default=0, help="What to do.")
def probe(number: int) -> int:
    """A command for these tests."""
    if number == 3:
        raise CourseError("--number: expected 0 to 2,\ngot 3; try 2")
    if number == 4:
        raise KeyboardInterrupt
    click.echo(f"number {number}")
    return number


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--number", "3"], "probe: --number: expected 0 to 2, got 3; try 2\n"),
        (
            ["--number", "x"],
            "probe: Invalid value for '--number': 'x' is not a valid integer\n",
        ),
        (["day"], "probe: Got unexpected extra argument (day)\n"),
    ],
)
def test_a_misuse_is_one_line_and_exit_code_2(arguments: list[str], said: str) -> None:
    result = CliRunner().invoke(probe, arguments)

    assert (result.exit_code, result.stderr, result.stdout) == (2, said, "")


@pytest.mark.parametrize(
    ("command", "arguments", "missing"),
    [
        ("book", ["--check"], ["spylls"]),
        ("book", [], ["sphinx", "furo"]),
        ("test-book", [], ["pytest", "playwright"]),
        ("lab", ["norm-eps", "--quick"], ["matplotlib"]),
        ("lab", ["ablate"], ["torch", "transformers"]),
        ("train-checkpoint", ["--quick"], ["torch"]),
    ],
)
def test_packages_that_are_missing_are_named_with_what_brings_them(
    command: str, arguments: list[str], missing: list[str]
) -> None:
    """`pdm install --prod` installs only what the model needs."""
    module, _, function = scripts()[command].partition(":")
    hidden = f"import sys; sys.modules |= dict.fromkeys({missing})"
    code = f"{hidden}; from {module} import {function}; {function}()"

    ran = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == (
        f"{command}: needs packages that are missing ({', '.join(missing)}); "
        f"run `{pdm_install()}`, without --prod\n"
    )


def command_of(name: str) -> click.Command:
    """Return the command behind `pdm run NAME`."""
    module, _, function = scripts()[name].partition(":")
    return getattr(importlib.import_module(module), function)


NUMERIC_OPTIONS = [
    (name, option.opts[0])
    for name, call in scripts().items()
    if ".commands." in call
    for option in command_of(name).params
    if isinstance(option.type, click.types.IntParamType | click.types.FloatParamType)
]


@pytest.mark.parametrize("number", ["nan", "inf", "-1", "9" * 30])
@pytest.mark.parametrize(("name", "option"), NUMERIC_OPTIONS)
def test_a_number_that_cannot_be_meant_is_one_line_and_exit_code_2(
    name: str, option: str, number: str
) -> None:
    result = CliRunner().invoke(command_of(name), [option, number])

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"{name}: ")
    assert result.stderr.count("\n") == 1


def test_the_number_that_a_command_returns_is_its_exit_code() -> None:
    result = CliRunner().invoke(probe, ["--number", "1"])

    assert (result.exit_code, result.stdout) == (1, "number 1\n")


def test_ctrl_c_ends_without_a_stack_trace() -> None:
    result = CliRunner().invoke(probe, ["--number", "4"])

    assert result.exit_code == 130
    assert "Traceback" not in result.output


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_shows_what_to_type(option: str) -> None:
    result = CliRunner().invoke(probe, [option])

    assert result.exit_code == 0
    assert result.stdout.startswith("Usage: pdm run probe [OPTIONS]\n")
