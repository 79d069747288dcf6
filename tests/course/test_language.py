"""The language that learners read: chosen, remembered, of the locale, or English."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tiny_llm_course import language
from tiny_llm_course.catalogue import lines, say
from tiny_llm_course.commands.terminal import CourseCommand
from tiny_llm_course.places import here

MEMORY = language.memory
"""What the tests of this folder replace while they run."""


@pytest.fixture(autouse=True)
def _second_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Add a language that has one file of sentences, and one sentence of another."""
    folder = tmp_path / "qps"
    folder.mkdir()
    (folder / "grading.toml").write_text('no_reason = "CODE {code}"', encoding="utf-8")
    for name in (language.SETTING, *language.LOCALE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(language.FURTHER, str(tmp_path))
    monkeypatch.setattr(language, "memory", lambda: tmp_path / language.REMEMBERED)


@click.command(name="probe", cls=CourseCommand)
def probe() -> int:
    """A command for these tests."""
    click.echo(say("grading.no_reason", code=3))
    return 0


def test_without_a_choice_and_a_locale_the_course_speaks_english() -> None:
    assert language.current() == "en"
    assert say("grading.no_reason", code=3) == "exit code 3"


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"LANG": "qps_XX.UTF-8"}, "qps"),
        ({"LC_MESSAGES": "qps", "LANG": "de_DE.UTF-8"}, "qps"),
        ({"LC_ALL": "C.UTF-8", "LANG": "qps_XX.UTF-8"}, "en"),
        ({"LC_ALL": "", "LANG": "qps@latin"}, "qps"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"LANG": "../../etc"}, "en"),
        ({"LANG": "qps_XX.UTF-8", "TINY_LLM_LANG": "en"}, "en"),
        ({"LANG": "en_US.UTF-8", "TINY_LLM_LANG": "qps-XX"}, "qps"),
        ({"LANG": "qps", "TINY_LLM_LANG": "tlh"}, "qps"),
    ],
)
def test_the_choice_comes_before_the_locale(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert language.current() == expected


def test_a_sentence_is_looked_up_when_it_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = say("grading.no_reason", code=3)
    monkeypatch.setenv(language.SETTING, "qps")

    assert (before, say("grading.no_reason", code=3)) == ("exit code 3", "CODE 3")


def test_what_a_language_lacks_is_said_in_english(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A sentence of a file that it has, a list, and one of a file that it lacks."""
    english = say("grading.ended_late", how="x"), lines("errors.patterns")
    monkeypatch.setenv(language.SETTING, "qps")

    assert (say("grading.ended_late", how="x"), lines("errors.patterns")) == english
    assert say("watch.took", seconds=1) == "(1.0 s after the save)"


def test_a_key_that_even_english_lacks_is_an_error() -> None:
    with pytest.raises(KeyError, match=r"grading\.nothing_of_the_kind"):
        say("grading.nothing_of_the_kind")


@pytest.mark.parametrize("words", [["--lang", "qps"], ["--lang=qps"]])
def test_each_command_takes_the_language_and_remembers_it(words: list[str]) -> None:
    assert CliRunner().invoke(probe).stdout == "exit code 3\n"
    assert CliRunner().invoke(probe, words).stdout == "CODE 3\n"
    assert CliRunner().invoke(probe).stdout == "CODE 3\n"
    assert CliRunner().invoke(probe, env={"LANG": "en"}).stdout == "CODE 3\n"
    setting = {"TINY_LLM_LANG": "en"}
    assert CliRunner().invoke(probe, env=setting).stdout == "exit code 3\n"
    assert CliRunner().invoke(probe, ["--lang", "en"]).stdout == "exit code 3\n"
    assert CliRunner().invoke(probe).stdout == "exit code 3\n"


@pytest.mark.parametrize("kept", [b"tlh\n", b"", b"\xff", b"../en"])
def test_a_memory_that_makes_no_sense_counts_as_none(
    tmp_path: Path, kept: bytes
) -> None:
    (tmp_path / language.REMEMBERED).write_bytes(kept)

    assert CliRunner().invoke(probe).stdout == "exit code 3\n"


def test_each_checkout_has_a_memory_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MEMORY() == here().root / ".language"

    monkeypatch.setenv("TINY_LLM_HOME", str(tmp_path))

    assert MEMORY() == tmp_path / ".language"


def test_where_nothing_can_be_written_a_choice_counts_once(tmp_path: Path) -> None:
    (tmp_path / language.REMEMBERED).mkdir()

    assert CliRunner().invoke(probe, ["--lang=qps"]).stdout == "CODE 3\n"
    assert CliRunner().invoke(probe).stdout == "exit code 3\n"


@pytest.mark.parametrize("name", ["tlh", "../en"])
def test_a_language_that_does_not_exist_is_one_line_and_exit_code_2(name: str) -> None:
    result = CliRunner().invoke(probe, ["--lang", name])

    expected = f"probe: there is no language {name!r}; there is en, zh, qps\n"
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", expected)


def test_a_setting_that_does_not_exist_is_one_line_and_exit_code_2() -> None:
    result = CliRunner().invoke(probe, env={"TINY_LLM_LANG": "tlh"})

    expected = "probe: there is no language 'tlh'; there is en, zh, qps\n"
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", expected)


def test_a_locale_that_does_not_exist_is_english_without_a_word() -> None:
    result = CliRunner().invoke(probe, env={"LANG": "tlh_XX.UTF-8"})

    assert (result.exit_code, result.stdout, result.stderr) == (0, "exit code 3\n", "")


def test_the_help_page_is_in_the_language_that_stands_after_it() -> None:
    """What `--lang` says counts before anything else is parsed."""
    result = CliRunner().invoke(probe, ["--help", "--lang", "tlh"])

    assert (result.exit_code, result.stdout) == (2, "")
