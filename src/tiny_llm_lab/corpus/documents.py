"""Documents: stories and answers, plain or as a chat, in a fixed mixture."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from tiny_llm_lab.corpus.chats import Turn, chat_text, exchange, with_system
from tiny_llm_lab.corpus.questions import (
    answerable,
    ask_off_topic,
    phrasings,
)
from tiny_llm_lab.corpus.story_requests import (
    Telling,
    first_story,
    next_story,
    recall,
)
from tiny_llm_lab.corpus.typing_style import typed

MIXTURE = {
    "plain story": 0.18,
    "plain answer": 0.06,
    "story": 0.30,
    "answer": 0.24,
    "off topic": 0.04,
    "chat": 0.18,
}


@dataclass(frozen=True)
class Document:
    """One text of the corpus, and the kind of the mixture it belongs to."""

    kind: str
    text: str


@dataclass(frozen=True)
class Corpus:
    """All documents that a seed gives, for training or from the held-out part.

    Held out are whole (animal, place) pairs and whole phrasings of questions.
    """

    seed: int
    held_out: bool = False

    def documents(self, chunk: int, number: int) -> Iterator[Document]:
        """Yield `number` documents. The same chunk always gives the same ones."""
        rng = random.Random(f"{self.seed} {self.held_out} {chunk}")  # noqa: S311
        kinds = tuple(MIXTURE)
        for _ in range(number):
            kind = rng.choices(kinds, weights=tuple(MIXTURE.values()))[0]
            yield Document(kind, self.write(kind, rng))

    def write(self, kind: str, rng: random.Random) -> str:
        """Write one document of `kind`."""
        match kind:
            case "plain story":
                return first_story(rng, self.held_out).story
            case "plain answer":
                return "\n\n".join(self.question(rng))
            case "story":
                turns = said(first_story(rng, self.held_out))
            case "answer":
                turns = exchange(*self.question(rng))
            case "off topic":
                turns = exchange(*off_topic_question(rng))
            case _:
                turns = self.conversation(rng)
        return chat_text(with_system(turns, rng))

    def question(self, rng: random.Random) -> tuple[str, str]:
        """Draw a question about the course, as typed, and one right answer."""
        fact = rng.choice(answerable(self.held_out))
        question = rng.choice(phrasings(fact, self.held_out))
        return typed(question, rng), rng.choice(fact.answers)

    def conversation(self, rng: random.Random) -> list[Turn]:
        """Write a chat of two to four exchanges."""
        turns: list[Turn] = []
        told: Telling | None = None
        for _ in range(rng.choice((2, 2, 3, 3, 4))):
            chance = rng.random()
            if told is not None and chance < 0.35:
                turns += exchange(*recall(told.cast, rng))
            elif told is not None and chance < 0.65:
                told = next_story(told, rng, self.held_out)
                turns += said(told)
            elif chance < 0.70:
                told = first_story(rng, self.held_out)
                turns += said(told)
            elif chance < 0.95:
                turns += exchange(*self.question(rng))
            else:
                turns += exchange(*off_topic_question(rng))
        return turns


def off_topic_question(rng: random.Random) -> tuple[str, str]:
    """Draw a question that the model cannot answer, as typed, and the reply."""
    question, answer = ask_off_topic(rng)
    return typed(question, rng), answer


def said(telling: Telling) -> list[Turn]:
    """Make two turns of a request and its story."""
    return exchange(telling.request, telling.story)
