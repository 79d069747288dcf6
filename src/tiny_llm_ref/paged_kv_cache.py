"""Keys and values in pages, which many texts take from one pool as they grow."""

from collections.abc import Iterator
from dataclasses import dataclass

import mlx.core as mx
from jaxtyping import Float, Int32

from . import kernels
from .kv_cache import TinyKvCache
from .masks import Mask


@dataclass(frozen=True)
class PagedKvMetadata:
    """Where attention finds the keys and values of B texts, without copying them.

    Attributes:
        key_pages: The keys of all pages of a layer, of any text.
        value_pages: The values, in the same places.
        block_table: The pages of each text in the order of its tokens. -1 stands for
            none, where another text has more.
        context_lens: How many tokens each text has. What its last page holds after
            them belongs to nobody.
        page_size: Number P of tokens in a page.
    """

    key_pages: Float[mx.array, "N H_kv P D"]
    value_pages: Float[mx.array, "N H_kv P D"]
    block_table: Int32[mx.array, "B M"]
    context_lens: Int32[mx.array, " B"]
    page_size: int


class TinyKvPagedPool:
    """Own the pages of one layer: two arrays, and a list of the pages that are free.

    Page i is place i of `key_pages` and of `value_pages`, which are N x H_kv x P x D.
    Both are made at the first write, when their shapes are known.

    Attributes:
        page_size: Number P of tokens in a page.

    Args:
        page_size: Number P of tokens in a page.
        num_pages: How many pages there are. None: as many as are asked for, in arrays
            that double.
    """

    def __init__(self, page_size: int = 16, num_pages: int | None = None) -> None:
        self.page_size = page_size
        # Public for the operation on a whole layer, which writes into them itself.
        self.pages = _Pages(page_size, num_pages or 0)
        self._may_grow = num_pages is None
        self._num_pages = num_pages or 0
        self._free = list(range(self._num_pages))
        self._in_use: set[int] = set()

    @property
    def key_pages(self) -> Float[mx.array, "N H_kv P D"] | None:
        """The keys of all pages. None until the first write."""
        return self.pages.keys

    @property
    def value_pages(self) -> Float[mx.array, "N H_kv P D"] | None:
        """The values of all pages. None until the first write."""
        return self.pages.values

    @property
    def num_free(self) -> int:
        """How many pages can be taken before the pool is empty, or grows."""
        return len(self._free)

    @property
    def num_in_use(self) -> int:
        """How many pages have been taken and not been given back."""
        return len(self._in_use)

    def allocate(self) -> int:
        """Take a page that nobody has, and return its number.

        What it holds is left over from whoever had it before.

        Raises:
            ValueError: All pages are in use, and the pool may not grow.
        """
        if not self._free:
            self._grow()
        page = self._free.pop()
        self._in_use.add(page)
        return page

    def free(self, page: int) -> None:
        """Give a page back.

        Raises:
            ValueError: Nobody has this page: it was given back before, or never taken.
        """
        if page not in self._in_use:
            raise ValueError(
                f"TinyKvPagedPool.free: expected a page in use, got {page}; "
                "give each page back once"
            )
        self._in_use.remove(page)
        self._free.append(page)

    def _grow(self) -> None:
        """Add as many pages as there are, 16 at least."""
        if not self._may_grow:
            raise ValueError(
                "TinyKvPagedPool.allocate: expected a free page, got none of "
                f"{self._num_pages}; release a cache first"
            )
        num_pages = max(16, 2 * self._num_pages)
        self._free = list(range(self._num_pages, num_pages))
        self._num_pages = num_pages


