"""Requests for stories, follow-ups to a story, and questions about it."""

import random
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from tiny_llm_lab.corpus.cast import (
    Cast,
    Place,
    animals,
    draw_cast,
    pair_is_held_out,
    places,
)
from tiny_llm_lab.corpus.grammar import (
    capitalised,
    expand,
    read_toml,
    slots_of,
)
from tiny_llm_lab.corpus.stories import fitting_plots, tell
from tiny_llm_lab.corpus.typing_style import typed

NO_SUBJECT = 0.05  # share of requests that just want a story
# What a request names by these slots has to be in the story.
KEPT = {"a_friend": "friend", "a_thing": "thing"}


@dataclass(frozen=True)
class Telling:
    """A request for a story, the cast it is about, and the story."""

    request: str
    cast: Cast
    story: str


@cache
def asking() -> dict[str, Any]:
    """Read the ways to ask for a story."""
    return read_toml("stories.toml")


def first_story(rng: random.Random, held_out: bool) -> Telling:
    """Draw a request for a story and tell it."""
    cast = draw_cast(rng, held_out)
    subject = rng.choice(asking()["subjects"])
    if rng.random() < NO_SUBJECT and not held_out:
        subject = ""
    theme = draw_theme(cast.place, rng) if "theme" in slots_of(subject) else None
    named = frozenset(KEPT[slot] for slot in slots_of(subject) & KEPT.keys())
    plot = rng.choice(fitting_plots(cast.place.indoors, named, theme))
    request = rng.choice(asking()["ask" if subject else "ask_anything"])
    slots = cast.slots() | {"theme": theme or ""}
    request = capitalised(request.replace("{s}", expand(subject, slots, rng)))
    return Telling(typed(request, rng), cast, tell(cast, plot, rng))


def draw_theme(place: Place, rng: random.Random) -> str:
    """Draw what a story in `place` can be about."""
    fitting = fitting_plots(place.indoors)
    return rng.choice([theme for plot in fitting for theme in plot.themes])


def next_story(told: Telling, rng: random.Random, held_out: bool) -> Telling:
    """Tell another story that changes only what the request asks to change."""
    change = rng.choice(("again", "animal", "place", "name"))
    cast = next_cast(told.cast, change, rng, held_out)
    key = change if change == "again" else f"again_{change}"
    request = expand(rng.choice(asking()[key]), cast.slots(), rng)
    plot = rng.choice(fitting_plots(cast.place.indoors))
    return Telling(typed(request, rng), cast, tell(cast, plot, rng))


def next_cast(before: Cast, change: str, rng: random.Random, held_out: bool) -> Cast:
    """Draw the cast of a story that follows another one."""
    cast = draw_cast(rng, held_out, before.animal, before.place)
    if change == "animal":
        animal = rng.choice(other_animals(before.place, before.animal, held_out))
        cast = draw_cast(rng, held_out, animal, before.place)
    if change == "place":
        place = rng.choice(other_places(before.animal, before.place, held_out))
        cast = draw_cast(rng, held_out, before.animal, place)
    if change in ("place", "name"):
        cast = replace(cast, name=before.name, girl=before.girl)
    if cast.friend == cast.name:
        cast = replace(cast, friend=before.friend, friend_girl=before.friend_girl)
    return cast


def other_animals(place: Place, but: str, held_out: bool) -> list[str]:
    """List the animals that may be in `place`, the one before if no other may."""
    fitting = [
        animal
        for animal in animals()
        if animal != but and pair_is_held_out(animal, place.name) == held_out
    ]
    return fitting or [but]


def other_places(animal: str, but: Place, held_out: bool) -> list[Place]:
    """List the places where `animal` may be, the one before if no other may."""
    fitting = [
        place
        for place in places()
        if place != but and pair_is_held_out(animal, place.name) == held_out
    ]
    return fitting or [but]


def recall(cast: Cast, rng: random.Random) -> tuple[str, str]:
    """Ask about the story just told, and answer."""
    entry = rng.choice(asking()["recall"])
    slots = cast.slots()
    question = typed(expand(rng.choice(entry["ask"]), slots, rng), rng)
    return question, expand(rng.choice(entry["answers"]), slots, rng)
