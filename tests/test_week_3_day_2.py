"""Week 3, day 2: a scheduler with one budget, and steps for texts of mixed lengths.

The chapter: book/en/week-3-day-2-scheduler.md
"""

import random

import mlx.core as mx
import pytest
from mlx import nn

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.closeness import Truth
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import each_dtype
from tiny_llm_course.grading.scenarios import fairness
from tiny_llm_course.grading.scenarios.architecture import (
    UNUSUAL,
    Architecture,
    Weights,
    dequantised,
    embedded,
    mlx_model,
    model_weights,
)
from tiny_llm_course.grading.scenarios.fairness import Rule, first_complaint
from tiny_llm_course.grading.scenarios.loads import Job
from tiny_llm_course.grading.scenarios.pieces import (
    RUN_PIECES,
    InSteps,
    LeftBehind,
    Step,
)
from tiny_llm_course.grading.scenarios.scheduling import SCHEDULER, Load
from tiny_llm_course.oracle.cached import qwen2


def _load(
    seats: int,
    budget: int,
    *jobs: Job,
    memory: int | None = None,
    shared: int = 0,
    again: int = 0,
    quiet: bool = False,
) -> Load:
    """Return a load. Of what memory finds, `again` is for those that it had before."""
    return Load(
        SCHEDULER,
        (seats, budget),
        jobs=jobs,
        num_places=memory,
        num_shared=shared,
        num_found_again=again,
        is_quiet=quiet,
    )


def _drawn(seed: int, *, has_memory: bool) -> Load:
    """Draw a load: requests of all lengths, that come when they like."""
    chosen = random.Random(seed)  # noqa: S311 - not for secrets
    seats = chosen.randint(1, 4)
    jobs = [
        Job(
            chosen.randint(1, 10),
            chosen.randint(1, 10),
            comes=chosen.randint(0, 12),
            ends=chosen.choice([None, None, 3]),
        )
        for _ in range(6)
    ]
    jobs.sort(key=lambda job: job.comes)
    memory = chosen.randint(19, 24) if has_memory else None
    return _load(seats, chosen.randint(seats, 9), *jobs, memory=memory)


LOADS = {
    "alone": _load(1, 8, Job(5, 3)),
    "long-prompt": _load(1, 4, Job(11, 2)),
    "nothing-said-between": _load(1, 4, Job(11, 2), quiet=True),
    "two": _load(2, 8, Job(5, 4), Job(3, 2)),
    "long-beside-short": _load(2, 6, Job(3, 8), Job(20, 3, comes=2)),
    "long-before-short": _load(3, 6, Job(15, 3), Job(3, 2), Job(2, 2, comes=1)),
    "more-than-seats": _load(2, 9, *[Job(2 + one, 3) for one in range(5)]),
    "a-token-for-each": _load(3, 3, Job(4, 3), Job(2, 3), Job(5, 2)),
    "full-to-the-last": _load(2, 6, Job(4, 2), Job(8, 2), Job(6, 2)),
    "all-ways-to-end": _load(
        3, 8, Job(3, 4, ends=2), Job(2, 3, ends=0), Job(4, 3, ends=1, ignores_end=True)
    ),
    "two-crowds": _load(
        2, 7, Job(9, 2), Job(2, 4), Job(3, 1, comes=9), Job(8, 2, comes=9)
    ),
    **{f"drawn-{seed}": _drawn(seed, has_memory=False) for seed in range(6)},
}
"""Nobody is short of memory."""

SCARCE = {
    "all-fit": _load(2, 8, Job(4, 3), Job(3, 3), memory=20),
    "to-the-last-place": _load(1, 8, Job(5, 6), memory=10),
    "last-goes": _load(3, 12, Job(4, 6), Job(4, 6), memory=10),
    "one-waits": _load(3, 12, Job(6, 3), Job(6, 3), Job(1, 2), memory=13),
    "several-go": _load(4, 16, Job(5, 7), Job(2, 6), Job(2, 6), Job(1, 6), memory=12),
    "goes-in-its-prompt": _load(2, 4, Job(3, 7), Job(9, 2), memory=12),
    "goes-itself": _load(2, 9, Job(4, 5), Job(4, 5), memory=9),
    "found-in-memory": _load(2, 4, Job(6, 3), Job(9, 3), memory=30, shared=4),
    "goes-and-is-found": _load(3, 12, Job(5, 6), Job(5, 6), memory=12, again=4),
    **{f"scarce-{seed}": _drawn(seed, has_memory=True) for seed in range(6)},
}
"""Memory is a few tokens, and some have to go."""

