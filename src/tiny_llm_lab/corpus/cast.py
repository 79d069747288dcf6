"""The cast and place of a story: the words that fill the slots of its sentences."""

import random
from dataclasses import dataclass
from functools import cache
from typing import Any

from tiny_llm_lab.corpus.grammar import capitalised, read_toml, with_article
from tiny_llm_lab.corpus.split import is_held_out

HELD_OUT_PAIRS = 12  # one in so many (animal, place) pairs
MADE_UP_NAMES = 0.3  # share of names put together from syllables


@dataclass(frozen=True)
class Place:
    """Where a story happens, and what is found there."""

    name: str
    where: str
    spots: tuple[str, ...]
    sights: tuple[str, ...]
    foods: tuple[str, ...]
    materials: tuple[str, ...]
    indoors: bool


@dataclass(frozen=True)
class Cast:
    """Everything that a story and its request can name."""

    animal: str
    name: str
    girl: bool
    trait: str
    friend_animal: str
    friend: str
    friend_girl: bool
    thing: str
    place: Place
    spots: tuple[str, str]
    sight: str
    food: str
    material: str

    def slots(self) -> dict[str, str]:
        """Spell out the words for the slots of the templates."""
        first, second = self.spots
        a_friend = with_article(self.friend_animal)
        words = {
            "animal": self.animal,
            "an_animal": with_article(self.animal),
            "name": self.name,
            "trait": self.trait,
            "a_trait": with_article(self.trait),
            "friend": self.friend,
            "friend_animal": self.friend_animal,
            "a_friend": a_friend,
            "A_friend": capitalised(a_friend),
            "thing": self.thing,
            "a_thing": with_article(self.thing),
            "place": self.place.name,
            "where": self.place.where,
            "where_cap": capitalised(self.place.where),
            "spot": first,
            "Spot": capitalised(first),
            "spot2": second,
            "Spot2": capitalised(second),
            "sight": self.sight,
            "food": self.food,
            "material": self.material,
            "moved": movement()[self.animal],
            "fmoved": movement()[self.friend_animal],
        }
        return words | pronouns("", self.girl) | pronouns("f", self.friend_girl)


def pronouns(prefix: str, girl: bool) -> dict[str, str]:
    """Give the pronouns of one animal, with and without a capital."""
    he, his, him = ("she", "her", "her") if girl else ("he", "his", "him")
    small = {f"{prefix}he": he, f"{prefix}his": his, f"{prefix}him": him}
    return small | {capitalised(key): capitalised(word) for key, word in small.items()}


@cache
def world() -> dict[str, Any]:
    """Read animals, names and things."""
    return read_toml("world.toml")


@cache
def movement() -> dict[str, str]:
    """Return each animal's verb of movement: "frog" has "hopped"."""
    moves: dict[str, list[str]] = world()["moves"]
    return {animal: verb for verb, animals in moves.items() for animal in animals}


@cache
def animals() -> tuple[str, ...]:
    """List the animals, in alphabetical order."""
    return tuple(sorted(movement()))


@cache
def places() -> tuple[Place, ...]:
    """Read the places."""
    return tuple(
        Place(
            entry["name"],
            entry["where"],
            tuple(entry["spots"]),
            tuple(entry["sights"]),
            tuple(entry["foods"]),
            tuple(entry["materials"]),
            entry.get("indoors", False),
        )
        for entry in world()["place"]
    )


@cache
def pair_is_held_out(animal: str, place: str) -> bool:
    """Say whether no training document has this animal in this place."""
    return is_held_out(f"{animal} {place}", HELD_OUT_PAIRS)


@cache
def pairs(
    held_out: bool, animal: str | None = None, place: Place | None = None
) -> tuple[tuple[str, Place], ...]:
    """List the (animal, place) pairs of training, or those kept out of it.

    Args:
        held_out: Which of the two.
        animal: Only pairs of this animal, where it is given.
        place: Only pairs of this place, where it is given.
    """
    return tuple(
        (hero, home)
        for hero in animals()
        for home in places()
        if pair_is_held_out(hero, home.name) == held_out
        and animal in (None, hero)
        and place in (None, home)
    )


@cache
def companions(animal: str, place: Place) -> tuple[str, ...]:
    """List the animals that `animal` can meet: never in a held-out pair."""
    return tuple(
        other
        for other in animals()
        if other != animal and not pair_is_held_out(other, place.name)
    )


def draw_name(rng: random.Random) -> tuple[str, bool]:
    """Draw a name and whether it is a girl's."""
    girl = rng.random() < 0.5
    if rng.random() < MADE_UP_NAMES:
        length = rng.choice((2, 2, 3))
        made_up = "".join(rng.choice(world()["syllables"]) for _ in range(length))
        return made_up.capitalize(), girl
    return rng.choice(world()["girls" if girl else "boys"]), girl


def draw_cast(
    rng: random.Random,
    held_out: bool,
    animal: str | None = None,
    place: Place | None = None,
) -> Cast:
    """Draw a cast; `held_out`, `animal` and `place` limit it as they limit `pairs`."""
    hero, home = rng.choice(pairs(held_out, animal, place))
    name, girl = draw_name(rng)
    friend, friend_girl = draw_name(rng)
    while friend == name:
        friend, friend_girl = draw_name(rng)
    first, second = rng.sample(home.spots, 2)
    return Cast(
        animal=hero,
        name=name,
        girl=girl,
        trait=rng.choice(world()["traits"]),
        friend_animal=rng.choice(companions(hero, home)),
        friend=friend,
        friend_girl=friend_girl,
        thing=f"{rng.choice(world()['colours'])} {rng.choice(world()['things'])}",
        place=home,
        spots=(first, second),
        sight=rng.choice(home.sights),
        food=rng.choice(home.foods),
        material=rng.choice(home.materials),
    )
