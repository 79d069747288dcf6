"""Mutants of a kernel in C++: all in one text, of which one is chosen while it runs.

To compile takes minutes, to run a test milliseconds. So nothing is replaced: what asks
for the number of a mutant is put between the tokens, as `mutants.h` says. What makes no
program is found by the compiler, and left out.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tiny_llm_lab.mutation.cpp_code import Code, flat, regions
from tiny_llm_lab.mutation.cpp_places import NUMBER, Place, places_of


@dataclass(frozen=True)
class Mutant:
    """One change of a header.

    Attributes:
        number: What is chosen when it is to run.
        key: What tells it from all others, wherever in its header it stands.
    """

    number: int
    key: str


class Header:
    """A header, and the mutants that it may have.

    Args:
        name: What the file is called.
        text: Its content.
        answers: Its functions that a learner writes.
        first_number: Of its mutants.
    """

    def __init__(
        self, name: str, text: str, answers: set[str], first_number: int
    ) -> None:
        self._text = text
        self._places: list[tuple[Place, list[Mutant]]] = []
        number, known = first_number, Counter[str]()
        for region in regions(text, answers):
            for place in places_of(Code(text, region)):
                own: list[Mutant] = []
                for was, becomes in place.changes:
                    line = _line_of(text, place.start)
                    key = f"{name}:{region.name}: {was} -> {becomes} | {line}"
                    known[key] += 1
                    if known[key] > 1:
                        key += f" | {known[key]}"
                    own.append(Mutant(number + len(own), key))
                number += len(own)
                self._places.append((place, own))
        self._dropped: set[int] = set()
        self._inserted: list[tuple[int, int, int]] = []

    @property
    def mutants(self) -> list[Mutant]:
        """All that make a program, as far as is known."""
        kept = (own for _, own in self._places if own[0].number not in self._dropped)
        return [one for own in kept for one in own]

    def text(self) -> str:
        """Return the header with all mutants in it."""
        pieces: list[tuple[int, int, int, str, int]] = []
        for rank, (place, own) in enumerate(self._places):
            first, length = own[0].number, place.end - place.start
            if first not in self._dropped:
                before = place.before.replace(NUMBER, str(first))
                # What is longer begins before, and ends after, what it is around.
                pieces.append((place.start, 1, -length, before, rank))
                pieces.append((place.end, 0, length, place.after, -rank))
        pieces.sort(key=lambda one: (*one[:3], one[4]))
        include = '\n#include "kernels/mutants.h"\n'
        made, done = [], self._text.index("#pragma once") + len("#pragma once")
        made.append(self._text[:done] + include)
        length = len(made[0])
        self._inserted = []
        for at, _, _, inserted, rank in pieces:
            made += [self._text[done:at], inserted]
            length += at - done
            place, own = self._places[abs(rank)]
            if inserted:
                self._inserted.append((length, length + len(inserted), own[0].number))
            length += len(inserted)
            done = at
        return "".join([*made, self._text[done:]])

    def drop(self, offsets: Sequence[int]) -> None:
        """Leave out the mutants that the compiler complains of at places of `text()`.

        Raises:
            ValueError: There is none at one of the places.
        """
        for offset in offsets:
            found = [one for one in self._inserted if one[0] <= offset < one[1]]
            if not found:
                found = [one for one in self._inserted if one[1] <= offset][-1:]
            if not found:
                raise ValueError(f"no mutant stands at {offset}")
            self._dropped.add(found[0][2])


def _line_of(text: str, start: int) -> str:
    """Return the line of a place."""
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", start)
    return flat(text[first:last])