LEAVERS = {
    "while-it-waits": _load(1, 8, Job(4, 4), Job(3, 4, leaves=2), Job(2, 2), memory=12),
    "while-it-runs": _load(2, 8, Job(4, 4, leaves=2), Job(3, 4), memory=12),
    "in-its-prompt": _load(2, 3, Job(9, 2, leaves=2), Job(2, 2), memory=12),
    "during-a-step": _load(2, 8, Job(4, 4, fails_in=2), Job(3, 4), memory=14),
    "during-its-prompt": _load(2, 3, Job(9, 2, fails_in=1), Job(2, 2), memory=14),
    "after-it-went": _load(3, 12, Job(4, 6), Job(4, 6, leaves=4), memory=10),
    "after-the-end": _load(1, 8, Job(3, 1, leaves=2), Job(4, 3), memory=12),
    "no-memory": _load(2, 8, Job(4, 4, leaves=2), Job(3, 4, fails_in=3)),
}
"""Somebody leaves before the end."""


def _named(loads: dict[str, Load]) -> pytest.MarkDecorator:
    """Run a test with each of some loads."""
    return pytest.mark.parametrize("load", list(loads.values()), ids=list(loads))


def _assert_kept(grade: Grader, load: Load, rule: Rule) -> None:
    """Fail with the first complaint of a rule about a load, if it has any."""
    served = grade.run(load)

    complaint = first_complaint(rule, load, served)
    grade.assert_that(not complaint, load, complaint)


@_named(LOADS)
def test_task_1_keeps_to_the_budget(grade: Grader, load: Load) -> None:
    """The budget is of tokens, of all requests together."""
    _assert_kept(grade, load, fairness.keeps_to_the_budget)


@_named(LOADS)
def test_task_1_keeps_to_the_seats(grade: Grader, load: Load) -> None:
    _assert_kept(grade, load, fairness.keeps_to_the_seats)


@_named(LOADS)
def test_task_1_leaves_nobody_out_that_runs(grade: Grader, load: Load) -> None:
    """However long a prompt comes in, who runs gets a token in each step."""
    _assert_kept(grade, load, fairness.leaves_nobody_out)


@_named(LOADS)
def test_task_1_serves_first_who_comes_first(grade: Grader, load: Load) -> None:
    _assert_kept(grade, load, fairness.is_first_come_first_served)


@_named(LOADS)
def test_task_1_leaves_no_token_unused(grade: Grader, load: Load) -> None:
    """While there are tokens left in a step, nobody lacks one or a seat."""
    _assert_kept(grade, load, fairness.wastes_nothing)


@_named(LOADS)
def test_task_1_answers_as_if_each_were_alone(grade: Grader, load: Load) -> None:
    """The model says something after each piece, also where nobody asks it to."""
    _assert_kept(grade, load, fairness.answers_as_if_alone)


@_named(LOADS)
def test_task_1_tells_why_each_ended(grade: Grader, load: Load) -> None:
    _assert_kept(grade, load, fairness.tells_why_each_ended)


@_named(LOADS)
def test_task_1_returns_each_that_ended_once(grade: Grader, load: Load) -> None:
    _assert_kept(grade, load, fairness.returns_each_that_ended_once)


@_named(LOADS)
def test_task_1_shows_who_runs_and_who_waits(grade: Grader, load: Load) -> None:
    _assert_kept(grade, load, fairness.shows_who_runs_and_who_waits)


@_named(SCARCE)
def test_task_2_answers_as_if_each_were_alone(grade: Grader, load: Load) -> None:
    """A request that went goes on where it was: its output is part of its text."""
    _assert_kept(grade, load, fairness.answers_as_if_alone)


@_named(SCARCE)
def test_task_2_keeps_what_was_said(grade: Grader, load: Load) -> None:
    """Somebody has read it."""
    _assert_kept(grade, load, fairness.takes_nothing_back)


