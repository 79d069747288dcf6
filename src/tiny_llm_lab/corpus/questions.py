"""Questions about the course with right answers, and questions it cannot answer."""

import random
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from tiny_llm_lab.corpus.grammar import capitalised, expand, read_toml
from tiny_llm_lab.corpus.split import is_held_out

HELD_OUT_QUESTIONS = 10  # one in so many phrasings


@dataclass(frozen=True)
class Fact:
    """Something the model knows: ways to ask for it, and every right answer."""

    name: str
    questions: tuple[str, ...]
    answers: tuple[str, ...]


@cache
def phrasings(fact: Fact, held_out: bool) -> tuple[str, ...]:
    """List the questions for `fact` that are in training, or those held out."""
    return tuple(
        question
        for question in fact.questions
        if is_held_out(plain(question), HELD_OUT_QUESTIONS) == held_out
    )


@cache
def answerable(held_out: bool) -> tuple[Fact, ...]:
    """List the facts that have a phrasing in this part of the split."""
    return tuple(fact for fact in facts() if phrasings(fact, held_out))


def plain(question: str) -> str:
    """Reduce `question` to its words, so that case and marks do not count."""
    return " ".join(re.findall(r"[\w/']+", question.lower()))


@cache
def facts() -> tuple[Fact, ...]:
    """Read the facts and spell out their questions."""
    asking: dict[str, list[str]] = read_toml("asking.toml")
    return tuple(read_fact(entry, asking) for entry in read_toml("facts.toml")["fact"])


def read_fact(entry: dict[str, Any], asking: dict[str, list[str]]) -> Fact:
    """Combine each subject of a fact with each way to ask for it."""
    spelled = [
        capitalised(form.replace("{x}", subject))
        for kind, subjects in (
            (entry["kind"], entry.get("about", [])),
            ("what_are", entry.get("plural", [])),
        )
        for subject in subjects
        for form in asking[kind]
    ]
    different = {
        plain(question): question for question in spelled + entry.get("ask", [])
    }
    return Fact(entry["name"], tuple(different.values()), tuple(entry["answers"]))


@cache
def off_topic() -> dict[str, list[str]]:
    """Read the questions that are too hard for a small model."""
    return read_toml("offtopic.toml")


def ask_off_topic(rng: random.Random) -> tuple[str, str]:
    """Draw a question that the model cannot answer, and a polite reply."""
    text = off_topic()
    if rng.random() < 0.25:
        slots = {
            "country": rng.choice(text["countries"]),
            "number": str(rng.randrange(2, 100)),
        }
        question = expand(rng.choice(text["questions"]), slots, rng)
        return question, rng.choice(text["answers"])
    topic = rng.choice(text["topics"])
    slots = {"x": topic, "x_cap": capitalised(topic)}
    question = expand(rng.choice(text["ask"]), slots, rng)
    replies = text["answers_topic"] + text["answers"]
    return question, expand(rng.choice(replies), slots, rng)
