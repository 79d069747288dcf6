"""Week 3, day 3: keys and values in pages, and pages that texts share.

No test asks which page somebody gets.

The chapter: book/en/week-3-day-3-pages.md
"""

import itertools

import mlx.core as mx
import pytest

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.closeness import copied, wide
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import each_dtype, normal
from tiny_llm_course.grading.scenarios.caching import Attribute, compositions
from tiny_llm_course.grading.scenarios.paged_caches import (
    CACHE,
    POOL,
    AnySharing,
    Move,
    Sharing,
    adds,
    assert_held,
    releases,
    rewinds,
)
from tiny_llm_course.grading.scenarios.paged_filling import (
    Facts,
    Growth,
    PagedFilling,
    Part,
    PoolCopies,
    Way,
)
from tiny_llm_course.grading.scenarios.paging import (
    MANAGER,
    Service,
    Step,
    assert_found,
    assert_kept,
    assert_refused,
    comes,
    computes,
    leaves,
    returns,
    says,
    waits,
)
from tiny_llm_course.grading.scenarios.paging_stories import AnyService
from tiny_llm_course.grading.scenarios.pools import (
    Lent,
    Pool,
    Refusal,
    assert_counts,
    assert_refuses,
    of_cache,
    of_manager,
    of_pool,
)

SAID = "week_3_day_3"

each_part = pytest.mark.parametrize("part", ["keys", "values"])
each_way = pytest.mark.parametrize("way", ["fetched", "materialized", "paged"])


@pytest.mark.parametrize("num_taken", [0, 1, 5])
def test_task_1_pool_counts_its_pages(grade: Grader, num_taken: int) -> None:
    call = Pool(POOL, (5,), taken=num_taken)

    numbers = grade.run(call).numbers
    expected = {"num_free": 5 - num_taken, "num_in_use": num_taken}
    assert_counts(grade, call, numbers, expected)


@pytest.mark.parametrize("name", ["key_pages", "value_pages"])
def test_task_1_pool_has_no_arrays_before_the_first_write(
    grade: Grader, name: str
) -> None:
    """Nobody knows yet how many heads there are."""
    grade.assert_equal(Attribute(POOL, (), build=(16, 3), method=name), None)


@pytest.mark.parametrize("num_pages", [7, None], ids=["7", "None"])
def test_task_1_pool_gives_each_page_once(grade: Grader, num_pages: int | None) -> None:
    """Whoever else has it would read and write there as well."""
    call = Pool(POOL, (num_pages,), taken=7)

    grade.assert_that(
        len(set(grade.run(call).pages)) == 7, call, say(f"{SAID}.pool.given_twice")
    )


def test_task_1_pool_gives_pages_of_its_arrays(grade: Grader) -> None:
    call = Pool(POOL, (7,), taken=7)

    pages = grade.run(call).pages
    grade.assert_that(
        sorted(pages) == list(range(7)), call, say(f"{SAID}.pool.no_such_page")
    )


def test_task_1_pool_grows_as_long_as_it_may(grade: Grader) -> None:
    call = Pool(POOL, (None,), taken=100)

    grade.assert_that(
        len(set(grade.run(call).pages)) == 100, call, say(f"{SAID}.pool.given_twice")
    )


@pytest.mark.parametrize("num_pages", [4, None], ids=["4", "None"])
def test_task_1_pool_gives_a_page_again_when_it_is_free(
    grade: Grader, num_pages: int | None
) -> None:
    call = Pool(POOL, (num_pages,), taken=4, freed=(1, 2), taken_then=2)

    pages = grade.run(call).pages
    grade.assert_that(len(set(pages)) == 4, call, say(f"{SAID}.pool.given_twice"))


def test_task_1_pool_counts_what_comes_back(grade: Grader) -> None:
    call = Pool(POOL, (6,), taken=5, freed=(0, 3), taken_then=1)

    expected = {"num_free": 2, "num_in_use": 4}
    assert_counts(grade, call, grade.run(call).numbers, expected)