@_named(SCARCE)
def test_task_2_gives_all_memory_back(grade: Grader, load: Load) -> None:
    _assert_kept(grade, load, fairness.gives_all_memory_back)


@_named(SCARCE)
def test_task_2_preempts_the_last_that_came(grade: Grader, load: Load) -> None:
    """Otherwise those that came later go on without it."""
    _assert_kept(grade, load, fairness.is_first_come_first_served)


@_named(SCARCE)
def test_task_2_preempts_only_when_memory_is_refused(grade: Grader, load: Load) -> None:
    _assert_kept(grade, load, fairness.preempts_only_when_refused)


@_named(SCARCE)
def test_task_2_admits_nobody_when_it_preempts(grade: Grader, load: Load) -> None:
    """Whoever was just preempted would take its place again, and be preempted again."""
    _assert_kept(grade, load, fairness.admits_nobody_when_it_preempts)


@_named(SCARCE)
def test_task_2_leaves_nobody_out_that_runs(grade: Grader, load: Load) -> None:
    """The first that came gets on in each step, however little memory there is."""
    _assert_kept(grade, load, fairness.leaves_nobody_out)


@_named(SCARCE)
def test_task_2_keeps_to_the_budget(grade: Grader, load: Load) -> None:
    _assert_kept(grade, load, fairness.keeps_to_the_budget)


@_named(SCARCE)
def test_task_2_leaves_no_token_unused(grade: Grader, load: Load) -> None:
    """Somebody who fits into memory does not wait."""
    _assert_kept(grade, load, fairness.wastes_nothing)


@_named(SCARCE)
def test_task_2_shows_who_runs_and_who_waits(grade: Grader, load: Load) -> None:
    """Who was preempted waits in front of all others."""
    _assert_kept(grade, load, fairness.shows_who_runs_and_who_waits)


@_named(SCARCE)
def test_task_2_tells_memory_what_is_computed(grade: Grader, load: Load) -> None:
    _assert_kept(grade, load, fairness.notes_what_is_computed)


@_named(LEAVERS)
def test_task_2_gives_back_the_memory_of_those_who_leave(
    grade: Grader, load: Load
) -> None:
    _assert_kept(grade, load, fairness.gives_all_memory_back)


@_named(LEAVERS)
def test_task_2_tells_who_left(grade: Grader, load: Load) -> None:
    _assert_kept(grade, load, fairness.tells_why_each_ended)


@_named(LEAVERS)
def test_task_2_returns_only_those_that_ended_in_the_step(
    grade: Grader, load: Load
) -> None:
    _assert_kept(grade, load, fairness.returns_each_that_ended_once)


@_named(LEAVERS)
def test_task_2_goes_on_as_if_those_who_leave_had_not_been(
    grade: Grader, load: Load
) -> None:
    """Nothing is appended to their answers, and the others get theirs."""
    _assert_kept(grade, load, fairness.answers_as_if_alone)


@_named(LEAVERS)
def test_task_2_lists_nobody_who_left(grade: Grader, load: Load) -> None:
    _assert_kept(grade, load, fairness.shows_who_runs_and_who_waits)


@_named(LEAVERS)
def test_task_2_says_whether_there_was_anybody_to_abort(
    grade: Grader, load: Load
) -> None:
    _assert_kept(grade, load, fairness.says_whether_it_aborted)


TEXTS = ((3, 1, 4, 1, 5, 9, 2, 6), (5, 35, 8), (9, 7, 9, 3, 2))

STEPS: dict[str, tuple[Step, ...]] = {
    "one": ({0: 8},),
    "one-in-pieces": ({0: 3}, {0: 4}, {0: 1}),
    "alike": ({1: 3, 2: 3},),
    "mixed": ({0: 8, 1: 3, 2: 5},),
    "a-token-beside-a-prompt": ({1: 2}, {1: 1, 0: 7}),
    "pieces-beside-tokens": ({0: 4, 1: 1}, {0: 2, 1: 1, 2: 3}, {0: 2, 1: 1, 2: 2}),
    "other-order": ({0: 2, 1: 2, 2: 2}, {2: 3, 0: 1, 1: 1}),
    "one-rests": ({0: 3, 1: 1}, {1: 2}, {0: 4}),
}
"""What each step computes: how many tokens of which text."""

