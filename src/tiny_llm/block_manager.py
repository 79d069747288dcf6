"""Which request has which pages: they are counted, and shared where texts agree."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from tiny_llm_course import todo

from .request import Request


class BlockManager:
    """Hand out pages to requests, and share those whose beginnings are the same.

    A page whose P tokens have all been computed can be found by a hash of them and of
    all tokens before: their keys and values are the same for every text that begins
    so. Nobody writes into it again, so any number of requests can read it.

    A page that nobody uses any more is free, and can still be found until it is taken
    for something else: the one that has been free for longest is taken first.

    The numbers of the pages hold for all layers alike: each layer has a pool, in
    which a request has the same pages.

    Attributes:
        page_size: Number P of tokens in a page.

    Args:
        num_pages: How many pages there are.
        page_size: Number P of tokens in a page.
    """

    def __init__(self, num_pages: int, page_size: int = 16) -> None:
        todo("week 3, day 3, task 3")

    @property
    def num_free(self) -> int:
        """How many pages no request uses."""
        todo("week 3, day 3, task 3")

    @property
    def num_in_use(self) -> int:
        """How many pages some request uses, however many do."""
        todo("week 3, day 3, task 3")

    def compute_hash(self, tokens: Sequence[int], parent: int = -1) -> int:
        """Return a number for a full page, the same for the same text.

        Args:
            tokens: The P tokens of the page.
            parent: The number of the page before it, which stands for all tokens
                before these. -1: it is the first page.
        """
        todo("week 3, day 3, task 3")

    def can_allocate(self, request: Request) -> bool:
        """Tell whether there are pages for all tokens that a request has now.

        A page that it can share costs nothing if somebody uses it. If nobody does, it
        is one of the free ones, and is taken from them.
        """
        todo("week 3, day 3, task 3")

    def allocate(self, request: Request) -> None:
        """Give a request pages for all tokens that it has now.

        Sets `block_table`, keeping the list itself, and `num_computed`, the number of
        tokens whose keys and values are in shared pages. One token at least is left to
        compute, since its logits choose the next one. A request for log-probabilities
        of its prompt needs the logits of every token, and shares nothing.

        Raises:
            ValueError: There are not enough pages. Ask `can_allocate` first.
        """
        todo("week 3, day 3, task 3")

    def may_append(self, request: Request, num_tokens: int) -> bool:
        """Make room for the next tokens of a request, if there is.

        Args:
            request: One that has been allocated. Pages are appended to `block_table`.
            num_tokens: How many tokens come after the `num_computed` first ones.

        Returns:
            Whether there is room for them now. If not, nothing has been taken.
        """
        todo("week 3, day 3, task 3")

    def deallocate(self, request: Request) -> None:
        """Take the pages of a request back. Those that others share stay with them.

        The last page is freed first, so that it is taken first: what comes before it
        is of use to more texts.
        """
        todo("week 3, day 3, task 3")

    def hash_blocks(self, request: Request) -> None:
        """Let others find the pages of a request that are full and computed."""
        todo("week 3, day 3, task 3")
