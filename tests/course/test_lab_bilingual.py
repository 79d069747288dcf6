"""`pdm run lab bilingual`: stories in Chinese, and a model of two languages."""

from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner
from tokenizers import Tokenizer

from tiny_llm_course.places import RESULTS
from tiny_llm_lab.commands.lab import command
from tiny_llm_lab.corpus import Corpus
from tiny_llm_lab.corpus.chinese import ChineseCorpus, animals, num_stories, pairs, text
from tiny_llm_lab.experiments import bilingual_training
from tiny_llm_lab.experiments.bilingual import ARMS, LAB, LIMIT_BYTES, cases
from tiny_llm_lab.experiments.bilingual_training import (
    Size,
    corpora,
    held_out_stories,
    make_tokenizer,
    measure_arm,
    training_rows,
)
from tiny_llm_lab.training.recipe import QUICK

NUM_DOCUMENTS = 1000
RECIPE = replace(
    QUICK,
    vocab_size=2048,
    batch_size=2,
    steps=4,
    warmup_steps=1,
    tokenizer_documents=50,
)
TOY = Size(RECIPE, vocab_size=600, num_stories=3)


def stories(held_out: bool = False, seed: int = 0) -> list[str]:
    documents = ChineseCorpus(seed, held_out).documents(0, NUM_DOCUMENTS)
    return [document.text for document in documents]


def test_the_same_seed_gives_the_same_stories() -> None:
    assert stories() == stories()


def test_another_seed_gives_other_stories() -> None:
    assert not set(stories()) & set(stories(seed=1))


def test_no_held_out_story_is_in_training() -> None:
    """A held-out pair is never in training, so no such story can be."""
    training, held_out = set(pairs(held_out=False)), set(pairs(held_out=True))

    assert not training & held_out
    assert len(training) > 10 * len(held_out) / 2 > 0
    assert not set(stories()) & set(stories(held_out=True))


def test_no_animal_is_in_a_held_out_place_of_training() -> None:
    """Neither as the hero nor as the friend."""
    held_out = [(animal, text()["place"][n]) for (_, animal), n in pairs(held_out=True)]

    strays = [
        (animal, place["where"], story)
        for story in stories()
        for animal, place in held_out
        if place["where"] in story and animal in story
    ]

    assert not strays


def test_every_slot_and_choice_is_filled() -> None:
    assert not [story for story in stories() if set("{}()") & set(story)]


def test_there_are_millions_of_stories() -> None:
    assert num_stories() > 5_000_000
    assert len({animal for _, animal in animals()}) == len(animals())


def test_languages_take_turns_in_the_rows(tmp_path: Path) -> None:
    """So that each has its share of the tokens."""
    arm = ARMS["half Chinese"]
    recipe = replace(RECIPE, vocab_size=TOY.vocab_size)
    make_tokenizer(arm, recipe, tmp_path)

    rows = training_rows(arm, recipe, tmp_path)

    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    beginnings = [tokenizer.decode(row[:20].tolist()) for row in rows.astype(int)]
    assert rows.shape == (8, recipe.context + 1)
    assert [text.isascii() for text in beginnings] == [True, False] * 4


def test_a_quick_run_saves_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bilingual_training, "FULL", TOY)
    monkeypatch.setattr(bilingual_training, "WORK", tmp_path / "work")

    ran = CliRunner().invoke(command, ["bilingual", "--quick", "--out", str(tmp_path)])

    assert ran.exit_code == 0, ran.output
    (row,) = LAB.kept(tmp_path).read()
    assert row["arm"] == "English"
    assert f"{float(row['english_loss_per_byte']):.4f}" in ran.stdout


@pytest.mark.parametrize("name", list(ARMS)[1:])
def test_a_toy_is_trained_and_measured(name: str, tmp_path: Path) -> None:
    row = measure_arm(ARMS[name], TOY, tmp_path)

    assert set(row) == set(LAB.columns)
    assert row["steps"] == RECIPE.steps * ARMS[name].times
    assert row["vocab_size"] == TOY.vocab_size
    assert 0 < float(row["english_loss_per_byte"]) < 8


def test_english_text_is_that_of_the_embedded_model() -> None:
    english, _ = corpora(ARMS["half Chinese"], 3)

    assert list(islice(english.documents(0, 5), 5)) == list(Corpus(3).documents(0, 5))


def test_what_is_measured_is_one_story_in_one_language_each() -> None:
    english, chinese = held_out_stories(20)

    assert len(english) == len(chinese) == 20
    assert all(story.isascii() for story in english)
    assert not any(set(story) & set("abc<|") for story in chinese)


def test_the_book_has_every_case_within_the_limit() -> None:
    rows = LAB.kept(RESULTS).read()

    assert [{key: row[key] for key in LAB.keys} for row in rows] == cases(quick=False)
    assert all(float(row["file_bytes"]) <= LIMIT_BYTES for row in rows)