each_way = pytest.mark.parametrize("steps", list(STEPS.values()), ids=list(STEPS))
each_keep = pytest.mark.parametrize(
    "keep", [1, 2, (1, 0, 2), (2, 1, 1), (0, 0, 0), 0], ids=str
)


@each_dtype
@each_way
def test_task_3_each_text_is_computed_as_if_alone(
    grade: Grader, steps: tuple[Step, ...], dtype: mx.Dtype
) -> None:
    """Whatever is computed beside it, and however it is cut."""
    _assert_pieces(grade, Architecture(), dtype, steps)


@each_keep
def test_task_3_scores_as_many_positions_as_it_is_asked_for(
    grade: Grader, keep: int | tuple[int, ...]
) -> None:
    """From the end of each piece, those of the first text first."""
    steps = ({0: 3, 2: 1}, {0: 4, 1: 2, 2: 3})

    _assert_pieces(grade, Architecture(), mx.float32, steps, keep)


def test_task_3_reads_its_sizes_from_the_checkpoint(grade: Grader) -> None:
    _assert_pieces(grade, UNUSUAL, mx.float32, STEPS["pieces-beside-tokens"])


def test_task_3_has_a_head_of_its_own(grade: Grader) -> None:
    sizes = Architecture(tie_word_embeddings=False)

    _assert_pieces(grade, sizes, mx.float32, STEPS["mixed"])


def test_task_3_agrees_with_quantised_weights(grade: Grader) -> None:
    sizes = Architecture(hidden_size=64, intermediate_size=96)
    model = mlx_model(sizes, model_weights(sizes, mx.float32))
    nn.quantize(model, group_size=32, bits=4)

    call = _in_steps(model, STEPS["pieces-beside-tokens"])

    _assert_truth(grade, call, dequantised(model), sizes)


def test_task_3_agrees_on_the_checkpoint_that_comes_along(grade: Grader) -> None:
    sizes, weights = embedded()

    call = _in_steps(mlx_model(sizes, weights), STEPS["pieces-beside-tokens"])

    _assert_truth(grade, call, weights, sizes)


@pytest.mark.parametrize("keep", [1, 0], ids=["scored", "not-scored"])
def test_task_3_leaves_no_graph_behind(grade: Grader, keep: int) -> None:
    """A prompt in pieces keeps no more memory than in one, also without its logits."""
    sizes = Architecture()
    model = mlx_model(sizes, model_weights(sizes, mx.float32))
    steps = ({0: 2, 2: 1}, {0: 2}, {0: 2, 2: 1}, {0: 1})

    call = LeftBehind(RUN_PIECES, (model,), texts=TEXTS, steps=steps, keep=keep)

    number = grade.run(call)
    complaint = say("week_3_day_2.complaints.not_evaluated", number=number)
    grade.assert_that(number <= 40, call, complaint)


def _assert_pieces(
    grade: Grader,
    sizes: Architecture,
    dtype: mx.Dtype,
    steps: tuple[Step, ...],
    keep: int | tuple[int, ...] | None = None,
) -> None:
    """Run a model with random weights, and compare with `transformers`."""
    weights = model_weights(sizes, dtype)

    call = _in_steps(mlx_model(sizes, weights), steps, keep)

    _assert_truth(grade, call, weights, sizes)


def _in_steps(
    model: nn.Module,
    steps: tuple[Step, ...],
    keep: int | tuple[int, ...] | None = None,
) -> InSteps:
    """Return a call that computes the texts."""
    return InSteps(RUN_PIECES, (model,), texts=TEXTS, steps=steps, keep=keep)


def _assert_truth(
    grade: Grader, call: InSteps, weights: Weights, sizes: Architecture
) -> None:
    """Compare the logits of the last step with those of each text by itself."""
    texts = [qwen2.model(mx.array([text]), weights, sizes) for text in call.texts]

    truth: Truth = call.truth(texts)
    grade.assert_close(call, truth, weights["model.norm.weight"].dtype)
