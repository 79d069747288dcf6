"""The interactive figure of day 3 of week 3 serves whom our manager would serve."""

import pytest
from tests.book.conftest import OpenFigure

from tiny_llm_course.book.chapter_data import values_of
from tiny_llm_ref.block_manager import BlockManager
from tiny_llm_ref.request import Request

CHAPTER = "week-3-day-3-pages"
NAME = "pages-of-texts"


def served(way: str, size: int, num_steps: int) -> dict[str, int]:
    """Ask a real manager who fits. A buffer is a page as long as the longest text."""
    data = values_of(CHAPTER, "data")[NAME]
    size = data["longest"] if way == "buffers" else size
    manager = BlockManager(data["places"] // size, size)
    running = kept = 0
    for own, answer in zip(data["own"], data["answers"], strict=True):
        rest = [1000 * (running + 1) + i for i in range(own + min(num_steps, answer))]
        request = Request(str(running), [*range(data["common"]), *rest])
        if not manager.can_allocate(request):
            break
        manager.allocate(request)
        kept += request.num_uncomputed
        request.num_computed = len(request.tokens)
        if way == "shared":
            manager.hash_blocks(request)
        running += 1
    used = manager.num_in_use * size
    return {"running": running, "used": used, "kept": kept, "unused": used - kept}


@pytest.mark.parametrize("num_steps", [0, 16, 33, 48])
@pytest.mark.parametrize("size", [1, 8, 16, 64, 128])
@pytest.mark.parametrize("way", ["buffers", "pages", "shared"])
def test_it_serves_as_many_as_a_real_manager(
    figure: OpenFigure, way: str, size: int, num_steps: int
) -> None:
    figure.set(way=way, size=str(size), steps=num_steps)

    expected = served(way, size, num_steps)
    assert {name: figure.read(name) for name in expected} == expected


def test_it_opens_with_buffers(figure: OpenFigure) -> None:
    numbers = values_of(CHAPTER, "numbers")

    assert figure.read("running") == numbers["buffers"]
