"""A manager of pages that serves requests, with a note of what each page holds.

No key is computed. What stands in a slot of a page is the text up to its token: all
that a key depends on. So each table can be judged, and no page is expected.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.solution import Solution

MANAGER = "block_manager.BlockManager"

SAID = "week_3_day_3.pages"

Verb = Literal["comes", "computes", "says", "leaves", "waits", "returns"]

WEAK_HASHES: dict[str, Callable[..., int]] = {
    "lambda tokens, parent=-1: 7": lambda tokens, parent=-1: 7,  # noqa: ARG005
    "lambda tokens, parent=-1: tokens[0]": lambda tokens, parent=-1: tokens[0],  # noqa: ARG005
}
"""Hashes that texts have in common, by their code."""

Request = Any
"""A request of the solution under test."""


@dataclass(frozen=True)
class Step:
    """What happens to a request.

    Attributes:
        verb: It comes with a prompt; some of its tokens are computed; a token is
            chosen; it ends; it is preempted; or it gets pages again.
        name: Of the request.
        tokens: Those of the prompt, or the one that was chosen.
        number: How many tokens are computed.
        wants_logprobs: Whether it asks for log-probabilities of its prompt.
    """

    verb: Verb
    name: str
    tokens: tuple[int, ...] = ()
    number: int = 0
    wants_logprobs: bool = False

    def code(self, *, shares: bool) -> str:
        """Write it as Python, so that it can be repeated."""
        name = self.name
        hashing = f"; manager.hash_blocks({name})" if shares else ""
        params = ", SamplingParams(prompt_logprobs=True)" if self.wants_logprobs else ""
        allocating = f"manager.allocate({name})"
        asking = f"manager.can_allocate({name}) and {allocating}"
        lines: dict[Verb, str] = {
            "comes": f'{name} = Request("{name}", {list(self.tokens)}{params}); '
            f"{asking}",
            "computes": f"manager.may_append({name}, {self.number}); "
            f"{name}.num_computed += {self.number}{hashing}",
            "says": f"{name}.output += {list(self.tokens)}",
            "leaves": f"manager.deallocate({name})",
            "waits": f"manager.deallocate({name}); {name}.num_computed = 0",
            "returns": asking,
        }
        return lines[self.verb]


def comes(name: str, *tokens: int, wants_logprobs: bool = False) -> Step:
    """Let a request come with a prompt, and get pages."""
    return Step("comes", name, tokens, wants_logprobs=wants_logprobs)


def computes(name: str, number: int) -> Step:
    """Let the next tokens of a request be computed."""
    return Step("computes", name, number=number)


def says(name: str, *tokens: int) -> Step:
    """Let tokens be chosen."""
    return Step("says", name, tokens)


def leaves(name: str) -> Step:
    """Let a request end."""
    return Step("leaves", name)


def waits(name: str) -> Step:
    """Let a request be preempted."""
    return Step("waits", name)


def returns(name: str) -> Step:
    """Let a preempted request get pages again."""
    return Step("returns", name)


class BrokenPromiseError(Exception):
    """What a manager does not keep. Its text is for the learner."""


@dataclass(frozen=True)
class Kept:
    """What came of some steps.

    Attributes:
        steps: Those that were done.
        complaint: What was broken then. Empty if nothing was.
        num_computed: How many tokens each request found computed when it got pages.
        num_pages: How many pages each had at the end.
        refused: Who got no pages, or no room.
        num_free: What the manager said of itself at the end.
        num_in_use: In the same way.
    """

    steps: tuple[Step, ...]
    complaint: str
    num_computed: dict[str, int] = field(default_factory=dict[str, int])
    num_pages: dict[str, int] = field(default_factory=dict[str, int])
    refused: tuple[str, ...] = ()
    num_free: int = 0
    num_in_use: int = 0


class Desk:
    """Where requests come and go, and every promise of the manager is checked.

    Args:
        solution: Whose manager it is.
        num_pages: How many pages there are.
        page_size: Number of tokens in a page. None: as many as it has by default.
        shares: Whether computed pages are shown to it.
        hashes: Which of `WEAK_HASHES` takes the place of `compute_hash`, if any.
    """

    def __init__(
        self,
        solution: Solution,
        num_pages: int,
        page_size: int | None = None,
        *,
        shares: bool,
        hashes: str = "",
    ) -> None:
        self.solution = solution
        sizes = (num_pages,) if page_size is None else (num_pages, page_size)
        self.manager = solution.get(MANAGER)(*sizes)
        if hashes:
            self.manager.compute_hash = WEAK_HASHES[hashes]
        self.steps = list[Step]()
        self.requests = dict[str, Request]()
        self.here = list[str]()
        self.refused = list[str]()
        self.found = dict[str, int]()
        self._num_pages, self._page_size = num_pages, page_size or 16
        self.shares = shares
        self._held = dict[tuple[int, int], tuple[int, ...]]()

    def do(self, step: Step) -> None:
        """Do one step.

        Raises:
            BrokenPromiseError: Something does not hold.
        """
        self.steps.append(self._shortened(step))
        match step.verb:
            case "comes":
                params = self.solution.get("request.SamplingParams")(
                    prompt_logprobs=step.wants_logprobs
                )
                request = self.solution.get("request.Request")(
                    step.name, list(step.tokens), params
                )
                self.requests[step.name] = request
                self._allocate(step.name)
            case "computes":
                self._compute(step.name, step.number)
            case "says":
                self.requests[step.name].output.extend(step.tokens)
            case "leaves" | "waits":
                self._deallocate(step.name)
            case "returns":
                self._allocate(step.name)
        self._check()

    def _shortened(self, step: Step) -> Step:
        """Return a step that computes no more tokens than there are."""
        if step.verb != "computes":
            return step
        left = self.requests[step.name].num_uncomputed
        return replace(step, number=min(step.number, left))

    def kept(self, complaint: str = "") -> Kept:
        """Return what came of the steps."""
        return Kept(
            steps=tuple(self.steps),
            complaint=complaint,
            num_computed=self.found,
            num_pages={
                name: len(one.block_table) for name, one in self.requests.items()
            },
            refused=tuple(self.refused),
            num_free=self.manager.num_free,
            num_in_use=self.manager.num_in_use,
        )

    def _allocate(self, name: str) -> None:
        """Give a request pages, if the manager says that there are enough."""
        request, table = self.requests[name], self.requests[name].block_table
        num_pages = self._pages_for(len(request.tokens))
        if not self.manager.can_allocate(request):
            _claim(num_pages > self._num_unused, "refused")
            self.refused.append(name)
            return
        self.manager.allocate(request)
        self.here.append(name)
        self.found[name] = request.num_computed
        _claim(request.block_table is table, "other_list")
        _claim(request.num_computed < len(request.tokens), "nothing_left")
        _claim(len(table) == num_pages, "number_of_pages")

    def _compute(self, name: str, number: int) -> None:
        """Compute tokens of a request, if there is room for them."""
        request = self.requests[name]
        if name not in self.here:
            return
        last = min(request.num_computed + number, len(request.tokens))
        before = list(request.block_table)
        num_pages = max(len(before), self._pages_for(last))
        if not self.manager.may_append(request, last - request.num_computed):
            _claim(num_pages - len(before) > self._num_unused, "no_room")
            _claim(request.block_table == before, "taken_and_refused")
            self.refused.append(name)
            return
        _claim(len(request.block_table) == num_pages, "number_appended")
        _claim(request.block_table[: len(before)] == before, "table_changed")
        self._check()
        for position in range(request.num_computed, last):
            self._write(name, position)
        request.num_computed = last
        if self.shares:
            self.manager.hash_blocks(request)

    def _write(self, name: str, position: int) -> None:
        """Write the key of a token into its slot."""
        request = self.requests[name]
        page = request.block_table[position // self._page_size]
        others = [self.requests[one] for one in self.here if one != name]
        _claim(all(page not in one.block_table for one in others), "shared_written")
        slot = position % self._page_size
        self._held[page, slot] = tuple(request.tokens[: position + 1])

    def _deallocate(self, name: str) -> None:
        """Take the pages of a request back."""
        request, table = self.requests[name], self.requests[name].block_table
        if name not in self.here:
            return
        self.manager.deallocate(request)
        self.here.remove(name)
        request.num_computed = 0
        _claim(request.block_table is table, "other_list")
        _claim(not table, "table_not_empty")

    def _check(self) -> None:
        """Make sure that pages are conserved, and hold what their requests computed."""
        manager, tables = self.manager, [*map(self._table, self.here)]
        for table in tables:
            _claim(all(0 <= page < self._num_pages for page in table), "no_such_page")
            _claim(len(set(table)) == len(table), "page_twice")
        for name in self.here:
            request = self.requests[name]
            for position in range(request.num_computed):
                page = request.block_table[position // self._page_size]
                held = self._held.get((page, position % self._page_size))
                _claim(held is not None, "not_computed")
                _claim(held == tuple(request.tokens[: position + 1]), "other_text")
        num_used = self._num_pages - self._num_unused
        _claim(manager.num_in_use == num_used, "num_in_use")
        _claim(manager.num_free == self._num_unused, "num_free")

    def _table(self, name: str) -> list[int]:
        return self.requests[name].block_table

    @property
    def _num_unused(self) -> int:
        """How many pages are in no table."""
        tables = map(self._table, self.here)
        return self._num_pages - len({page for table in tables for page in table})

    def _pages_for(self, num_tokens: int) -> int:
        """Return how many pages hold so many tokens."""
        return -(-num_tokens // self._page_size)


def _claim(claim: bool, key: str) -> None:
    """Raise what the catalogue says under `key` unless `claim` is true."""
    if not claim:
        raise BrokenPromiseError(say(f"{SAID}.{key}"))


@dataclass(frozen=True)
class Service(Call):
    """A manager that serves requests, step by step.

    Attributes:
        args: The number of pages, and the size of a page if it is given.
        steps: What happens, one after the other.
        shares: Whether computed pages are shown to it.
        hashes: Which of `WEAK_HASHES` takes the place of `compute_hash`, if any.
    """

    steps: tuple[Step, ...] = ()
    shares: bool = True
    hashes: str = ""

    def run(self, solution: Solution) -> Kept:
        """Do the steps, until one breaks a promise."""
        desk = Desk(solution, *self.args, shares=self.shares, hashes=self.hashes)
        try:
            for step in self.steps:
                desk.do(step)
        except BrokenPromiseError as error:
            return desk.kept(str(error))
        return desk.kept()

    def __str__(self) -> str:
        """Write the steps as Python."""
        lines = [f"manager = BlockManager({', '.join(map(str, self.args))})"]
        if self.hashes:
            lines.append(f"manager.compute_hash = {self.hashes}")
        lines += [step.code(shares=self.shares) for step in self.steps]
        return "\n".join(lines)


def assert_kept(grade: Grader, call: Service) -> Kept:
    """Fail at the first step after which a promise of the manager does not hold."""
    kept: Kept = grade.run(call)
    grade.assert_that(not kept.complaint, _until_broken(call, kept), kept.complaint)
    return kept


def assert_found(grade: Grader, call: Service, **expected: int) -> None:
    """Fail unless requests find so many tokens computed when they get their pages."""
    kept = assert_kept(grade, call)
    for name, number in expected.items():
        names = {"name": name, "expected": number, "got": kept.num_computed.get(name)}
        claim = kept.num_computed.get(name) == number
        grade.assert_that(claim, call, say(f"{SAID}.found", **names))


def assert_refused(grade: Grader, call: Service, *names: str) -> None:
    """Fail unless there is no room for exactly these requests."""
    refused = assert_kept(grade, call).refused
    told = {"expected": _listed(names), "got": _listed(refused)}
    grade.assert_that(refused == names, call, say(f"{SAID}.refusals", **told))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or say(f"{SAID}.nobody")


def _until_broken(call: Service, kept: Kept) -> Service:
    """Return the call with no more steps than were done."""
    return Service(
        call.symbol,
        call.args,
        steps=kept.steps,
        shares=call.shares,
        hashes=call.hashes,
    )
