"""Caches in pages of one pool, beside what each of them has to hold."""

from dataclasses import dataclass
from random import Random
from typing import Any, Literal

import mlx.core as mx
import numpy as np

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.solution import Solution

POOL = "paged_kv_cache.TinyKvPagedPool"
CACHE = "paged_kv_cache.TinyKvPagedCache"

SAID = "week_3_day_3.caches"

Verb = Literal["adds", "rewinds", "releases"]

NUM_STORIES = 80
"""Short ones come first, so that the first that goes wrong is short."""

ADDS, REWINDS = 0.6, 0.9
"""Up to which share of the moves tokens are added, and up to which they are taken."""

HEADS, WIDTH = 2, 3
"""Of the keys and values: H_kv and D."""


@dataclass(frozen=True)
class Move:
    """What happens to a cache, which is made when it is first named.

    Attributes:
        verb: It gets tokens, forgets the last ones, or gives all of its pages back.
        name: Of the cache.
        number: Of tokens.
    """

    verb: Verb
    name: str
    number: int = 0

    @property
    def code(self) -> str:
        """Write it as Python, so that it can be repeated."""
        calls: dict[Verb, str] = {
            "adds": f"update_and_fetch(*new({self.number}))",
            "rewinds": f"rewind({self.number})",
            "releases": "release()",
        }
        return f"{self.name}.{calls[self.verb]}"


def adds(name: str, number: int) -> Move:
    """Let a cache get some tokens."""
    return Move("adds", name, number)


def rewinds(name: str, number: int) -> Move:
    """Let a cache forget its last tokens."""
    return Move("rewinds", name, number)


def releases(name: str) -> Move:
    """Let a cache give its pages back."""
    return Move("releases", name)


class BrokenPromiseError(Exception):
    """What a pool or a cache does not keep. Its text is for the learner."""


@dataclass(frozen=True)
class Held:
    """What came of some moves.

    Attributes:
        moves: Those that were made.
        complaint: What was broken then. Empty if nothing was.
    """

    moves: tuple[Move, ...]
    complaint: str = ""