@pytest.mark.parametrize(
    "call",
    [
        of_pool(
            "pool = TinyKvPagedPool(16, 2)",
            "pages = [pool.allocate() for _ in range(2)]",
            "pool.allocate()",
        ),
        of_pool("pool = TinyKvPagedPool(16, 0)", "pool.allocate()"),
        of_pool(
            "pool = TinyKvPagedPool(16, 3)",
            "pages = [pool.allocate() for _ in range(2)]",
            "pool.free(pages[1])",
            "pool.free(pages[1])",
        ),
        of_pool("pool = TinyKvPagedPool(16, 3)", "pool.free(0)"),
        of_pool(
            "pool = TinyKvPagedPool(16)", "page = pool.allocate()", "pool.free(77)"
        ),
    ],
    ids=["empty", "no-pages", "freed-twice", "never-taken", "not-there"],
)
def test_task_1_pool_refuses(grade: Grader, call: Refusal) -> None:
    """A page that is freed twice is given to two texts afterwards."""
    assert_refuses(grade, call)


@each_dtype
@each_part
@each_way
@pytest.mark.parametrize("page_size", [1, 3, 4, 16])
def test_task_2_cache_holds_all_tokens(
    grade: Grader, page_size: int, way: Way, part: Part, dtype: mx.Dtype
) -> None:
    """In their order, and unchanged."""
    _assert_filled(grade, (3, 1, 5, 1, 1), part, dtype, page_size=page_size, way=way)


@each_part
@pytest.mark.parametrize("pieces", list(compositions(5)), ids=str)
def test_task_2_cache_takes_any_pieces(
    grade: Grader, part: Part, pieces: tuple[int, ...]
) -> None:
    _assert_filled(grade, pieces, part, mx.float32, page_size=2)


@each_part
@each_way
@pytest.mark.parametrize("num_pages", [25, None], ids=["25", "None"])
def test_task_2_cache_holds_long_texts(
    grade: Grader, num_pages: int | None, way: Way, part: Part
) -> None:
    """Whoever grows moves what is there, and keeps the dtype."""
    pieces = (1, 40, 1, 57, 1)
    _assert_filled(grade, pieces, part, mx.float16, num_pages=num_pages, way=way)


@pytest.mark.parametrize("part", ["offset", "length"])
@pytest.mark.parametrize("pieces", [(4,), (3, 1, 2), (1,) * 5], ids=str)
def test_task_2_cache_counts_its_tokens(
    grade: Grader, pieces: tuple[int, ...], part: Part
) -> None:
    keys = normal(1, 2, sum(pieces), 6)

    call = PagedFilling(CACHE, (keys, keys), pieces=pieces, part=part)

    grade.assert_equal(call, sum(pieces))


@pytest.mark.parametrize("mask", [None, "causal"])
def test_task_2_cache_hands_back_the_mask(grade: Grader, mask: str | None) -> None:
    keys = normal(1, 2, 4, 6)
    more = {"mask_length": 2, "mask": mask}

    call = PagedFilling(CACHE, (keys, keys), more, pieces=(2, 2), part="mask")

    grade.assert_equal(call, mask)


def test_task_2_cache_hands_back_none_where_there_is_no_mask(grade: Grader) -> None:
    keys = normal(1, 2, 4, 6)

    call = PagedFilling(CACHE, (keys, keys), pieces=(2, 2), part="mask")

    grade.assert_equal(call, None)


