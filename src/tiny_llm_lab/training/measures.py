"""Evaluates a checkpoint on held-out data."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tiny_llm_lab.corpus.cast import Cast, draw_cast
from tiny_llm_lab.corpus.grammar import capitalised, expand, slots_of
from tiny_llm_lab.corpus.questions import Fact, answerable, phrasings
from tiny_llm_lab.corpus.story_requests import asking
from tiny_llm_lab.training.talking import Talker

GREEDY = {"do_sample": False, "temperature": None, "top_p": None}


@dataclass(frozen=True)
class Skill:
    """Scores from 0 to 1, over the same number of held-out prompts of each kind."""

    num_prompts: int
    names_animal: float
    names_place: float
    names_both: float
    keeps_name: float
    answers_right: float


@dataclass(frozen=True)
class StoryPrompt:
    """A request for a story that names an animal, a place, and perhaps the hero."""

    text: str
    cast: Cast
    gives_name: bool


def measure_skill(talker: Talker, num_prompts: int, seed: int) -> Skill:
    """Let the model answer held-out prompts greedily, and count what is right."""
    rng = random.Random(seed)  # noqa: S311
    prompts = [story_prompt(rng) for _ in range(num_prompts)]
    stories = answers(talker, [prompt.text for prompt in prompts])
    asked = list(zip(stories, prompts, strict=True))
    animal = [mentions(story, prompt.cast.animal) for story, prompt in asked]
    place = [mentions(story, prompt.cast.place.name) for story, prompt in asked]
    name = [prompt.cast.name in story for story, prompt in asked if prompt.gives_name]
    questions = [question_prompt(rng) for _ in range(num_prompts)]
    replies = answers(talker, [question for question, _ in questions])
    right = [
        reply in fact.answers
        for reply, (_, fact) in zip(replies, questions, strict=True)
    ]
    return Skill(
        num_prompts,
        names_animal=share(animal),
        names_place=share(place),
        names_both=share(
            [one and other for one, other in zip(animal, place, strict=True)]
        ),
        keeps_name=share(name),
        answers_right=share(right),
    )


def story_prompt(rng: random.Random) -> StoryPrompt:
    """Ask for a story with a held-out pair of animal and place, and name both."""
    subjects = [
        subject
        for subject in asking()["subjects"]
        if slots_of(subject) & {"animal", "an_animal"}
        and slots_of(subject) & {"place", "where"}
        and "theme" not in slots_of(subject)
    ]
    cast = draw_cast(rng, held_out=True)
    subject = rng.choice(subjects)
    request = rng.choice(asking()["ask"]).replace("{s}", subject)
    text = capitalised(expand(request, cast.slots(), rng))
    return StoryPrompt(text, cast, gives_name="name" in slots_of(subject))


def question_prompt(rng: random.Random) -> tuple[str, Fact]:
    """Ask about the course in a phrasing that training did not have."""
    fact = rng.choice(answerable(held_out=True))
    return rng.choice(phrasings(fact, held_out=True)), fact


def answers(talker: Talker, questions: Sequence[str]) -> list[str]:
    """Ask each question in a chat of its own, and take the most likely answer."""
    prompts = [
        talker.chat_prompt([{"role": "user", "content": question}])
        for question in questions
    ]
    return talker.complete(prompts, GREEDY)


def mentions(text: str, word: str) -> bool:
    """Say whether `word` occurs in `text`, alone or in the plural."""
    return re.search(rf"\b{word}s?\b", text.lower()) is not None


def share(hits: Sequence[bool]) -> float:
    """Compute the share of hits; 0 if there are no trials."""
    return sum(hits) / max(1, len(hits))
