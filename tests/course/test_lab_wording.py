"""What the lab prints from its files of results, in the language of the learner."""
# ruff: noqa: RUF001 - punctuation of full width on purpose

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tiny_llm_course import catalogue
from tiny_llm_course.language import languages
from tiny_llm_lab.bench.results import Machine
from tiny_llm_lab.bench.targets import kept, promises
from tiny_llm_lab.bench.whole_run import Measured
from tiny_llm_lab.commands.lab import LABS
from tiny_llm_lab.serving import whole_run
from tiny_llm_lab.wording import cell, compared, key_of, worded

RESULTS = Path(__file__).parents[2] / "book" / "results"
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


def _cells() -> Iterator[str]:
    """Yield what the tables of all labs show, by the results in the book."""
    # What `inner-loops` shows is code.
    for module in set(LABS.values()) - {"inner_loops"}:
        lab = importlib.import_module(f"tiny_llm_lab.experiments.{module}").LAB
        rows = lab.kept(RESULTS).read()
        for row in (*lab.summary(rows), *lab.claims(rows), *lab.cases(False)):
            yield from map(str, row.values())


NAMES = re.compile(
    r"[A-Z]\w*(Norm|LU|Torch|Lo)|MLX|SiLU|SwiGLU|GLU|GELU|VNNI|RoPE|simd|traditional"
    r"|mx\.\w+|(b?float|int|avx)\d+|functional|passes|nan"
)
"""What is called so in every language."""


def test_english_cells_say_what_the_files_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TINY_LLM_LANG", "en")

    assert [text for text in _cells() if cell(text) != text] == []


def test_cells_that_are_words_are_in_chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINY_LLM_LANG", "zh")

    words = {text for text in _cells() if not set("_%(<") & set(text)}
    english = {
        text
        for text in words
        if cell(text) == text and re.search(r"[A-Za-z]{3}", NAMES.sub("", text))
    }
    assert english == set()


def test_the_sign_of_a_number_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINY_LLM_LANG", "zh")

    assert cell("-3.1 to 5") == "-3.1 到 5"
    assert cell("Qwen2-0.5B, random") == "Qwen2-0.5B，随机"


def test_a_name_of_code_is_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINY_LLM_LANG", "zh")

    assert cell("rows_in_4_lanes") == "rows_in_4_lanes"
    assert cell("rows in 4 lanes") == "4 个向量道里的行"


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("a f: 3/s against b g: 2/s", "a f: 3/s，对手 b g: 2/s"),
        ("a: 3/s, weights and cache read once", "a: 3/s，权重和键值缓存各读一遍"),
        ("missing", "缺少"),
    ],
)
def test_what_was_compared_is_said_in_chinese(
    how: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINY_LLM_LANG", "zh")

    assert compared(how) == said