@pytest.mark.parametrize("num_tokens", [1, 4, 5, 9])
def test_task_2_metadata_says_what_there_is(grade: Grader, num_tokens: int) -> None:
    """Kernels read it, so dtypes and shapes count."""
    key = normal(1, 2, num_tokens, 6)

    call = Facts(CACHE, (key, key))

    num_pages = -(-num_tokens // 4)
    expected = {
        "key_pages": (8, 2, 4, 6),
        "value_pages": (8, 2, 4, 6),
        "block_table": f"int32[1, {num_pages}]",
        "different_pages": num_pages,
        "context_lens": ("int32[1]", [num_tokens]),
        "page_size": 4,
    }
    grade.assert_equal(call, expected)


@pytest.mark.parametrize("num_first", [0, 1], ids=["first-write", "second-write"])
def test_task_2_arrays_have_as_many_pages_as_the_pool(
    grade: Grader, num_first: int
) -> None:
    """Also those behind the page that is written first. Nothing is moved later."""
    key = normal(1, 2, 3, 6)

    call = Facts(CACHE, (key, key), block_table=(2,), num_first=num_first)

    facts = grade.run(call)
    got = {name: facts[name] for name in ("key_pages", "value_pages")}
    assert_counts(grade, call, got, dict.fromkeys(got, (8, 2, 4, 6)))


def test_task_2_arrays_double_where_there_is_no_limit(grade: Grader) -> None:
    """Whoever makes them longer for each page copies the whole text each time."""
    call = Growth(CACHE, (), num_pages=300)

    sizes = grade.run(call)
    steps = itertools.pairwise(sizes)
    doubles = all(after == before or after >= 2 * before for before, after in steps)
    told = say(f"{SAID}.caches.growth", sizes=", ".join(map(str, dict.fromkeys(sizes))))
    grade.assert_that(doubles and sizes[-1] <= 2 * 300 + 64, call, told)


@each_part
@each_way
def test_task_2_pages_of_somebody_else_may_be_far_apart(
    grade: Grader, way: Way, part: Part
) -> None:
    """Twice as many pages are not enough then."""
    _assert_filled(
        grade,
        (1, 1, 2),
        part,
        mx.float32,
        page_size=1,
        way=way,
        block_table=(2, 9, 70, 0),
    )


def test_task_2_page_has_16_tokens_when_nothing_is_said(grade: Grader) -> None:
    key = normal(1, 2, 17, 3)

    call = Facts(CACHE, (key, key), pool=())

    facts = grade.run(call)
    got = {"page_size": facts["page_size"], "pages": facts["different_pages"]}
    assert_counts(grade, call, got, {"page_size": 16, "pages": 2})


@each_part
@each_way
@pytest.mark.parametrize("num_pages", [8, None], ids=["8", "None"])
def test_task_2_cache_uses_the_pages_of_somebody_else(
    grade: Grader, num_pages: int | None, way: Way, part: Part
) -> None:
    """The list grows between two calls. A second cache of this table sees it all."""
    _assert_filled(
        grade,
        (4, 1, 2, 3),
        part,
        mx.float32,
        page_size=4,
        num_pages=num_pages,
        way=way,
        block_table=(6, 1, 3),
    )


@each_part
@each_way
def test_task_2_cache_goes_on_where_another_stopped(
    grade: Grader, way: Way, part: Part
) -> None:
    """So does a request whose first pages are shared: `offset` tokens are there."""
    _assert_filled(
        grade, (3, 1), part, mx.float32, way=way, block_table=(5, 2, 7), num_before=8
    )


def test_task_2_cache_leaves_the_pages_of_somebody_else(grade: Grader) -> None:
    """It takes none from the pool, and gives none back."""
    call = Lent(CACHE, (4, 2))

    own = {"num_free": 6, "num_in_use": 0}
    expected = {**own, "block_table": [4, 2], "offset": 0}
    assert_counts(grade, call, grade.run(call), expected)


@pytest.mark.parametrize(
    "moves",
    [
        (adds("a", 5), rewinds("a", 2)),
        (adds("a", 7), rewinds("a", 2), adds("a", 1)),
        (adds("a", 6), rewinds("a", 3), adds("a", 4)),
        (adds("a", 9), rewinds("a", 9), adds("a", 2)),
        (adds("a", 9), rewinds("a", 0), adds("a", 2)),
        (adds("a", 6), adds("b", 5), rewinds("a", 4), adds("b", 6), adds("a", 2)),
    ],
    ids=["last-page-kept", "within-a-page", "to-a-full-page", "all", "none", "two"],
)
def test_task_2_cache_forgets_the_last_tokens(
    grade: Grader, moves: tuple[Move, ...]
) -> None:
    """A page that is partly full goes on to be used, one that is empty is free."""
    assert_held(grade, Sharing(CACHE, (3, 8), moves=moves))


@pytest.mark.parametrize(
    "moves",
    [
        (adds("a", 5), releases("a")),
        (adds("a", 5), releases("a"), releases("a")),
        (adds("a", 5), releases("a"), adds("a", 3)),
        (adds("a", 5), adds("b", 5), releases("a"), adds("b", 5), adds("c", 2)),
    ],
    ids=["once", "twice", "used-again", "two"],
)
def test_task_2_cache_gives_its_pages_back(
    grade: Grader, moves: tuple[Move, ...]
) -> None:
    """Others get them, and nobody's tokens change."""
    assert_held(grade, Sharing(CACHE, (3, 5), moves=moves))


@pytest.mark.parametrize("method", ["update_and_fetch", "update_and_fetch_paged"])
@pytest.mark.parametrize(
    ("cache", "shape"),
    [
        ("TinyKvPagedCache(TinyKvPagedPool(2, 3))", (1, 2, 7, 4)),
        ("TinyKvPagedCache(TinyKvPagedPool(2, 9))", (2, 2, 3, 4)),
        ("TinyKvPagedCache(TinyKvPagedPool(2, 9), [1, 2])", (1, 2, 5, 4)),
    ],
    ids=["pool-empty", "two-texts", "table-full"],
)
def test_task_2_cache_refuses_what_has_no_room(
    grade: Grader, cache: str, shape: tuple[int, ...], method: str
) -> None:
    """Where it has a table of somebody else, it must not take pages itself."""
    before = (f"cache = {cache}", f"key = ones({shape})")
    assert_refuses(grade, of_cache(*before, f"cache.{method}(key, key)"))


@pytest.mark.parametrize("number", [4, -1])
def test_task_2_cache_refuses_to_forget_what_it_has_not(
    grade: Grader, number: int
) -> None:
    before = ("cache = TinyKvPagedCache(TinyKvPagedPool())", "key = ones((1, 2, 3, 4))")
    fill = "cache.update_and_fetch(key, key)"
    assert_refuses(grade, of_cache(*before, fill, f"cache.rewind({number})"))


@pytest.mark.parametrize("num_caches", [1, 4])
@pytest.mark.parametrize("is_paged", [False, True], ids=["fetched", "paged"])
def test_task_2_cache_does_not_copy_the_pool(
    grade: Grader, num_caches: int, *, is_paged: bool
) -> None:
    """A token costs what it is, however many pages others have."""
    token = normal(1, 2, 1, 32)

    call = PoolCopies(CACHE, (token, token), num_caches=num_caches, is_paged=is_paged)

    share = grade.run(call)
    grade.assert_that(share < 0.25, call, say(f"{SAID}.caches.copied", share=share))


@pytest.mark.parametrize("num_pages", [6, None], ids=["6", "None"])
def test_task_2_caches_share_a_pool(grade: Grader, num_pages: int | None) -> None:
    """Whatever happens: each holds its own, in as many pages as it needs."""
    assert_held(grade, AnySharing(CACHE, (2, num_pages)))


@pytest.mark.parametrize("num_tokens", [1, 3, 4, 5, 8, 13])
def test_task_3_request_gets_pages_for_its_tokens(
    grade: Grader, num_tokens: int
) -> None:
    """Not one more: somebody else could use it."""
    kept = assert_kept(grade, _service(comes("a", *range(num_tokens))))

    num_pages = -(-num_tokens // 4)
    expected = {"a": num_pages, "num_free": 8 - num_pages, "num_in_use": num_pages}
    got = {**kept.num_pages, "num_free": kept.num_free, "num_in_use": kept.num_in_use}
    names = {"expected": expected, "got": got}
    call = _service(comes("a", *range(num_tokens)))
    grade.assert_that(got == expected, call, say(f"{SAID}.pages.counts", **names))


@pytest.mark.parametrize(("num_tokens", "num_pages"), [(48, 3), (49, 4)])
def test_task_3_page_has_16_tokens_when_nothing_is_said(
    grade: Grader, num_tokens: int, num_pages: int
) -> None:
    call = Service(MANAGER, (4,), steps=(comes("a", *range(num_tokens)),), shares=False)

    assert_counts(grade, call, assert_kept(grade, call).num_pages, {"a": num_pages})


@pytest.mark.parametrize(
    "steps",
    [
        (comes("a", 1, 2, 3), computes("a", 3), says("a", 4), computes("a", 1)),
        (
            comes("a", 1, 2, 3, 4),
            computes("a", 4),
            says("a", 5),
            computes("a", 1),
            says("a", 6),
            computes("a", 1),
        ),
        (comes("a", *range(9)), computes("a", 2)),
        (comes("a", *range(9)), computes("a", 2), computes("a", 7)),
        (comes("a", 1), computes("a", 1), says("a", *range(9)), computes("a", 9)),
    ],
    ids=["fits", "new-page", "first-piece", "in-pieces", "several-pages"],
)
def test_task_3_request_gets_a_page_when_it_needs_one(
    grade: Grader, steps: tuple[Step, ...]
) -> None:
    assert_kept(grade, _service(*steps))


@pytest.mark.parametrize(
    ("steps", "refused"),
    [
        ((comes("a", *range(32)),), ()),
        ((comes("a", *range(33)),), ("a",)),
        ((comes("a", *range(20)), comes("b", *range(100, 112))), ()),
        ((comes("a", *range(20)), comes("b", *range(100, 113))), ("b",)),
        ((comes("a", *range(20)), leaves("a"), comes("b", *range(100, 132))), ()),
    ],
    ids=["all", "one-too-many", "both", "not-both", "one-after-the-other"],
)
def test_task_3_manager_knows_who_fits(
    grade: Grader, steps: tuple[Step, ...], refused: tuple[str, ...]
) -> None:
    assert_refused(grade, _service(*steps), *refused)


def test_task_3_manager_takes_nothing_when_it_refuses(grade: Grader) -> None:
    """What it has taken by then would be missing for whoever is asked next."""
    steps = (
        comes("a", *range(20)),
        comes("b", 91, 92, 93),
        computes("b", 3),
        says("b", *range(40, 60)),
        computes("b", 20),
        comes("c", *range(200, 205)),
    )
    assert_refused(grade, _service(*steps), "b")


def test_task_3_manager_raises_rather_than_give_too_few(grade: Grader) -> None:
    before = ("manager = BlockManager(2, page_size=4)", 'a = Request("a", [5] * 9)')
    assert_refuses(grade, of_manager(*before, "manager.allocate(a)"))


def test_task_3_preempted_request_gets_pages_for_its_output_too(grade: Grader) -> None:
    steps = (
        comes("a", 1, 2, 3),
        computes("a", 3),
        says("a", 4, 5),
        computes("a", 2),
        waits("a"),
        comes("b", 50, 51),
        returns("a"),
    )
    assert_kept(grade, _service(*steps))


def test_task_3_manager_keeps_its_promises(grade: Grader) -> None:
    """Whatever happens: free and in use are all, and nobody writes into another's."""
    assert_kept(grade, AnyService(MANAGER, (4, 2), shares=False))


@pytest.mark.parametrize(
    ("num_same", "num_tokens", "num_found"),
    [(9, 10, 8), (9, 9, 8), (8, 9, 8), (7, 9, 4), (4, 12, 4), (3, 9, 0), (0, 9, 0)],
)
def test_task_4_requests_share_full_pages_of_the_same_text(
    grade: Grader, num_same: int, num_tokens: int, num_found: int
) -> None:
    same = range(num_same)
    steps = (
        comes("a", *same, *range(100, 110 - num_same)),
        computes("a", 10),
        comes("b", *same, *range(200, 200 + num_tokens - num_same)),
    )
    assert_found(grade, _sharing(*steps), b=num_found)


@pytest.mark.parametrize(("num_tokens", "num_found"), [(4, 0), (8, 4), (12, 8)])
def test_task_4_one_token_is_left_to_compute(
    grade: Grader, num_tokens: int, num_found: int
) -> None:
    """Its logits choose the next token, and they are in no page."""
    prompt = range(num_tokens)
    steps = (comes("a", *prompt), computes("a", num_tokens), comes("b", *prompt))
    assert_found(grade, _sharing(*steps), b=num_found)


@pytest.mark.parametrize(("num_computed", "num_found"), [(0, 0), (3, 0), (6, 4)])
def test_task_4_only_computed_pages_are_shared(
    grade: Grader, num_computed: int, num_found: int
) -> None:
    """The keys of the others are not there yet."""
    steps = (comes("a", *range(12)), comes("b", *range(12)))
    if num_computed:
        steps = (steps[0], computes("a", num_computed), steps[1])
    assert_found(grade, _sharing(*steps), b=num_found)


def test_task_4_pages_computed_in_pieces_are_shared(grade: Grader) -> None:
    steps = (
        comes("a", *range(12)),
        computes("a", 3),
        computes("a", 3),
        computes("a", 6),
        comes("b", *range(12), 99),
    )
    assert_found(grade, _sharing(*steps), b=12)


@pytest.mark.parametrize(
    "prompt",
    [(5, 6, 7, 8, 3, 4, 3, 4, 9), (3, 4, 3, 4, 9), (3, 4, 3, 4, 1, 2, 1, 2, 9)],
)
def test_task_4_same_tokens_after_others_are_another_text(
    grade: Grader, prompt: tuple[int, ...]
) -> None:
    """Keys and values depend on everything before, not on the tokens of their page."""
    steps = (
        comes("a", 1, 2, 1, 2, 3, 4, 3, 4),
        computes("a", 8),
        comes("c", 5, 6, 7, 8, 5),
        computes("c", 5),
        comes("b", *prompt),
    )
    assert_found(grade, _sharing(*steps), b=4 if prompt[0] == 5 else 0)


def test_task_4_tokens_are_compared_where_hashes_are_the_same(grade: Grader) -> None:
    """It happens by chance, or somebody looks for such tokens to read another's."""
    steps = (comes("a", 1, 2, 3, 4, 5), computes("a", 5), comes("b", 6, 7, 8, 9, 5))
    call = Service(MANAGER, (8, 4), steps=steps, hashes="lambda tokens, parent=-1: 7")
    assert_found(grade, call, b=0)


@pytest.mark.parametrize(
    "steps",
    [
        (comes("b", 3, 4, 9),),
        (comes("b", 1, 2, 1, 2, 9),),
        (comes("c", 1, 7, 8), computes("c", 3), comes("b", 1, 7, 3, 4, 9)),
    ],
    ids=["without-it", "twice", "after-another"],
)
def test_task_4_tokens_before_are_compared_where_hashes_are_the_same(
    grade: Grader, steps: tuple[Step, ...]
) -> None:
    """What follows other tokens has other keys, even if it is the same."""
    before = (comes("a", 1, 2, 3, 4, 5), computes("a", 5))
    assert_kept(grade, _weakly_hashed(*before, *steps))


def test_task_4_text_before_may_have_another_with_its_hash(grade: Grader) -> None:
    """The page before is taken, its successor is not, and its hash means a new text."""
    steps = (
        comes("a", 1, 2, 9),
        comes("b", *range(1, 10)),
        computes("a", 3),
        computes("b", 9),
        leaves("a"),
        leaves("b"),
        comes("c", *range(50, 62)),
        comes("d", 1, 7, 8),
        computes("d", 3),
        comes("e", 1, 7, 3, 4, 9),
    )
    assert_kept(grade, _weakly_hashed(*steps))


def test_task_4_pages_of_one_text_may_come_from_two_requests(grade: Grader) -> None:
    """Each page was computed by the one who was first there."""
    steps = (
        comes("a", *range(9)),
        comes("b", *range(9)),
        computes("a", 4),
        computes("b", 9),
        comes("c", *range(9)),
    )
    assert_found(grade, _sharing(*steps), c=8)


def test_task_4_answers_are_shared_too(grade: Grader) -> None:
    """The next turn of a chat begins with all that was said."""
    steps = (
        comes("a", 1, 2, 3),
        computes("a", 3),
        says("a", 4, 5, 6),
        computes("a", 3),
        comes("b", 1, 2, 3, 4, 5, 6, 7),
    )
    assert_found(grade, Service(MANAGER, (8, 2), steps=steps), b=6)


@pytest.mark.parametrize("num_others", [0, 1])
def test_task_4_freed_pages_are_found(grade: Grader, num_others: int) -> None:
    """Until they are taken for something else, those free for longest first."""
    others = (comes("c", *range(50, 58)), computes("c", 8))
    steps = (
        comes("a", *range(9)),
        computes("a", 9),
        leaves("a"),
        *others[: 2 * num_others],
        comes("b", *range(9)),
    )
    assert_found(grade, _sharing(*steps), b=8)


def test_task_4_text_is_found_again_after_its_pages_were_taken(grade: Grader) -> None:
    """It was forgotten with them. Where it is computed next are other pages."""
    steps = (
        comes("a", *range(9)),
        computes("a", 9),
        leaves("a"),
        comes("b", *range(50, 82)),
        leaves("b"),
        comes("c", *range(60, 69)),
        comes("d", *range(9)),
        computes("d", 9),
        comes("e", *range(9)),
    )
    assert_found(grade, _sharing(*steps), d=0, e=8)


def test_task_4_beginnings_are_found_for_longest(grade: Grader) -> None:
    """More texts begin alike than end alike."""
    steps = (
        comes("a", *range(12)),
        computes("a", 12),
        leaves("a"),
        comes("c", *range(50, 75)),
        leaves("c"),
        comes("b", *range(12), 99),
    )
    assert_found(grade, _sharing(*steps), b=4)


def test_task_4_preempted_request_finds_its_own_pages(grade: Grader) -> None:
    steps = (comes("a", *range(9)), computes("a", 9), waits("a"), returns("a"))
    assert_found(grade, _sharing(*steps), a=8)


def test_task_4_shared_pages_stay_until_the_last_one_leaves(grade: Grader) -> None:
    steps = (
        comes("a", *range(9)),
        computes("a", 9),
        comes("b", *range(8), 70),
        computes("b", 1),
        leaves("a"),
        comes("c", *range(50, 70)),
        computes("c", 20),
        leaves("b"),
    )
    assert_refused(grade, _sharing(*steps))


def test_task_4_two_requests_may_compute_the_same(grade: Grader) -> None:
    """They came together, so neither found the other. A hash has two pages then."""
    steps = (
        comes("a", *range(5)),
        comes("b", *range(5)),
        computes("a", 5),
        computes("b", 5),
        leaves("a"),
        leaves("b"),
        comes("c", *range(50, 82)),
        leaves("c"),
        comes("d", *range(5)),
    )
    assert_found(grade, _sharing(*steps), b=0, d=0)


@pytest.mark.parametrize(
    ("steps", "refused"),
    [
        ((), ()),
        ((comes("c", 60, 61, 62, 63, 64),), ("b",)),
        ((leaves("a"), comes("c", 60)), ()),
        ((leaves("a"), comes("c", 60, 61, 62, 63, 64)), ("b",)),
    ],
    ids=["fits", "full", "freed", "freed-and-full"],
)
def test_task_4_manager_knows_who_fits(
    grade: Grader, steps: tuple[Step, ...], refused: tuple[str, ...]
) -> None:
    """Shared pages cost nothing while somebody uses them. Else they are free ones."""
    before = (comes("a", *range(9)), computes("a", 9))
    last = comes("b", *range(8), 70, 71, 72, 73, 74)
    call = Service(MANAGER, (5, 4), steps=(*before, *steps, last))
    assert_refused(grade, call, *refused)


def test_task_4_prompt_whose_log_probabilities_are_wanted_is_computed(
    grade: Grader,
) -> None:
    """They come from the logits of all its tokens."""
    steps = (
        comes("a", *range(9)),
        computes("a", 9),
        comes("b", *range(9), wants_logprobs=True),
    )
    assert_found(grade, _sharing(*steps), b=0)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (((1, 2, 3), -1), ((1, 2, 3), -1), True),
        (((1, 2, 3),), ((1, 2, 3), -1), True),
        (([1, 2, 3], 5), ((1, 2, 3), 5), True),
        (((1, 2, 3), 5), ((1, 2, 3), 6), False),
        (((1, 2, 3), -1), ((1, 2, 4), -1), False),
        (((1, 2, 3), -1), ((3, 2, 1), -1), False),
        (((0, 1, 2), -1), ((1, 1, 1), -1), False),
    ],
    ids=["same", "default", "list", "parent", "token", "order", "sum"],
)
def test_task_4_hash_is_that_of_the_text(
    grade: Grader, one: tuple[object, ...], other: tuple[object, ...], *, is_same: bool
) -> None:
    first, second = (
        Call(MANAGER, args, build=(8, 3), method="compute_hash")
        for args in (one, other)
    )
    got = grade.run(first) == grade.run(second)
    key = "hash_differs" if is_same else "hash_is_the_same"
    text = say(f"{SAID}.pages.{key}", call=first)
    grade.assert_that(got == is_same, second, text)


