"""A memory that counts places in place of keeping keys, for a scheduler to ask."""

from typing import Any

from tiny_llm_course.catalogue import say

SAID = "week_3_day_2.room"

Request = Any
"""A request of the solution under test."""


class Room:
    """Room for some tokens, which refuses what breaks the contract of a memory.

    Attributes:
        held: The tokens of each request whose keys and values are there.
        places: Up to which token each request has room.
        taken: Who was given room, each time.
        freed: Who has given it back, each time.
        num_refusals: How often `may_append` has said no.
        noted: How far each request was computed when `hash_blocks` was called last.

    Args:
        num_places: How many tokens there is room for. None is endless.
        num_shared: How many tokens of each request are found when it is admitted. They
            need no places of their own, and need not be computed.
        num_found_again: How many are found if it was admitted before.
    """

    def __init__(
        self, num_places: int | None, num_shared: int = 0, num_found_again: int = 0
    ) -> None:
        self.held = dict[str, list[int]]()
        self.places = dict[str, int]()
        self.taken = list[str]()
        self.freed = list[str]()
        self.num_refusals = 0
        self.noted = dict[str, int]()
        self._num_places = num_places
        self._num_shared = num_shared
        self._num_found_again = num_found_again
        self._own = dict[str, int]()

    @property
    def is_endless(self) -> bool:
        """Whether nobody has to ask for room."""
        return self._num_places is None

    @property
    def num_free(self) -> int:
        """How many places nobody has taken."""
        return (self._num_places or 0) - sum(self._own.values())

    def can_allocate(self, request: Request) -> bool:
        """Tell whether all tokens that a request has now would fit."""
        return len(request.tokens) - self._num_found(request) <= self.num_free

    def allocate(self, request: Request) -> None:
        """Take places for them, but for those that are found."""
        num_tokens, num_found = len(request.tokens), self._num_found(request)
        if request.id in self.places:
            raise ValueError(say(f"{SAID}.allocated_twice", name=request.id))
        if num_tokens - num_found > self.num_free:
            names = {"name": request.id, "tokens": num_tokens, "free": self.num_free}
            raise ValueError(say(f"{SAID}.allocated_too_much", **names))
        self.taken.append(request.id)
        self.places[request.id] = num_tokens
        self._own[request.id] = num_tokens - num_found
        self.held[request.id] = request.tokens[:num_found]
        if num_found:
            request.num_computed = num_found

    def may_append(self, request: Request, num_tokens: int) -> bool:
        """Take the places that some more tokens need, if there are as many."""
        if request.id not in self.places:
            raise ValueError(say(f"{SAID}.appended_to_nothing", name=request.id))
        missing = request.num_computed + num_tokens - self.places[request.id]
        if missing > self.num_free:
            self.num_refusals += 1
            return False
        self.places[request.id] += max(missing, 0)
        self._own[request.id] += max(missing, 0)
        return True

    def deallocate(self, request: Request) -> None:
        """Free the places of a request."""
        if request.id not in self.places:
            raise ValueError(say(f"{SAID}.freed_twice", name=request.id))
        self.freed.append(request.id)
        del self.places[request.id], self._own[request.id], self.held[request.id]

    def hash_blocks(self, request: Request) -> None:
        """Note how far a request is computed."""
        if request.id not in self.places:
            raise ValueError(say(f"{SAID}.noted_too_late", name=request.id))
        self.noted[request.id] = request.num_computed

    def _num_found(self, request: Request) -> int:
        """Return how many tokens are found: never all, so that one is computed."""
        is_again = request.id in self.taken
        found = self._num_found_again if is_again else self._num_shared
        return min(found, len(request.tokens) - 1)
