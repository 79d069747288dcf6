"""Short stories in Chinese, told by a small grammar of their own."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

from tiny_llm_lab.corpus.chats import chat_text, exchange
from tiny_llm_lab.corpus.documents import Document
from tiny_llm_lab.corpus.grammar import count, expand, read_toml
from tiny_llm_lab.corpus.split import is_held_out

HELD_OUT_PAIRS = 12  # one in so many (animal, place) pairs, as in the English corpus
SCENE = 0.6  # share of stories with a sentence on the weather or the place
CHATS = 0.5  # share of stories that answer a request


@cache
def text() -> dict[str, Any]:
    """Read the words and sentences."""
    return read_toml("chinese.toml")


@cache
def animals() -> tuple[tuple[str, str], ...]:
    """List the animals, each after its measure word."""
    return by_measure_word("animals")


def by_measure_word(kind: str) -> tuple[tuple[str, str], ...]:
    """List the nouns of a table, each after its measure word."""
    return tuple((word, noun) for word, nouns in text()[kind].items() for noun in nouns)


def pair_is_held_out(animal: str, where: str) -> bool:
    """Say whether no training document has this animal in this place."""
    return is_held_out(f"{animal} {where}", HELD_OUT_PAIRS)


@cache
def pairs(held_out: bool) -> tuple[tuple[tuple[str, str], int], ...]:
    """List animals with the numbers of places: those of training, or the others."""
    return tuple(
        (animal, number)
        for animal in animals()
        for number, place in enumerate(text()["place"])
        if pair_is_held_out(animal[1], place["where"]) == held_out
    )


def draw_slots(rng: random.Random, held_out: bool) -> dict[str, str]:
    """Draw the words that fill the slots of the sentences."""
    (measure, animal), number = rng.choice(pairs(held_out))
    place = text()["place"][number]
    others = [
        other
        for other in animals()
        if other[1] != animal and not pair_is_held_out(other[1], place["where"])
    ]
    friend_measure, friend_animal = rng.choice(others)
    name, friend = rng.sample(text()["names"], 2)
    spot, spot2 = rng.sample(place["spots"], 2)
    thing_measure, thing = rng.choice(by_measure_word("things"))
    thing = f"{rng.choice(text()['colours'])}{thing}"
    return {
        "animal": animal,
        "an_animal": f"一{measure}{animal}",
        "a_trait": f"一{measure}{rng.choice(text()['traits'])}",
        "name": name,
        "friend": friend,
        "friend_animal": friend_animal,
        "a_friend": f"一{friend_measure}{friend_animal}",
        "thing": thing,
        "a_thing": f"一{thing_measure}{thing}",
        "m_thing": thing_measure,
        "skill": rng.choice(text()["skills"]),
        "where": place["where"],
        "spot": spot,
        "spot2": spot2,
        "sight": rng.choice(place["sights"]),
        "food": rng.choice(place["foods"]),
    }


def tell(slots: dict[str, str], rng: random.Random) -> str:
    """Tell one story."""
    plot = rng.choice(text()["plot"])
    beats = [text()["opening"]]
    beats += [text()["scene"]] if rng.random() < SCENE else []
    sentences = (expand(rng.choice(beat), slots, rng) for beat in beats + plot["beats"])
    return "".join(sentences)


def num_stories() -> int:
    """Return a lower bound on the number of stories, as for the English corpus.

    Counted are the animals, the places, the openings and the sentences of each plot.
    """
    openings = sum(map(count, text()["opening"]))
    tellings = sum(
        prod(sum(map(count, beat)) for beat in plot["beats"]) for plot in text()["plot"]
    )
    return len(animals()) * len(text()["place"]) * openings * tellings


@dataclass(frozen=True)
class ChineseCorpus:
    """All documents that a seed gives: stories, plain or as the answer in a chat."""

    seed: int
    held_out: bool = False

    def documents(self, chunk: int, number: int) -> Iterator[Document]:
        """Yield `number` documents. The same chunk always gives the same ones."""
        rng = random.Random(f"{self.seed} {self.held_out} {chunk} zh")  # noqa: S311
        for _ in range(number):
            slots = draw_slots(rng, self.held_out)
            story = tell(slots, rng)
            if rng.random() >= CHATS:
                yield Document("plain story", story)
                continue
            request = expand(rng.choice(text()["requests"]), slots, rng)
            yield Document("story", chat_text(exchange(request, story)))
