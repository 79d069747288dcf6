"""hypothesis looks for a story in which our manager of pages breaks a promise.

The graded tests draw their stories from seeds: what two solutions do is compared, so
they have to be asked the same in each process. hypothesis draws other examples when
other modules are loaded, and looks for those that nobody has seen.
"""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.stateful import (
    RuleBasedStateMachine,
    rule,
    run_state_machine_as_test,
)

from tiny_llm_course.grading.scenarios.paging import (
    BrokenPromiseError,
    Desk,
    comes,
    computes,
    leaves,
    returns,
    says,
    waits,
)
from tiny_llm_course.places import ROOT
from tiny_llm_course.solution import Solution
from tiny_llm_course.specimens import UNCHANGED, misconceptions
from tiny_llm_course.syllabus import Address

set_hypothesis_home_dir(ROOT / ".cache" / "hypothesis")

tokens = st.lists(st.integers(0, 1), min_size=1, max_size=7)
which = st.integers(0, 5)
few = st.integers(1, 8)


class Machine(RuleBasedStateMachine):
    """Requests come and go, and the desk checks every promise after each step.

    Pages are conserved, and nobody's change when somebody else writes.
    """

    solution: Solution = UNCHANGED
    page_size = 2

    def __init__(self) -> None:
        super().__init__()
        self.desk = Desk(self.solution, 6, self.page_size, shares=True)

    @rule(prompt=tokens)
    def come(self, prompt: list[int]) -> None:
        self.desk.do(comes(f"r{len(self.desk.requests)}", *prompt))

    @rule(place=which, number=few)
    def compute(self, place: int, number: int) -> None:
        if self.desk.here:
            self.desk.do(computes(self.one_of(self.desk.here, place), number))

    @rule(place=which, answer=tokens)
    def say(self, place: int, answer: list[int]) -> None:
        if self.desk.here:
            self.desk.do(says(self.one_of(self.desk.here, place), *answer))

    @rule(place=which)
    def leave(self, place: int) -> None:
        if self.desk.here:
            self.desk.do(leaves(self.one_of(self.desk.here, place)))

    @rule(place=which)
    def wait(self, place: int) -> None:
        if self.desk.here:
            self.desk.do(waits(self.one_of(self.desk.here, place)))

    @rule(place=which)
    def come_back(self, place: int) -> None:
        away = [name for name in self.desk.requests if name not in self.desk.here]
        if away:
            self.desk.do(returns(self.one_of(away, place)))

    @staticmethod
    def one_of(names: list[str], place: int) -> str:
        return names[place % len(names)]


def broken(solution: Solution, page_size: int, num_examples: int) -> str:
    """Return the promise that a story of hypothesis' breaks. Empty: none was found."""
    machine = type("Other", (Machine,), {"solution": solution, "page_size": page_size})
    limits = settings(
        max_examples=num_examples,
        stateful_step_count=20,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    try:
        run_state_machine_as_test(machine, settings=limits)
    except BrokenPromiseError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("page_size", [1, 2])
def test_no_story_breaks_a_promise(page_size: int) -> None:
    assert broken(UNCHANGED, page_size, num_examples=40) == ""


def test_a_story_that_breaks_one_is_found() -> None:
    found = misconceptions(Address(3, 3, 3))
    wrong = next(one for one in found if one.name == "pages_never_come_back")

    assert broken(wrong.as_solution(), 2, num_examples=60) != ""