class TinyKvPagedCache(TinyKvCache):
    """Remember every token of one text, in pages of a pool.

    Without a block table of somebody else's it takes pages from the pool when it needs
    them, and gives them back. With one it only writes and reads there: the list may
    grow between two calls, and its owner decides on the pages.

    Attributes:
        offset: Number of tokens that it holds, and so the position of the next one.
        pool: The pages of this layer.
        block_table: The pages of the text in the order of its tokens.

    Args:
        pool: Where the pages are. All caches of a layer have it in common.
        block_table: Pages that somebody else takes and gives back. None: its own.
        offset: How many tokens these pages hold already.
    """

    def __init__(
        self,
        pool: TinyKvPagedPool,
        block_table: list[int] | None = None,
        offset: int = 0,
    ) -> None:
        self.pool = pool
        self.block_table = [] if block_table is None else block_table
        self.offset = offset
        # Public for the operation on a whole layer, which takes pages itself.
        self.owns_pages = block_table is None

    def update_and_fetch(
        self,
        key: Float[mx.array, "B H_kv L D"],
        value: Float[mx.array, "B H_kv L D"],
        mask_length: int | None = None,
        mask: Mask = None,
    ) -> tuple[Float[mx.array, "B H_kv S D"], Float[mx.array, "B H_kv S D"], int, Mask]:
        """Add the keys and values of L new tokens, and hand out those of all tokens.

        Args:
            key: Keys of the new tokens, already rotated. B is 1.
            value: Values of the new tokens.
            mask_length: Not used: this cache makes no mask.
            mask: Handed back as it is: no token is forgotten, so none has to be hidden.

        Returns:
            The keys and the values of all S tokens, copied out of the pages, the number
            S, and the mask.

        Raises:
            ValueError: B is not 1, or there are not enough pages.
        """
        del mask_length
        self._write(key, value)
        keys, values = self.materialize()
        return keys, values, self.offset, mask

    def update_and_fetch_paged(
        self, key: Float[mx.array, "B H_kv L D"], value: Float[mx.array, "B H_kv L D"]
    ) -> PagedKvMetadata:
        """Add the keys and values of L new tokens, and say where those of all are.

        Args:
            key: Keys of the new tokens, already rotated. B is 1.
            value: Values of the new tokens.

        Returns:
            The pages, and one row that says which of them are this text's. Nothing is
            copied.

        Raises:
            ValueError: B is not 1, or there are not enough pages.
        """
        self._write(key, value)
        assert self.pool.key_pages is not None
        assert self.pool.value_pages is not None
        return PagedKvMetadata(
            key_pages=self.pool.key_pages,
            value_pages=self.pool.value_pages,
            block_table=mx.array([self.block_table], mx.int32),
            context_lens=mx.array([self.offset], mx.int32),
            page_size=self.pool.page_size,
        )

    def materialize(
        self,
    ) -> tuple[Float[mx.array, "1 H_kv S D"], Float[mx.array, "1 H_kv S D"]]:
        """Copy the keys and values of all S tokens out of the pages, side by side."""
        return self.pool.pages.read(self.block_table, self.offset)

    def rewind(self, n: int) -> None:
        """Forget the last `n` tokens. Pages of its own that are empty are given back.

        Raises:
            ValueError: There are not so many tokens.
        """
        if not 0 <= n <= self.offset:
            raise ValueError(
                f"TinyKvPagedCache.rewind: expected 0 to {self.offset} tokens, got {n}"
            )
        self.offset -= n
        if self.owns_pages:
            num_needed = _num_pages(self.offset, self.pool.page_size)
            while len(self.block_table) > num_needed:
                self.pool.free(self.block_table.pop())

    def release(self) -> None:
        """Forget all tokens, and give all pages of its own back."""
        self.rewind(self.offset)

    def _write(
        self, key: Float[mx.array, "B H_kv L D"], value: Float[mx.array, "B H_kv L D"]
    ) -> None:
        """Write new tokens behind the others, into pages that are there for them."""
        if key.shape[0] != 1:
            raise ValueError(
                f"TinyKvPagedCache: expected one text, got keys of shape {key.shape}; "
                "make a cache for each"
            )
        stop = self.offset + key.shape[2]
        self._make_room(_num_pages(stop, self.pool.page_size))
        self.pool.pages.write(self.block_table, self.offset, key, value)
        self.offset = stop

    def _make_room(self, num_pages: int) -> None:
        """Take pages until there are `num_pages`, or refuse if they are another's."""
        if not self.owns_pages and len(self.block_table) < num_pages:
            raise ValueError(
                f"TinyKvPagedCache: expected {num_pages} pages in the block table, got "
                f"{len(self.block_table)}; its owner has to append them first"
            )
        while len(self.block_table) < num_pages:
            self.block_table.append(self.pool.allocate())