def test_task_4_hash_is_a_number(grade: Grader) -> None:
    """The text itself would grow with each page, since it is the next one's parent."""
    call = Call(MANAGER, ((1, 2, 3), -1), build=(8, 3), method="compute_hash")

    got = grade.run(call)
    text = say(f"{SAID}.pages.hash_is_no_number", got=type(got).__name__)
    grade.assert_that(isinstance(got, int), call, text)


@pytest.mark.parametrize("page_size", [2, 1])
def test_task_4_manager_keeps_its_promises(grade: Grader, page_size: int) -> None:
    """Whatever happens: what a request finds in a page is its own text."""
    assert_kept(grade, AnyService(MANAGER, (6, page_size)))


def _service(*steps: Step) -> Service:
    """Return eight pages of four tokens, with nothing to share."""
    return Service(MANAGER, (8, 4), steps=steps, shares=False)


def _sharing(*steps: Step) -> Service:
    """Return eight pages of four tokens, which are shared."""
    return Service(MANAGER, (8, 4), steps=steps)


def _weakly_hashed(*steps: Step) -> Service:
    """Return eleven pages of two tokens, which many texts have in common by hash."""
    weak = "lambda tokens, parent=-1: tokens[0]"
    return Service(MANAGER, (11, 2), steps=steps, hashes=weak)


def _assert_filled(
    grade: Grader,
    pieces: tuple[int, ...],
    part: Part,
    dtype: mx.Dtype,
    *,
    num_before: int = 0,
    **how: object,
) -> None:
    """Fill a cache, and compare what it holds with what was put in."""
    num_tokens = num_before + sum(pieces)
    keys, values = (
        normal(1, 2, num_tokens, 6, dtype=dtype, name=name)
        for name in ("keys", "values")
    )

    call = PagedFilling(
        CACHE,
        (keys, values),
        pieces=pieces,
        part=part,
        num_before=num_before,
        **how,  # pyright: ignore[reportArgumentType] - by their names
    )

    grade.assert_close(call, copied(wide(keys if part == "keys" else values)), dtype)
