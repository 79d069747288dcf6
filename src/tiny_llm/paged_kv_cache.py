"""Keys and values in pages, which many texts take from one pool as they grow."""

from collections.abc import Iterator
from dataclasses import dataclass

import mlx.core as mx
from jaxtyping import Float, Int32

from tiny_llm_course import todo

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
        todo("week 3, day 3, task 1")

    @property
    def key_pages(self) -> Float[mx.array, "N H_kv P D"] | None:
        """The keys of all pages. None until the first write."""
        todo("week 3, day 3, task 1")

    @property
    def value_pages(self) -> Float[mx.array, "N H_kv P D"] | None:
        """The values of all pages. None until the first write."""
        todo("week 3, day 3, task 1")

    @property
    def num_free(self) -> int:
        """How many pages can be taken before the pool is empty, or grows."""
        todo("week 3, day 3, task 1")

    @property
    def num_in_use(self) -> int:
        """How many pages have been taken and not been given back."""
        todo("week 3, day 3, task 1")

    def allocate(self) -> int:
        """Take a page that nobody has, and return its number.

        What it holds is left over from whoever had it before.

        Raises:
            ValueError: All pages are in use, and the pool may not grow.
        """
        todo("week 3, day 3, task 1")

    def free(self, page: int) -> None:
        """Give a page back.

        Raises:
            ValueError: Nobody has this page: it was given back before, or never taken.
        """
        todo("week 3, day 3, task 1")


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
        todo("week 3, day 3, task 2")

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
        todo("week 3, day 3, task 2")

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
        todo("week 3, day 3, task 2")

    def materialize(
        self,
    ) -> tuple[Float[mx.array, "1 H_kv S D"], Float[mx.array, "1 H_kv S D"]]:
        """Copy the keys and values of all S tokens out of the pages, side by side."""
        todo("week 3, day 3, task 2")

    def rewind(self, n: int) -> None:
        """Forget the last `n` tokens. Pages of its own that are empty are given back.

        Raises:
            ValueError: There are not so many tokens.
        """
        todo("week 3, day 3, task 2")

    def release(self) -> None:
        """Forget all tokens, and give all pages of its own back."""
        todo("week 3, day 3, task 2")
