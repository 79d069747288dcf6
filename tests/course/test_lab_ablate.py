"""The comparison of designs: what it trains, and how it judges."""

import math
from dataclasses import asdict

import pytest

from tiny_llm_course.places import RESULTS
from tiny_llm_lab.experiments import ablate
from tiny_llm_lab.records import Row

BASELINE, NO_NORM = ablate.arms()[:2]
RATES = ablate.LEARNING_RATES


def row(arm: ablate.Arm, rate: float, seed: int, loss: float) -> Row:
    return {
        **asdict(arm),
        "learning_rate": rate,
        "seed": seed,
        "parameters": 1000,
        "train_loss": loss,
        "held_out_loss": loss,
    }


def sweep(arm: ablate.Arm, losses: dict[float, tuple[float, ...]]) -> list[Row]:
    return [
        row(arm, rate, seed, loss)
        for rate, of_seeds in losses.items()
        for seed, loss in enumerate(of_seeds)
    ]


def test_arms_differ_from_the_baseline_in_one_factor() -> None:
    usual = asdict(BASELINE.design)

    changed = [
        {name for name, choice in asdict(arm.design).items() if choice != usual[name]}
        for arm in ablate.arms()[1:]
    ]

    assert changed == [{arm.factor} for arm in ablate.arms()[1:]]
    assert len(ablate.arms()) == 1 + 3 + 1 + 6 + 2 + 1


def test_every_arm_is_swept_and_its_best_rate_repeated() -> None:
    best = {arm: RATES[place % 3] for place, arm in enumerate(ablate.arms())}
    rows = [row(arm, rate, 0, abs(rate - best[arm])) for arm in best for rate in RATES]

    assert ablate.cases(quick=False) == [
        {key: one[key] for key in ablate.LAB.keys} for one in rows
    ]
    assert ablate.repeats(rows[:-1]) == []
    assert ablate.repeats(rows) == [
        {**asdict(arm), "learning_rate": best[arm], "seed": seed}
        for seed in (1, 2)
        for arm in best
    ]


def test_quick_trainings_are_some_of_the_committed_ones() -> None:
    """So that a quick run can be compared with the committed rows."""
    committed = ablate.LAB.kept(RESULTS)
    keys = {committed.key(row) for row in committed.read()}

    assert keys >= {committed.key(case) for case in ablate.cases(quick=True)}


def test_quick_trainings_are_the_best_and_the_worst() -> None:
    found = ablate.results(ablate.LAB.kept(RESULTS).read())
    ranked = sorted(found, key=lambda result: result.loss)

    extremes = [found[0], ranked[0], ranked[-2], ranked[-1]]
    assert tuple((one.arm, one.learning_rate) for one in extremes) == ablate.EXTREMES


def test_an_arm_is_judged_at_the_rate_that_was_best_for_the_first_seed() -> None:
    rows = sweep(BASELINE, {0.003: (2.0,), 0.01: (1.5, 1.7), 0.03: (1.6,)})

    (result,) = ablate.results(rows)

    assert result.learning_rate == pytest.approx(0.01)
    assert result.loss == pytest.approx(1.6)
    assert result.spread == pytest.approx(math.sqrt(2) / 10)
    assert not result.is_at_edge


def test_a_training_that_ended_in_nan_is_not_the_best() -> None:
    rows = sweep(BASELINE, {0.003: (2.0,), 0.01: (math.nan,)})

    (result,) = ablate.results(rows)

    assert result.learning_rate == pytest.approx(0.003)


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ((1.9, 2.1), "+0.400"),
        ((1.4, 2.1), "+0.150 (seeds disagree)"),
        ((1.4, 1.5), "-0.150"),
    ],
)
def test_an_arm_is_compared_seed_by_seed(
    losses: tuple[float, ...], expected: str
) -> None:
    rows = [
        *sweep(BASELINE, {0.01: (1.5, 1.7)}),
        *sweep(NO_NORM, {0.01: losses}),
    ]

    table = ablate.summary(rows)

    assert [line["against baseline"] for line in table] == ["", expected]


def test_the_edge_of_the_sweep_is_told() -> None:
    rows = sweep(BASELINE, {0.01: (1.5,), 0.03: (1.4,)})

    (line,) = ablate.summary(rows)
    assert line["learning rate"] == "0.03 (edge)"
    assert line["held-out loss"] == "1.400"
