"""What the lab prints from its files of results, in the language of the learner."""

from collections.abc import Iterator

import pytest

from tiny_llm_course import catalogue
from tiny_llm_course.language import languages
from tiny_llm_lab.bench.results import Machine
from tiny_llm_lab.bench.targets import kept, promises
from tiny_llm_lab.bench.whole_run import Measured
from tiny_llm_lab.commands.lab import LABS
from tiny_llm_lab.serving import whole_run
from tiny_llm_lab.wording import key_of, worded

LANGUAGES = sorted(languages())


def _whats() -> Iterator[str]:
    """Yield what is to be reached, of models and of a server."""
    nothing = Measured([], Machine(1.0, 1.0, 1.0), {})
    yield from (one["what"] for one in kept(promises(nothing, {}, {}, "tiny_llm_ref")))
    yield from (one.what for one in whole_run.promises(whole_run.Figures()))


WHATS = list(_whats())


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("what", WHATS)
def test_what_is_to_be_reached_is_said_in_every_language(
    what: str, language: str
) -> None:
    assert catalogue.entry_of(language, f"lab.targets.{key_of(what)}")


@pytest.mark.parametrize("what", WHATS)
def test_english_says_what_the_file_says(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINY_LLM_LANG", "en")

    assert worded("targets", what) == what


def test_numbers_stand_in_the_words_of_another_language(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TINY_LLM_LANG", "zh")

    said = worded("targets", "generation at 1024, times the speed of mlx_lm")

    assert said.startswith("在 1024 处生成")


def test_names_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINY_LLM_LANG", "zh")

    assert worded("bench", "q4_0") == "q4_0"


@pytest.mark.parametrize("name", LABS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_each_experiment_asks_its_question_in_every_language(
    name: str, language: str
) -> None:
    assert catalogue.entry_of(language, f"lab.questions.{name}")
