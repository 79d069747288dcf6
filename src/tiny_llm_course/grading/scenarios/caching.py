"""Calls of a key/value cache: filled in pieces, or watched for copying."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import mlx.core as mx

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call, show
from tiny_llm_course.grading.judgement.memory import peak_bytes
from tiny_llm_course.solution import Solution

CACHE = "kv_cache.TinyKvFullCache"

Part = Literal["keys", "values", "length", "mask", "offset"]


def compositions(total: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to cut `total` tokens into pieces, the whole one first."""
    for num_cuts in range(total):
        for cuts in itertools.combinations(range(1, total), num_cuts):
            bounds = (0, *cuts, total)
            yield tuple(stop - start for start, stop in itertools.pairwise(bounds))


@dataclass(frozen=True)
class Filling(Call):
    """A cache that gets keys and values in pieces, and one of its outputs.

    Attributes:
        args: Keys and values, B x H x S x D, and what else `update_and_fetch` takes.
        pieces: How many tokens it gets at a time.
        part: What is judged: one of the returned arrays, or the `offset`.
        of_piece: The piece that it is returned for. It is compared after the last
            piece.
        num_others: How many caches of the same class are filled before.
    """

    pieces: tuple[int, ...] = ()
    part: Part = "keys"
    of_piece: int = -1
    num_others: int = 0

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a solution returns
        """Fill the caches, and return the part of the last one."""
        make = solution.get(self.symbol)
        *others, cache = (make() for _ in range(self.num_others + 1))
        for other in others:
            self._filled(other)
        outputs = self._filled(cache)
        if self.part == "offset":
            return cache.offset
        parts = ("keys", "values", "length", "mask")
        return outputs[self.of_piece][parts.index(self.part)]

    def _filled(self, cache: Any) -> list[Any]:  # noqa: ANN401 - of a solution
        """Pass every piece to a cache, and return its outputs."""
        keys, values, *rest = self.args
        outputs: list[Any] = []
        for start, stop in _bounds(self.pieces):
            new = keys[:, :, start:stop], values[:, :, start:stop]
            outputs.append(cache.update_and_fetch(*new, *rest, **self.kwargs))
            mx.eval(*outputs[-1][:2])
        return outputs

    def __str__(self) -> str:
        """Write the calls as one, with the pieces."""
        part = say("grading.parts_of", part=self.part)
        what = "offset" if self.part == "offset" else part
        keys, values = self.args[:2]
        return (
            f"TinyKvFullCache(): {what}, {show(keys)} and {show(values)} "
            f"{in_pieces(self.pieces)}"
        )


@dataclass(frozen=True)
class CopyCount(Call):
    """A cache that gets one token after another; counts how often it copies itself.

    Counts the tokens for which MLX allocates half the keys' memory or more, after all
    arrays of the step before were freed. Nothing is timed.

    Attributes:
        args: A key and a value, B x H x 1 x D.
        num_before: How many tokens come before the first that is counted.
        num_counted: How many tokens are counted.
    """

    num_before: int = 512
    num_counted: int = 64

    def run(self, solution: Solution) -> int:
        """Return for how many of the tokens the cache copied itself."""
        key, value = self.args
        cache = solution.get(self.symbol)()
        first = [mx.repeat(one, self.num_before, axis=2) for one in (key, value)]
        mx.eval(*cache.update_and_fetch(*first)[:2])
        limit_bytes = first[0].nbytes / 2
        del first
        grown = [_allocated_bytes(cache, key, value) for _ in range(self.num_counted)]
        return sum(one >= limit_bytes for one in grown)

    def __str__(self) -> str:
        """Describe what is counted."""
        names = {"number": self.num_counted, "before": self.num_before}
        return say("grading.one_at_a_time", **names)


def _allocated_bytes(
    cache: Any,  # noqa: ANN401 - of a solution
    key: mx.array,
    value: mx.array,
) -> int:
    """Add one token, and return the peak memory of that beyond what was held."""
    return peak_bytes(lambda: mx.eval(*cache.update_and_fetch(key, value)[:2]))


@dataclass(frozen=True)
class InPieces(Call):
    """An input that is passed piece by piece to a part of a model with caches.

    Attributes:
        args: The input, with its tokens along axis 1, and the arguments after the
            cache.
        pieces: The number of tokens in each piece.
        num_caches: The number of caches passed as a list. None passes a single one.
        cached_heads: Is filled with the number of heads of everything that is cached.
    """

    pieces: tuple[int, ...] = ()
    num_caches: int | None = None
    cached_heads: list[int] = field(default_factory=list[int])

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a solution returns
        """Return the output of the last call. Each call has new caches."""
        target = solution.get(self.symbol)(*(self.build or ()), **self.named)
        calls = (*self.earlier, *[self.args] * self.times)
        return [self._shown(target, solution, args) for args in calls][-1]

    def _shown(
        self,
        target: Any,  # noqa: ANN401 - of a solution
        solution: Solution,
        args: tuple[Any, ...],
    ) -> Any:  # noqa: ANN401
        """Return the outputs side by side, or the first one that has a wrong shape."""
        caches = [self._cache(solution) for _ in range(self.num_caches or 1)]
        outputs: list[mx.array] = []
        for start, stop in _bounds(self.pieces):
            piece = args[0][:, start:stop]
            cache = caches[0] if self.num_caches is None else caches
            output = target(piece, start, cache, *args[1:], **self.kwargs)
            if not isinstance(output, mx.array) or output.shape[:2] != piece.shape[:2]:
                return output
            mx.eval(output)
            outputs.append(output)
        return mx.concatenate(outputs, axis=1)

    def _cache(self, solution: Solution) -> Any:  # noqa: ANN401 - of a solution
        """Make a cache that records how many heads it gets."""
        own, cached_heads = solution.get(CACHE), self.cached_heads

        class Watched(own):
            def update_and_fetch(
                self,
                key: mx.array,
                *args: Any,  # noqa: ANN401 - of the solution, handed on
                **more: Any,  # noqa: ANN401
            ) -> Any:  # noqa: ANN401
                cached_heads.append(key.shape[1])
                return super().update_and_fetch(key, *args, **more)

        return Watched()

    def __str__(self) -> str:
        """Write the calls as one, with the pieces."""
        return f"{super().__str__()} {in_pieces(self.pieces)}"


@dataclass(frozen=True)
class Attribute(Call):
    """An attribute of an object of a class: `method` is its name."""

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a solution returns
        """Return the attribute."""
        return getattr(solution.get(self.symbol)(*(self.build or ())), self.method)

    def __str__(self) -> str:
        """Write it as code."""
        return super().__str__().removesuffix("()")


def in_pieces(pieces: tuple[int, ...]) -> str:
    """Describe how an input is cut."""
    return say("grading.in_pieces", sizes=", ".join(map(str, pieces)))


def _bounds(pieces: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Yield where each piece begins and ends."""
    return itertools.pairwise(itertools.accumulate(pieces, initial=0))
