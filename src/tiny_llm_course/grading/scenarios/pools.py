"""Pages that are taken and given back, and calls that have to be refused."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.scenarios.paged_caches import CACHE, POOL
from tiny_llm_course.grading.scenarios.paging import MANAGER
from tiny_llm_course.solution import Solution


@dataclass(frozen=True)
class Taken:
    """What came of a pool.

    Attributes:
        pages: Those that are in use in the end.
        numbers: What the pool says of itself, and the table of a cache.
    """

    pages: list[int]
    numbers: dict[str, Any]


@dataclass(frozen=True)
class Pool(Call):
    """A pool from which pages are taken, and to which some are given back.

    Attributes:
        args: How many there are. None: as many as are needed.
        taken: How many are taken.
        freed: Which of these are given back: the first one is 0.
        taken_then: How many are taken after that.
    """

    taken: int = 0
    freed: tuple[int, ...] = ()
    taken_then: int = 0

    def run(self, solution: Solution) -> Taken:
        """Take the pages, and return what there is in the end."""
        pool, pages = self.used(solution)
        pages += [pool.allocate() for _ in range(self.taken_then)]
        return Taken(pages, _numbers(pool))

    def used(self, solution: Solution) -> tuple[Any, list[int]]:
        """Return the pool after pages were given back, and those that were not."""
        pool = solution.get(POOL)(16, *self.args)
        pages = [pool.allocate() for _ in range(self.taken)]
        for place in self.freed:
            pool.free(pages[place])
        return pool, [one for i, one in enumerate(pages) if i not in self.freed]

    def __str__(self) -> str:
        """Write it as Python."""
        lines = [f"pool = TinyKvPagedPool(16, {self.args[0]})"]
        if self.taken:
            times = f"range({self.taken})"
            lines.append(f"pages = [pool.allocate() for _ in {times}]")
        lines += [f"pool.free(pages[{place}])" for place in self.freed]
        lines += ["pages.append(pool.allocate())"] * self.taken_then
        return "\n".join(lines)


@dataclass(frozen=True)
class Lent(Call):
    """A cache that fills, rewinds and releases pages that are somebody else's.

    Attributes:
        args: The pages.
    """

    def run(self, solution: Solution) -> dict[str, Any]:
        """Use the pages, and return what the pool and the list hold then."""
        pool, table = solution.get(POOL)(4, 6), list(self.args)
        cache = solution.get(CACHE)(pool, table)
        new = mx.ones((1, 2, 4 * len(table), 3))
        mx.eval(cache.update_and_fetch(new, new)[:2])
        cache.rewind(5)
        cache.release()
        return {**_numbers(pool), "block_table": table, "offset": cache.offset}

    def __str__(self) -> str:
        """Write it as Python."""
        return (
            "new = lambda n: [mx.ones((1, 2, n, 3))] * 2\n"
            "pool = TinyKvPagedPool(4, 6)\n"
            f"cache = TinyKvPagedCache(pool, {list(self.args)})\n"
            f"cache.update_and_fetch(*new({4 * len(self.args)}))\n"
            "cache.rewind(5)\ncache.release()"
        )


def _numbers(pool: Any) -> dict[str, Any]:  # noqa: ANN401 - of a solution
    return {"num_free": pool.num_free, "num_in_use": pool.num_in_use}


@dataclass(frozen=True)
class Refusal(Call):
    """A call that has to raise a `ValueError`, after some that have not.

    Attributes:
        before: The calls before, as Python. All names of the solution are known.
        code: The call.
    """

    before: tuple[str, ...] = ()
    code: str = ""

    def run(self, solution: Solution) -> bool:
        """Return whether it was refused. Any other error is one of the solution."""
        names: dict[str, Any] = {
            symbol.split(".")[1]: solution.get(symbol) for symbol in self.args
        }
        names["ones"] = mx.ones
        for line in self.before:
            exec(line, names)  # noqa: S102 - lines of our own tests
        return _is_refused(lambda: exec(self.code, names))  # noqa: S102

    def __str__(self) -> str:
        """Write all calls."""
        return "\n".join([*self.before, self.code])


def of_pool(*lines: str) -> Refusal:
    """Return a call of a pool that has to be refused: the last line."""
    return Refusal(POOL, (POOL,), before=lines[:-1], code=lines[-1])


def of_cache(*lines: str) -> Refusal:
    """Return a call of a cache that has to be refused: the last line."""
    return Refusal(CACHE, (POOL, CACHE), before=lines[:-1], code=lines[-1])


def of_manager(*lines: str) -> Refusal:
    """Return a call of a manager that has to be refused: the last line."""
    symbols = (MANAGER, "request.Request")
    return Refusal(MANAGER, symbols, before=lines[:-1], code=lines[-1])


def _is_refused(work: Callable[[], object]) -> bool:
    try:
        work()
    except ValueError:
        return True
    return False


def assert_refuses(grade: Grader, call: Refusal) -> None:
    """Fail unless the call raises a `ValueError`."""
    complaint = say("week_3_day_3.pool.not_refused", code=call.code)
    grade.assert_that(grade.run(call), call, complaint)


def assert_counts(grade: Grader, call: Call, numbers: Any, expected: Any) -> None:  # noqa: ANN401
    """Fail unless these are the numbers."""
    complaint = say("week_3_day_3.pool.counts", expected=expected, got=numbers)
    grade.assert_that(numbers == expected, call, complaint)