class _Pages:
    """The keys and values of all pages, in two arrays N x H_kv x P x D.

    MLX writes in place when nobody else holds the array, and otherwise into a copy of
    all pages. So whoever reads them is done before the next write. Whether kernels are
    going to read them is asked once, as for `TinyKvFullCache`.
    """

    def __init__(self, page_size: int, num_pages: int) -> None:
        self.keys: Float[mx.array, "N H_kv P D"] | None = None
        self.values: Float[mx.array, "N H_kv P D"] | None = None
        self._page_size = page_size
        self._num_pages = num_pages
        self._are_for_kernels = kernels.are_on()

    def write(
        self,
        block_table: list[int],
        start: int,
        key: Float[mx.array, "1 H_kv L D"],
        value: Float[mx.array, "1 H_kv L D"],
    ) -> None:
        """Write the keys and values of L new tokens of a text into its pages.

        Args:
            block_table: The pages of the text, enough for the new tokens.
            start: The position of the first of them.
            key: Keys of the new tokens. The first ones decide on the dtype.
            value: Values of the new tokens.
        """
        keys, values = self.lend(key, value, 1 + max(block_table))
        for index, slots, new in _runs(start, start + key.shape[2], self._page_size):
            page = block_table[index]
            keys[page, :, slots] = key[0, :, new]
            values[page, :, slots] = value[0, :, new]
        self.take_back(keys, values)

    def read(
        self, block_table: list[int], num_tokens: int
    ) -> tuple[Float[mx.array, "1 H_kv S D"], Float[mx.array, "1 H_kv S D"]]:
        """Copy the keys and values of the first S tokens of a text out of its pages.

        They are computed at once: a copy that is still to be made would hold the
        arrays, and the next write would have to copy all pages.

        Args:
            block_table: The pages of the text.
            num_tokens: How many tokens S it has.
        """
        assert self.keys is not None
        assert self.values is not None
        num_pages = _num_pages(num_tokens, self._page_size)
        table = mx.array(block_table[:num_pages], mx.int32)
        keys = _side_by_side(self.keys[table])[:, :, :num_tokens]
        values = _side_by_side(self.values[table])[:, :, :num_tokens]
        mx.eval(keys, values)
        return keys, values

    def lend(
        self,
        key: Float[mx.array, "1 H_kv L D"],
        value: Float[mx.array, "1 H_kv L D"],
        num_pages: int,
    ) -> tuple[Float[mx.array, "N H_kv P D"], Float[mx.array, "N H_kv P D"]]:
        """Hand out both arrays, with `num_pages` pages at least, to be written into.

        Args:
            key: Only its dtype and shape count: it says how long the axes of heads and
                channels are.
            value: In the same way.
            num_pages: How many pages are needed.
        """
        num_pages = max(num_pages, self._num_pages)
        shape = (num_pages, key.shape[1], self._page_size, key.shape[3])
        return (
            self._longer(self.keys, shape, key.dtype),
            self._longer(self.values, shape, value.dtype),
        )

    def take_back(
        self, keys: Float[mx.array, "N H_kv P D"], values: Float[mx.array, "N H_kv P D"]
    ) -> None:
        """Keep both arrays, with what has been written into them."""
        self.keys, self.values = keys, values

    def _longer(
        self, pages: mx.array | None, shape: tuple[int, ...], dtype: mx.Dtype
    ) -> mx.array:
        """Return an array with pages enough, in memory that kernels read faster."""
        longer = _with_pages(pages, shape, dtype)
        if self._are_for_kernels and longer is not pages:
            kernels.advise_huge_pages(longer)
        return longer


def _num_pages(num_tokens: int, page_size: int) -> int:
    """Return how many pages hold so many tokens: the last one may have room left."""
    return (num_tokens + page_size - 1) // page_size


def _with_pages(
    pages: Float[mx.array, "N H_kv P D"] | None,
    shape: tuple[int, ...],
    dtype: mx.Dtype,
) -> Float[mx.array, "N2 H_kv P D"]:
    """Return `pages` if there are enough, and otherwise a longer array with them.

    Args:
        pages: None if there are none yet.
        shape: Of an array that has enough.
        dtype: Of the first one.
    """
    if pages is None:
        return mx.zeros(shape, dtype)
    num_pages = pages.shape[0]
    if num_pages >= shape[0]:
        return pages
    num_more = max(shape[0], 2 * num_pages) - num_pages
    more = mx.zeros((num_more, *pages.shape[1:]), pages.dtype)
    return mx.concatenate([pages, more])


def _runs(start: int, stop: int, page_size: int) -> Iterator[tuple[int, slice, slice]]:
    """Cut the tokens `start` to `stop` of a text wherever a page ends.

    Yields:
        Which page of the text, its slots, and which of the new tokens go there.
    """
    position = start
    while position < stop:
        index, slot = divmod(position, page_size)
        length = min(page_size - slot, stop - position)
        first = position - start
        yield index, slice(slot, slot + length), slice(first, first + length)
        position += length


def _side_by_side(
    pages: Float[mx.array, "M H_kv P D"],
) -> Float[mx.array, "1 H_kv M*P D"]:
    """Join the pages of a text: its tokens are side by side for each head."""
    M, H_kv, P, D = pages.shape  # noqa: N806 - the axes as in the shapes
    return pages.swapaxes(0, 1).reshape(1, H_kv, M * P, D)
