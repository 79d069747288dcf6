"""Single caches in pages: filled in pieces, read by their metadata, or watched."""

from dataclasses import dataclass
from typing import Any, Literal

import mlx.core as mx

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call, show
from tiny_llm_course.grading.judgement.memory import peak_bytes
from tiny_llm_course.grading.scenarios.caching import in_pieces
from tiny_llm_course.grading.scenarios.paged_caches import CACHE, POOL
from tiny_llm_course.solution import Solution

Part = Literal["keys", "values", "length", "mask", "offset"]

Way = Literal["fetched", "materialized", "paged"]


@dataclass(frozen=True)
class PagedFilling(Call):
    """A cache that gets keys and values in pieces, and one of its outputs.

    Attributes:
        args: Keys and values, 1 x H_kv x S x D, and what else `update_and_fetch` takes.
        pieces: How many tokens it gets at a time.
        part: What is judged: one of the returned arrays, or the `offset`.
        page_size: Number of tokens in a page.
        num_pages: Of the pool.
        way: How keys and values are read: as they are handed out, all at the end, or
            by whoever gets the metadata.
        block_table: The pages, if they are somebody else's. It grows with the text.
        num_before: How many tokens another cache has written into these pages.
    """

    pieces: tuple[int, ...] = ()
    part: Part = "keys"
    page_size: int = 4
    num_pages: int | None = None
    way: Way = "fetched"
    block_table: tuple[int, ...] | None = None
    num_before: int = 0

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a solution returns
        """Fill a cache, and return the part."""
        pool = solution.get(POOL)(self.page_size, self.num_pages)
        table, start = self._table(self.num_before), self.num_before
        pages = () if table is None else (table,)
        cache = solution.get(CACHE)(pool, *pages)
        if start:
            cache.update_and_fetch(*(one[:, :, :start] for one in self.args[:2]))
            cache = solution.get(CACHE)(pool, *pages, start)
        output: Any = None
        for length in self.pieces:
            if table is not None:
                table[:] = self._table(start + length) or []
            new = [one[:, :, start : start + length] for one in self.args[:2]]
            output = self._update(cache, new)
            start += length
        if self.part == "offset":
            return cache.offset
        if self.way == "materialized":
            output = cache.materialize()
        if self.way == "paged":
            output = _gathered(output, self.page_size)
        return output[("keys", "values", "length", "mask").index(self.part)]

    def _update(self, cache: Any, new: list[mx.array]) -> Any:  # noqa: ANN401
        """Add a piece to a cache, and return what comes back."""
        if self.way == "paged":
            return cache.update_and_fetch_paged(*new)
        output = cache.update_and_fetch(*new, *self.args[2:], **self.kwargs)
        mx.eval(*output[:2])
        return output

    def _table(self, num_tokens: int) -> list[int] | None:
        """Return the pages that somebody else has taken for so many tokens."""
        if self.block_table is None:
            return None
        return list(self.block_table[: -(-num_tokens // self.page_size)])

    def __str__(self) -> str:
        """Write the calls as one, with the pieces."""
        part = say("grading.parts_of", part=self.part)
        what = "offset" if self.part == "offset" else part
        more = "" if self.block_table is None else f", {list(self.block_table)}"
        if self.num_before:
            more += f", offset={self.num_before}"
        lines = [
            f"pool = TinyKvPagedPool({self.page_size}, {self.num_pages})",
            f"TinyKvPagedCache(pool{more}): {what}, "
            f"{show(self.args[0])} {in_pieces(self.pieces)}",
        ]
        return "\n".join(lines)


def _gathered(metadata: Any, page_size: int) -> list[mx.array]:  # noqa: ANN401
    """Read keys and values as attention would: with the metadata and nothing else."""
    num_tokens = int(metadata.context_lens[0].item())
    pages = metadata.block_table[0].tolist()
    slots = [divmod(position, page_size) for position in range(num_tokens)]
    return [
        mx.stack([every[pages[i], :, slot] for i, slot in slots], axis=1)[None]
        for every in (metadata.key_pages, metadata.value_pages)
    ]


@dataclass(frozen=True)
class Facts(Call):
    """What the metadata of a cache says, arrays as lists and dtypes by their names.

    Attributes:
        args: Keys and values that it gets, 1 x H_kv x S x D.
        pool: What the pool is made with.
        block_table: The pages, if they are somebody else's.
        num_first: How many of the tokens come in a call before. 0: all in one.
    """

    pool: tuple[int, ...] = (4, 8)
    block_table: tuple[int, ...] = ()
    num_first: int = 0

    def run(self, solution: Solution) -> dict[str, Any]:
        """Fill a cache, and return the facts that nobody is free to choose."""
        pool = solution.get(POOL)(*self.pool)
        pages = (list(self.block_table),) if self.block_table else ()
        cache = solution.get(CACHE)(pool, *pages)
        if self.num_first:
            first = [one[:, :, : self.num_first] for one in self.args]
            cache.update_and_fetch_paged(*first)
        rest = [one[:, :, self.num_first :] for one in self.args]
        found = cache.update_and_fetch_paged(*rest)
        used = [page for page in found.block_table[0].tolist() if page >= 0]
        return {
            "key_pages": found.key_pages.shape,
            "value_pages": found.value_pages.shape,
            "block_table": show(found.block_table[:, : len(used)]),
            "different_pages": len(set(used)),
            "context_lens": (show(found.context_lens), found.context_lens.tolist()),
            "page_size": found.page_size,
        }

    def __str__(self) -> str:
        """Write the calls as one, with the pieces."""
        pages = f", {list(self.block_table)}" if self.block_table else ""
        first, num_tokens = self.num_first, self.args[0].shape[2]
        pieces = f" {in_pieces((first, num_tokens - first))}" if first else ""
        return (
            f"pool = TinyKvPagedPool({', '.join(map(str, self.pool))})\n"
            f"TinyKvPagedCache(pool{pages}).update_and_fetch_paged("
            f"{show(self.args[0])}, {show(self.args[1])}){pieces}"
        )


@dataclass(frozen=True)
class Growth(Call):
    """How many pages the arrays have while a text without a limit grows.

    Its pages are those of somebody else, from 0 on, so that no pool decides on them.

    Attributes:
        num_pages: Of the text, in the end. Each holds one token.
    """

    num_pages: int = 1

    def run(self, solution: Solution) -> list[int]:
        """Return the number of pages after each token."""
        pool, table = solution.get(POOL)(1), list[int]()
        cache = solution.get(CACHE)(pool, table)
        token, sizes = mx.ones((1, 1, 1, 1)), list[int]()
        for page in range(self.num_pages):
            table.append(page)
            pages = cache.update_and_fetch_paged(token, token).key_pages
            mx.eval(pages)
            sizes.append(pages.shape[0])
        return sizes

    def __str__(self) -> str:
        """Write the calls."""
        return (
            "new = lambda n: [mx.ones((1, 1, n, 1))] * 2\n"
            "table = []\n"
            "cache = TinyKvPagedCache(TinyKvPagedPool(1), table)\n"
            f"{self.num_pages} x: table.append(len(table)); "
            "cache.update_and_fetch_paged(*new(1))"
        )


@dataclass(frozen=True)
class PoolCopies(Call):
    """How much memory it takes to write one token of each of some texts into a pool.

    Attributes:
        args: A key and a value, 1 x H_kv x 1 x D.
        num_pages: Of the pool.
        num_caches: How many texts get a token each before anything is evaluated.
        is_paged: Whether the metadata is asked for, or a copy of all tokens.
    """

    num_pages: int = 1024
    num_caches: int = 1
    is_paged: bool = False

    def run(self, solution: Solution) -> float:
        """Return the peak memory of a step, as a share of the pool's memory."""
        pool = solution.get(POOL)(16, self.num_pages)
        caches = [solution.get(CACHE)(pool) for _ in range(self.num_caches)]
        for _ in range(2):
            self._step(caches)
        _, heads, _, width = self.args[0].shape
        pool_bytes = 2 * self.num_pages * 16 * heads * width * 4
        return peak_bytes(lambda: self._step(caches)) / pool_bytes

    def _step(self, caches: list[Any]) -> None:
        """Give each cache a token, and evaluate what came back in the end."""
        if self.is_paged:
            found = [one.update_and_fetch_paged(*self.args) for one in caches]
            mx.eval([[one.key_pages, one.value_pages] for one in found])
        else:
            mx.eval([one.update_and_fetch(*self.args)[:2] for one in caches])

    def __str__(self) -> str:
        """Write what is watched."""
        name = "update_and_fetch_paged" if self.is_paged else "update_and_fetch"
        return (
            f"pool = TinyKvPagedPool(16, {self.num_pages})\n"
            f"{self.num_caches} x TinyKvPagedCache(pool).{name}"
            f"({show(self.args[0])}, {show(self.args[1])})"
        )
