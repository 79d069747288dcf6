"""Short stories: a plot, told in sentences chosen at random."""

import random
from dataclasses import dataclass
from functools import cache
from math import prod

from tiny_llm_lab.corpus.cast import Cast, animals, places
from tiny_llm_lab.corpus.grammar import count, expand, read_toml, slots_of

PARAGRAPHS = 0.4  # share of stories in two paragraphs
SCENE = 0.6  # share of stories with a sentence on the weather or the place


@dataclass(frozen=True)
class Plot:
    """A plot: beats, each with several sentences to choose from."""

    name: str
    themes: tuple[str, ...]
    beats: tuple[tuple[str, ...], ...]
    outdoors: bool

    def always_names(self, slot: str) -> bool:
        """Say whether every story of this plot has the word for `slot`."""
        return any(
            all(slot in slots_of(sentence) for sentence in beat) for beat in self.beats
        )

    def num_tellings(self) -> int:
        """Count the ways to tell this plot to one cast."""
        return prod(sum(count(sentence) for sentence in beat) for beat in self.beats)


@cache
def plots() -> tuple[Plot, ...]:
    """Read the plots."""
    return tuple(
        Plot(
            entry["name"],
            tuple(entry["themes"]),
            tuple(tuple(beat) for beat in entry["beats"]),
            entry.get("outdoors", False),
        )
        for entry in read_toml("plots.toml")["plot"]
    )


@cache
def beginnings() -> dict[str, list[str]]:
    """Read how a story begins: the first sentence, and one on the scene."""
    text = read_toml("plots.toml")
    return {kind: text[kind] for kind in ("opening", "outdoors", "indoors")}


@cache
def fitting_plots(
    indoors: bool, named: frozenset[str] = frozenset(), theme: str | None = None
) -> tuple[Plot, ...]:
    """List the plots that satisfy a request.

    Args:
        indoors: Whether the story happens under a roof, where no storm can reach it.
        named: The slots whose words have to be in the story.
        theme: What the story has to be about, if anything.
    """
    return tuple(
        plot
        for plot in plots()
        if not (plot.outdoors and indoors)
        and (theme is None or theme in plot.themes)
        and all(plot.always_names(slot) for slot in named)
    )


def tell(cast: Cast, plot: Plot, rng: random.Random) -> str:
    """Tell one story."""
    slots = cast.slots()
    scene = beginnings()["indoors" if cast.place.indoors else "outdoors"]
    sentences = [expand(rng.choice(beginnings()["opening"]), slots, rng)]
    if rng.random() < SCENE:
        sentences.append(expand(rng.choice(scene), slots, rng))
    told = [expand(rng.choice(beat), slots, rng) for beat in plot.beats]
    if rng.random() < PARAGRAPHS:
        turn = len(told) // 2
        return "\n\n".join([" ".join(sentences + told[:turn]), " ".join(told[turn:])])
    return " ".join(sentences + told)


def num_stories() -> int:
    """Return a lower bound on the number of stories that the grammar can tell.

    Counted are the animals, the places, the openings and the sentences of each plot.
    Left out are names, friends, things, traits, spots, foods, weather and paragraphs.
    """
    openings = sum(count(sentence) for sentence in beginnings()["opening"])
    outdoors = sum(not place.indoors for place in places())
    return sum(
        len(animals())
        * (outdoors if plot.outdoors else len(places()))
        * openings
        * plot.num_tellings()
        for plot in plots()
    )
