"""Which request has which pages: they are counted, and shared where texts agree."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from .request import Request


@dataclass
class _Page:
    """What is known of a page.

    Attributes:
        num_users: How many block tables name it.
        key: The hash of its tokens and of all before them. None: it is not full yet, or
            its tokens are not computed.
        tokens: Those of the page.
        before: What was known of the page before it. None: it is the first.
    """

    num_users: int = 0
    key: int | None = None
    tokens: tuple[int, ...] = ()
    before: "_Page | None" = None

    def follows(self, page: "_Page | None") -> bool:
        """Tell whether the text before this page is that up to the end of `page`."""
        own = self.before
        while own and page and own is not page and own.tokens == page.tokens:
            own, page = own.before, page.before
        return own is page


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
        self.page_size = page_size
        self._pages = [_Page() for _ in range(num_pages)]
        self._free = OrderedDict.fromkeys(range(num_pages))
        self._page_of_key: dict[int, int] = {}

    @property
    def num_free(self) -> int:
        """How many pages no request uses."""
        return len(self._free)

    @property
    def num_in_use(self) -> int:
        """How many pages some request uses, however many do."""
        return len(self._pages) - len(self._free)

    def compute_hash(self, tokens: Sequence[int], parent: int = -1) -> int:
        """Return a number for a full page, the same for the same text.

        Args:
            tokens: The P tokens of the page.
            parent: The number of the page before it, which stands for all tokens
                before these. -1: it is the first page.
        """
        return hash((parent, *tokens))

    def can_allocate(self, request: Request) -> bool:
        """Tell whether there are pages for all tokens that a request has now.

        A page that it can share costs nothing if somebody uses it. If nobody does, it
        is one of the free ones, and is taken from them.
        """
        shared = self._shared_pages(request)
        num_used = sum(self._pages[page].num_users > 0 for page in shared)
        num_new = self._num_pages(len(request.tokens)) - num_used
        return num_new <= self.num_free

    def allocate(self, request: Request) -> None:
        """Give a request pages for all tokens that it has now.

        Sets `block_table`, keeping the list itself, and `num_computed`, the number of
        tokens whose keys and values are in shared pages. One token at least is left to
        compute, since its logits choose the next one. A request for log-probabilities
        of its prompt needs the logits of every token, and shares nothing.

        Raises:
            ValueError: There are not enough pages. Ask `can_allocate` first.
        """
        if not self.can_allocate(request):
            raise ValueError(
                f"BlockManager.allocate: expected pages for {len(request.tokens)} "
                f"tokens, got {self.num_free} free ones of {self.page_size} tokens; "
                "ask can_allocate first"
            )
        shared = self._shared_pages(request)
        for page in shared:
            self._use(page)
        num_new = self._num_pages(len(request.tokens)) - len(shared)
        request.block_table[:] = shared + [self._take() for _ in range(num_new)]
        request.num_computed = len(shared) * self.page_size

    def may_append(self, request: Request, num_tokens: int) -> bool:
        """Make room for the next tokens of a request, if there is.

        Args:
            request: One that has been allocated. Pages are appended to `block_table`.
            num_tokens: How many tokens come after the `num_computed` first ones.

        Returns:
            Whether there is room for them now. If not, nothing has been taken.
        """
        num_pages = self._num_pages(request.num_computed + num_tokens)
        num_new = num_pages - len(request.block_table)
        if num_new > self.num_free:
            return False
        request.block_table += [self._take() for _ in range(num_new)]
        return True

    def deallocate(self, request: Request) -> None:
        """Take the pages of a request back. Those that others share stay with them.

        The last page is freed first, so that it is taken first: what comes before it
        is of use to more texts.
        """
        while request.block_table:
            page = request.block_table.pop()
            self._pages[page].num_users -= 1
            if self._pages[page].num_users == 0:
                self._free[page] = None

    def hash_blocks(self, request: Request) -> None:
        """Let others find the pages of a request that are full and computed."""
        parent, before = -1, None
        tokens = request.tokens
        for index in range(request.num_computed // self.page_size):
            number = request.block_table[index]
            page = self._pages[number]
            if page.key is None:
                page.tokens, page.before = self._tokens_of_page(tokens, index), before
                page.key = self.compute_hash(page.tokens, parent)
                self._page_of_key.setdefault(page.key, number)
            parent, before = page.key, page

    def _shared_pages(self, request: Request) -> list[int]:
        """Return the pages that hold the longest known beginning of a request.

        A hash can be that of another text as well, by chance or made to be, so the
        tokens are compared: those of the page, and those before it.
        """
        shared: list[int] = []
        if request.params.prompt_logprobs:
            return shared
        tokens, key, before = request.tokens, -1, None
        for index in range((len(tokens) - 1) // self.page_size):
            of_page = self._tokens_of_page(tokens, index)
            key = self.compute_hash(of_page, key)
            number = self._page_of_key.get(key)
            if number is None:
                break
            page = self._pages[number]
            if page.tokens != of_page or not page.follows(before):
                break
            shared.append(number)
            before = page
        return shared

    def _tokens_of_page(self, tokens: list[int], index: int) -> tuple[int, ...]:
        """Return the tokens of a text that are in page `index` of its table."""
        first = index * self.page_size
        return tuple(tokens[first : first + self.page_size])

    def _use(self, page: int) -> None:
        """Count one more user of a page, which may have been free."""
        self._free.pop(page, None)
        self._pages[page].num_users += 1

    def _take(self) -> int:
        """Take the page that has been free for longest, and forget what it holds."""
        page, _ = self._free.popitem(last=False)
        key = self._pages[page].key
        if key is not None and self._page_of_key.get(key) == page:
            del self._page_of_key[key]
        self._pages[page] = _Page(num_users=1)
        return page

    def _num_pages(self, num_tokens: int) -> int:
        """Return how many pages hold so many tokens."""
        return -(-num_tokens // self.page_size)
