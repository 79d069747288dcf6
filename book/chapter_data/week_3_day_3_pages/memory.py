"""How much memory some texts take: a buffer each, pages, or pages that are shared."""

from typing import Any

from tiny_llm_ref.block_manager import BlockManager
from tiny_llm_ref.request import Request

PLACES = 512
LONGEST = 128
COMMON = 48
OWN = (9, 30, 14, 41, 5, 22, 37, 12)
ANSWERS = (40, 12, 48, 20, 33, 48, 8, 26)
"""The memory, in tokens; the longest text; how many tokens all texts begin with; how
many come after them in each prompt; and how many each answer has."""

PAGE_SIZES = (1, 4, 8, 16, 32, 64, 128)

STEPS = 16
"""How many tokens of each answer are there when the figure opens."""


def texts(num_steps: int) -> list[Request]:
    """Return all texts after some steps: beginnings are alike, and nothing else is."""
    return [
        Request(
            str(number),
            [
                *range(COMMON),
                *(1000 * (number + 1) + i for i in range(own + min(num_steps, answer))),
            ],
        )
        for number, (own, answer) in enumerate(zip(OWN, ANSWERS, strict=True))
    ]


def listed(numbers: list[int]) -> str:
    """Write numbers as a sentence has them."""
    *others, last = map(str, numbers)
    return f"{', '.join(others)} and {last}"


def served(way: str, page_size: int, num_steps: int) -> dict[str, Any]:
    """Ask our own manager who fits, in the order in which the texts came.

    Args:
        way: "pages", or "shared", where what is computed is found by others.
        page_size: Number of tokens in a page.
        num_steps: How many tokens of each answer are there.
    """
    manager = BlockManager(PLACES // page_size, page_size)
    fitting: list[Request] = []
    kept = 0
    for request in texts(num_steps):
        if not manager.can_allocate(request):
            break
        manager.allocate(request)
        kept += len(request.tokens) - request.num_computed
        request.num_computed = len(request.tokens)
        if way == "shared":
            manager.hash_blocks(request)
        fitting.append(request)
    used = manager.num_in_use * page_size
    return {"running": len(fitting), "used": used, "kept": kept, "empty": used - kept}


def wasted(page_size: int) -> dict[str, float]:
    """Return what all texts at all steps take, against what their tokens need."""
    taken = needed = num_pages = 0
    for num_steps in range(max(ANSWERS) + 1):
        for request in texts(num_steps):
            manager = BlockManager(LONGEST, page_size)
            manager.allocate(request)
            num_pages += manager.num_in_use
            taken += manager.num_in_use * page_size
            needed += len(request.tokens)
    num_seen = len(OWN) * (max(ANSWERS) + 1)
    return {
        "page_size": page_size,
        "pages": num_pages / num_seen,
        "times": taken / needed,
        "empty": (taken - needed) / num_seen,
    }
