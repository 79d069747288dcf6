"""The desk at which managers of pages are judged, and the stories that are made up."""

import pytest

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.verdict import WrongError
from tiny_llm_course.grading.scenarios.paged_caches import CACHE, AnySharing
from tiny_llm_course.grading.scenarios.paging import (
    MANAGER,
    Service,
    assert_kept,
    comes,
    computes,
    leaves,
    says,
)
from tiny_llm_course.grading.scenarios.paging_stories import AnyService
from tiny_llm_course.solution import Solution
from tiny_llm_course.specimens import UNCHANGED, Specimen, accepted, misconceptions
from tiny_llm_course.syllabus import Address
from tiny_llm_ref.block_manager import BlockManager

DAY = {number: Address(3, 3, number) for number in (2, 3, 4)}

ANY = {
    2: AnySharing(CACHE, (2, 6)),
    3: AnyService(MANAGER, (4, 2), shares=False),
    4: AnyService(MANAGER, (6, 2)),
}


def named(task: int, name: str) -> Solution:
    """Return the reference with a known mistake."""
    found = (one for one in misconceptions(DAY[task]) if one.name == name)
    return next(found).as_solution()


@pytest.mark.parametrize("task", ANY)
def test_no_story_breaks_a_promise_of_the_reference(task: int) -> None:
    assert not ANY[task].run(UNCHANGED).complaint


@pytest.mark.parametrize(
    "right", [one for task in (3, 4) for one in accepted(DAY[task])], ids=str
)
def test_no_story_breaks_a_promise_of_a_right_way(right: Specimen) -> None:
    assert not ANY[right.task.task].run(right.as_solution()).complaint


@pytest.mark.parametrize(
    ("task", "name"),
    [
        (2, "page_number_not_looked_up"),
        (2, "rewind_rounds_up"),
        (2, "rewind_forgets_the_tail"),
        (3, "output_forgotten"),
        (3, "new_list_for_the_table"),
        (3, "taken_before_it_refuses"),
        (3, "pages_never_come_back"),
        (4, "hash_without_its_parent"),
        (4, "page_hashed_before_it_is_full"),
        (4, "nothing_left_to_compute"),
        (4, "shared_page_written"),
        (4, "users_not_counted"),
        (4, "hash_kept_by_a_page_that_is_taken"),
    ],
)
def test_a_made_up_story_finds_a_mistake_that_has_a_test_of_its_own(
    task: int, name: str
) -> None:
    """Without the others, so that nobody has to think of a story first."""
    assert ANY[task].run(named(task, name)).complaint


def lying(about: str) -> Solution:
    """Return the reference with a manager that says one more than there is."""

    class Lying:
        def __init__(self, *sizes: int) -> None:
            self._own = BlockManager(*sizes)

        def __getattr__(self, name: str) -> object:
            found = getattr(self._own, name)
            return found + 1 if name == about else found

    return Specimen(DAY[3], MANAGER, Lying).as_solution()


@pytest.mark.parametrize("about", ["num_free", "num_in_use"])
def test_what_a_manager_says_of_itself_is_counted(about: str) -> None:
    call = Service(MANAGER, (6, 2), steps=(comes("a", 1, 2, 3),))

    assert call.run(lying(about)).complaint == say(f"week_3_day_3.pages.{about}")


def test_small_pages_meet_more_often() -> None:
    """Of two pages with the same text, which is rare with two tokens in each."""
    wrong = named(4, "two_pages_of_one_text_forgotten")

    with pytest.raises(KeyError):
        AnyService(MANAGER, (6, 1)).run(wrong)


def test_the_same_stories_are_made_up_each_time() -> None:
    """What two solutions do is compared: they have to be asked the same."""
    wrong = named(4, "users_not_counted")

    assert ANY[4].run(wrong) == ANY[4].run(wrong)


def test_a_story_can_be_repeated() -> None:
    told = AnyService(MANAGER, (6, 2)).run(named(4, "users_not_counted"))

    again = Service(MANAGER, (6, 2), steps=told.steps)

    assert again.run(named(4, "users_not_counted")).complaint == told.complaint
    assert not again.run(UNCHANGED).complaint


SAME = "lambda tokens, parent=-1: 7"


def test_a_story_ends_with_the_step_that_broke_it() -> None:
    """Its manager is made as it was, with a hash that is not good."""
    steps = (comes("a", 1), comes("b", 2))
    call = Service(MANAGER, (6, 2), steps=steps, hashes=SAME)

    with pytest.raises(WrongError) as error:
        assert_kept(Grader(lying("num_free")), call)

    assert f"manager.compute_hash = {SAME}" in str(error.value)
    assert 'a = Request("a", [1])' in str(error.value)
    assert 'b = Request("b", [2])' not in str(error.value)


def test_a_story_is_python() -> None:
    """Whoever pastes it sees what the report says."""
    steps = (comes("a", 1, 2), computes("a", 9), says("a", 3), leaves("a"))
    kept = Service(MANAGER, (6, 2), steps=steps).run(UNCHANGED)
    text = str(Service(MANAGER, (6, 2), steps=kept.steps))

    names = {
        name: UNCHANGED.get(symbol)
        for symbol in (MANAGER, "request.Request")
        for name in [symbol.split(".")[1]]
    }
    exec(text, names)  # noqa: S102 - our own text

    assert "a.num_computed += 2" in text
    assert names["manager"].num_free == 6
