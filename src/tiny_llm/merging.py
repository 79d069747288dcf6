"""Several sources of one answer, awaited together. This file is given."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


async def merged(
    sources: Sequence[AsyncGenerator[T]],
) -> AsyncGenerator[tuple[int, T]]:
    """Yield what comes of several sources, as it comes, with the number of its source.

    If one of them raises, or nobody wants more, all of them are closed.
    """
    awaited = {_next_of(one): index for index, one in enumerate(sources)}
    try:
        while awaited:
            done, _ = await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
            for task in sorted(done, key=awaited.__getitem__):
                index, output = awaited.pop(task), task.result()
                if output is not None:
                    awaited[_next_of(sources[index])] = index
                    yield index, output
    finally:
        await cancelled(awaited)
        for one in sources:
            await one.aclose()


def _next_of(source: AsyncGenerator[T]) -> asyncio.Future[T | None]:
    """Await the next one of a source: None if there is none."""
    return asyncio.ensure_future(anext(source, None))


async def cancelled(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancel what is not done, and wait until it has cleaned up."""
    every = list(tasks)
    for task in every:
        task.cancel()
    await asyncio.gather(*every, return_exceptions=True)
