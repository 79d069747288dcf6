"""Week 3, day 3: other right ways to say who has which page."""

from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

from tiny_llm_course.specimens import specimen

MANAGER = "block_manager.BlockManager"

Request = Any


class _Counting:
    """A manager that counts users, and has no pages of its own to look at."""

    def __init__(self, num_pages: int, page_size: int = 16) -> None:
        self.page_size = page_size
        self.num_pages = num_pages
        self.users: Counter[int] = Counter()
        self.freed = deque(range(num_pages))
        self.texts: dict[int, tuple[int, tuple[int, ...]]] = {}

    @property
    def num_in_use(self) -> int:
        return sum(count > 0 for count in self.users.values())

    @property
    def num_free(self) -> int:
        return self.num_pages - self.num_in_use

    def compute_hash(self, tokens: Sequence[int], parent: int = -1) -> int:
        return hash((tuple(tokens), parent))

    def found(self, request: Request) -> list[int]:
        """Look through all pages for the next one, until there is none."""
        pages, parent = list[int](), -1
        tokens = request.tokens
        if request.params.prompt_logprobs:
            return pages
        while len(tokens) > (len(pages) + 1) * self.page_size:
            start = len(pages) * self.page_size
            parent = self.compute_hash(tokens[start : start + self.page_size], parent)
            wanted = (parent, tuple(tokens[: start + self.page_size]))
            if wanted not in self.texts.values():
                break
            pages.append(
                next(one for one, text in self.texts.items() if text == wanted)
            )
        return pages

    def can_allocate(self, request: Request) -> bool:
        pages = self.found(request)
        num_new = -(-len(request.tokens) // self.page_size) - len(pages)
        num_woken = sum(self.users[page] == 0 for page in pages)
        return num_new + num_woken <= self.num_free

    def allocate(self, request: Request) -> None:
        if not self.can_allocate(request):
            raise ValueError("too few pages")
        pages = self.found(request)
        request.num_computed = self.page_size * len(pages)
        request.block_table.extend(pages)
        for page in pages:
            if self.users[page] == 0:
                self.freed.remove(page)
            self.users[page] += 1
        self.fill(request, len(request.tokens))

    def fill(self, request: Request, num_tokens: int) -> None:
        """Append pages until there is room for so many tokens."""
        while len(request.block_table) * self.page_size < num_tokens:
            page = self.freed.popleft()
            self.texts.pop(page, None)
            self.users[page] = 1
            request.block_table.append(page)

    def may_append(self, request: Request, num_tokens: int) -> bool:
        num_tokens += request.num_computed
        room = (len(request.block_table) + self.num_free) * self.page_size
        if num_tokens > room:
            return False
        self.fill(request, num_tokens)
        return True

    def deallocate(self, request: Request) -> None:
        for page in reversed(request.block_table):
            self.users[page] -= 1
            if self.users[page] == 0:
                self.freed.append(page)
        request.block_table.clear()

    def hash_blocks(self, request: Request) -> None:
        parent, tokens = -1, tuple(request.tokens)
        for index in range(request.num_computed // self.page_size):
            start = index * self.page_size
            parent = self.compute_hash(tokens[start : start + self.page_size], parent)
            text = tokens[: start + self.page_size]
            self.texts.setdefault(request.block_table[index], (parent, text))


@specimen(3, 4, symbol=MANAGER)
class users_counted_beside_the_pages(_Counting):
    pass


@specimen(3, 4, symbol=MANAGER)
class unused_pages_first(_Counting):
    def fill(self, request: Request, num_tokens: int) -> None:
        """Take what nobody could find anyway before what somebody might."""
        known = [page for page in self.freed if page in self.texts]
        self.freed = deque([page for page in self.freed if page not in self.texts])
        self.freed.extend(known)
        super().fill(request, num_tokens)


@specimen(3, symbol=MANAGER)
class nothing_is_shared(_Counting):
    def found(self, request: Request) -> list[int]:
        del request
        return []
