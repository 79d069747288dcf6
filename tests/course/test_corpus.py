"""What the embedded model is trained on."""

import random
from collections import Counter

import pytest
from tokenizers import Tokenizer

from tiny_llm_lab.corpus import Corpus
from tiny_llm_lab.corpus.cast import animals, pair_is_held_out, pairs
from tiny_llm_lab.corpus.grammar import count, expand
from tiny_llm_lab.corpus.questions import Fact, facts, phrasings, plain
from tiny_llm_lab.corpus.stories import Plot, num_stories, plots
from tiny_llm_lab.corpus.story_requests import Telling, first_story, next_story
from tiny_llm_lab.corpus.tokenizer import train_tokenizer
from tiny_llm_lab.corpus.typing_style import with_slip

NUM_DOCUMENTS = 1000


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return [document.text for document in Corpus(0).documents(0, NUM_DOCUMENTS)]


@pytest.fixture(scope="module")
def tokenizer(texts: list[str]) -> Tokenizer:
    return train_tokenizer(texts, vocab_size=600)


def tellings(held_out: bool, number: int = 300) -> list[Telling]:
    """Tell stories and, after each, one that follows it in the same chat."""
    rng = random.Random(0)  # noqa: S311
    first = [first_story(rng, held_out) for _ in range(number)]
    return first + [next_story(told, rng, held_out) for told in first]


def test_the_same_chunk_is_the_same_text_each_time(texts: list[str]) -> None:
    again = [document.text for document in Corpus(0).documents(0, NUM_DOCUMENTS)]

    assert again == texts


def test_another_chunk_or_seed_is_another_text(texts: list[str]) -> None:
    chunk = {document.text for document in Corpus(0).documents(1, 100)}
    seed = {document.text for document in Corpus(1).documents(0, 100)}

    stories = {text for text in texts if len(text) > 400}

    assert not stories & (chunk | seed)


def test_every_kind_of_document_occurs() -> None:
    kinds = Counter(document.kind for document in Corpus(0).documents(0, NUM_DOCUMENTS))

    assert len(kinds) == 6
    assert min(kinds.values()) > NUM_DOCUMENTS // 50


def test_every_document_survives_the_tokenizer(
    texts: list[str], tokenizer: Tokenizer
) -> None:
    ids = [encoding.ids for encoding in tokenizer.encode_batch(texts)]

    assert tokenizer.decode_batch(ids, skip_special_tokens=False) == texts


@pytest.mark.parametrize(
    "text", ["naïve café", "森の狐", "🦊🌲", "\x00\t\r\n", "½ ≠ ⅓"]
)
def test_any_text_survives_the_tokenizer(text: str, tokenizer: Tokenizer) -> None:
    """The corpus is English; prompts may not be."""
    assert tokenizer.decode(tokenizer.encode(text).ids) == text


def test_no_held_out_pair_is_in_training() -> None:
    """Neither as the hero of a story nor as the friend."""
    in_training = {
        (animal, telling.cast.place.name)
        for telling in tellings(held_out=False)
        for animal in (telling.cast.animal, telling.cast.friend_animal)
    }

    assert not {pair for pair in in_training if pair_is_held_out(*pair)}


def test_held_out_stories_are_about_held_out_pairs() -> None:
    first = tellings(held_out=True)[:300]

    assert all(
        pair_is_held_out(telling.cast.animal, telling.cast.place.name)
        for telling in first
    )


def test_each_animal_is_in_training_somewhere() -> None:
    """Pairs are held out, not animals: the model has seen both halves of each."""
    assert {animal for animal, _ in pairs(held_out=False)} == set(animals())


def test_no_held_out_question_is_in_training() -> None:
    held_out = {
        plain(question) for fact in facts() for question in phrasings(fact, True)
    }
    asked = {
        plain(document.text.partition("\n")[0])
        for document in Corpus(0).documents(0, 5 * NUM_DOCUMENTS)
        if document.kind == "plain answer"
    }

    assert len(asked) > 100
    assert not asked & held_out


def test_no_question_belongs_to_two_facts() -> None:
    asked = [plain(question) for fact in facts() for question in fact.questions]

    assert not [question for question, times in Counter(asked).items() if times > 1]


@pytest.mark.parametrize("fact", facts(), ids=lambda fact: fact.name)
def test_a_fact_has_many_questions_and_some_answers(fact: Fact) -> None:
    assert len(fact.questions) >= 12
    assert len(set(fact.answers)) >= 2


def test_a_story_is_about_the_animal_and_place_of_its_cast() -> None:
    strays = [
        telling.story
        for telling in tellings(held_out=False)
        if telling.cast.animal not in telling.story
        or telling.cast.place.where not in telling.story[:1].lower() + telling.story[1:]
        or telling.cast.name not in telling.story
    ]

    assert not strays


def test_no_slot_or_choice_is_left_unfilled(texts: list[str]) -> None:
    """A mistake in a template would leave braces and bars."""
    plain_texts = [text.replace("<|", "").replace("|>", "") for text in texts]

    assert not [text for text in plain_texts if set("{}|") & set(text)]


def test_articles_fit_their_words(texts: list[str]) -> None:
    wrong = (" a owl", " a orange", " a old ", " a eagle", " a ant ", " an fox")

    assert not [text for text in texts if any(slip in text for slip in wrong)]


@pytest.mark.parametrize("plot", plots(), ids=lambda plot: plot.name)
def test_the_sentences_of_a_beat_differ(plot: Plot) -> None:
    """So that each choice counts once in the number of stories."""
    assert all(len(set(beat)) == len(beat) for beat in plot.beats)


def test_there_are_more_stories_than_the_model_has_parameters() -> None:
    assert num_stories() > 100 * 3_500_000


def test_choices_are_counted_as_they_are_expanded() -> None:
    rng = random.Random(0)  # noqa: S311
    template = "(a|b|c) {x} (d|e)"

    expanded = {expand(template, {"x": "-"}, rng) for _ in range(200)}

    assert len(expanded) == count(template) == 6


def test_a_slip_keeps_short_words_and_names() -> None:
    """The story keeps the name that was asked for, so it has to be readable."""
    rng = random.Random(0)  # noqa: S311

    slips = {with_slip("Tell Zabofi of a sheep", rng) for _ in range(50)}

    assert all(slip.startswith("Tell Zabofi of a s") for slip in slips)
    assert len(slips) > 3