class Shelf:
    """A pool with caches, which are checked after each move.

    Args:
        solution: Whose they are.
        page_size: Number of tokens in a page.
        num_pages: How many there are. None: as many as are needed.
    """

    def __init__(
        self, solution: Solution, page_size: int, num_pages: int | None
    ) -> None:
        self.pool = solution.get(POOL)(page_size, num_pages)
        self.moves = list[Move]()
        self.right = dict[str, list[mx.array]]()
        self._make_cache = solution.get(CACHE)
        self._caches = dict[str, Any]()
        self._page_size, self._num_pages = page_size, num_pages
        self._num_seen = 0

    def do(self, move: Move) -> None:
        """Make one move.

        Raises:
            BrokenPromiseError: Something does not hold.
        """
        self.moves.append(move)
        if move.name not in self._caches:
            self._caches[move.name] = self._make_cache(self.pool)
            self.right[move.name] = [mx.zeros((1, HEADS, 0, WIDTH))] * 2
        if move.verb == "adds":
            self._add(move.name, move.number)
        elif move.verb == "rewinds":
            self._caches[move.name].rewind(move.number)
            self._shorten(move.name, self.length(move.name) - move.number)
        else:
            self._caches[move.name].release()
            self._shorten(move.name, 0)
        self._check()

    def length(self, name: str) -> int:
        """How many tokens a cache has to hold."""
        return self.right[name][0].shape[2]

    def has_room(self, name: str, number: int) -> bool:
        """Tell whether there are pages for more tokens of a cache."""
        if self._num_pages is None:
            return True
        lengths = {one: self.length(one) for one in self.right}
        lengths[name] = lengths.get(name, 0) + number
        return self._pages_for(lengths) <= self._num_pages

    def _add(self, name: str, number: int) -> None:
        """Add tokens that are like no others, and look at what is handed out."""
        new = [self._drawn(number), self._drawn(number)]
        self.right[name] = [
            mx.concatenate([old, one], axis=2)
            for old, one in zip(self.right[name], new, strict=True)
        ]
        fetched = self._caches[name].update_and_fetch(*new)
        self._compare(name, fetched[:2], "handed_out")
        _claim(fetched[2] == self.length(name), "length")

    def _shorten(self, name: str, length: int) -> None:
        self.right[name] = [one[:, :, :length] for one in self.right[name]]

    def _drawn(self, number: int) -> mx.array:
        first = 1 + self._num_seen
        self._num_seen += HEADS * number * WIDTH
        numbers = mx.arange(first, 1 + self._num_seen, dtype=mx.float32)
        return numbers.reshape(1, HEADS, number, WIDTH)

    def _compare(self, name: str, fetched: Any, key: str) -> None:  # noqa: ANN401
        """Make sure that keys and values are those of a cache, bit for bit."""
        for got, right in zip(fetched, self.right[name], strict=True):
            _claim(got.shape == right.shape, f"{key}_shape")
            _claim(np.array_equal(np.array(got), np.array(right)), key)

    def _check(self) -> None:
        """Make sure that each cache holds its own, and the pool counts its pages."""
        for name, cache in self._caches.items():
            _claim(cache.offset == self.length(name), "offset")
            if self.length(name):
                self._compare(name, cache.materialize(), "held")
        in_use, needed = (
            self.pool.num_in_use,
            self._pages_for({name: self.length(name) for name in self.right}),
        )
        _claim(in_use >= needed, "too_few_in_use")
        _claim(in_use <= needed, "too_many_in_use")
        if self._num_pages is not None:
            _claim(self.pool.num_free + in_use == self._num_pages, "conserved")

    def _pages_for(self, lengths: dict[str, int]) -> int:
        """Return how many pages hold texts of these lengths."""
        return sum(-(-one // self._page_size) for one in lengths.values())


def _claim(claim: bool, key: str) -> None:
    """Raise what the catalogue says under `key` unless `claim` is true."""
    if not claim:
        raise BrokenPromiseError(say(f"{SAID}.{key}"))


@dataclass(frozen=True)
class Sharing(Call):
    """Some caches that share a pool, move by move.

    Attributes:
        args: The size of a page, and how many there are.
        moves: What happens, one after the other.
    """

    moves: tuple[Move, ...] = ()

    def run(self, solution: Solution) -> Held:
        """Make the moves, until one breaks a promise."""
        shelf = Shelf(solution, *self.args)
        try:
            for move in self.moves:
                shelf.do(move)
        except BrokenPromiseError as error:
            return Held(tuple(shelf.moves), str(error))
        return Held(tuple(shelf.moves))

    def __str__(self) -> str:
        """Write the moves as Python."""
        page_size, num_pages = self.args
        names = dict.fromkeys(move.name for move in self.moves)
        return "\n".join(
            [
                f"new = lambda n: [mx.random.normal((1, {HEADS}, n, {WIDTH}))] * 2",
                f"pool = TinyKvPagedPool({page_size}, {num_pages})",
                *(f"{name} = TinyKvPagedCache(pool)" for name in names),
                *(move.code for move in self.moves),
            ]
        )


@dataclass(frozen=True)
class AnySharing(Sharing):
    """Caches with which happens what is drawn from seeds, the same each time."""

    def run(self, solution: Solution) -> Held:
        """Return the first story that breaks a promise, or an empty one."""
        for seed in range(NUM_STORIES):
            shelf = Shelf(solution, *self.args)
            rng = Random(seed)  # noqa: S311 - a story, no secret
            try:
                for _ in range(2 + seed // 8):
                    _go_on(shelf, rng)
            except BrokenPromiseError as error:
                return Held(tuple(shelf.moves), str(error))
        return Held(moves=())


def _go_on(shelf: Shelf, rng: Random) -> None:
    """Let a cache get tokens, or lose some, if it can."""
    name, share = rng.choice("ab"), rng.random()
    if share < ADDS:
        number = rng.randint(1, 5)
        if shelf.has_room(name, number):
            shelf.do(adds(name, number))
    elif name in shelf.right:
        number = rng.randint(0, shelf.length(name))
        shelf.do(rewinds(name, number) if share < REWINDS else releases(name))


def assert_held(grade: Grader, call: Sharing) -> None:
    """Fail at the first move after which a promise does not hold."""
    held: Held = grade.run(call)
    shown = Sharing(call.symbol, call.args, moves=held.moves)
    grade.assert_that(not held.complaint, shown, held.complaint)
