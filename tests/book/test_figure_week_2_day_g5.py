"""The first interactive figure of day G5 merges parts as the kernel does."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import mlx.core as mx
import pytest
from tests.book.conftest import OpenFigure

from tiny_llm_course.kernel_costs.counted import counted as counting
from tiny_llm_ref import metal_attention

CHAPTER = "week-2-day-g5-metal-attention"
NAME = "keys-in-parts"

LANES = 32


@dataclass(frozen=True)
class Setting:
    """Where the controls of the figure stand.

    Attributes:
        groups: SIMD groups.
        keys: That they share.
        step: How far they have come.
    """

    groups: int = 8
    keys: int = 20
    step: int = 2

    @property
    def taken(self) -> range:
        """The keys of all steps so far."""
        return range(min(self.keys, self.groups * self.step))


def attend(scores: Sequence[float], values: Sequence[float]) -> float:
    """Compute the mean of the values in one go, by its definition."""
    weights = [math.exp(score) for score in scores]
    products = zip(weights, values, strict=True)
    return sum(weight * value for weight, value in products) / sum(weights)


def run_kernel(figure: OpenFigure, setting: Setting) -> float:
    """Run the kernel for one token in the simulator, with heads of width 1."""
    keys, values = (
        mx.array(figure.data[name][: setting.keys]).reshape(1, 1, -1, 1)
        for name in ("scores", "values")
    )
    threads = (LANES * setting.groups, 1, 1)
    template = {"GROUPS": setting.groups}
    with counting((), template, grid=threads, threadgroup=threads):
        y = metal_attention.attention_one_token(
            mx.ones((1, 1, 1, 1)), keys, values.astype(mx.float32)
        )
    return y.item()


@pytest.mark.parametrize(
    "setting",
    [
        Setting(),
        Setting(groups=1, step=17),
        Setting(groups=4, keys=24, step=5),
        Setting(keys=5, step=1),
        Setting(groups=2, keys=1, step=1),
    ],
)
def test_parts_are_merged_to_the_softmax_of_the_keys_so_far(
    figure: OpenFigure, setting: Setting
) -> None:
    scores, values = (
        [figure.data[name][key] for key in setting.taken]
        for name in ("scores", "values")
    )

    figure.set(groups=setting.groups, keys=setting.keys, step=setting.step)

    assert figure.read("result") == pytest.approx(attend(scores, values))
    assert figure.read("direct") == pytest.approx(attend(scores, values))


@pytest.mark.parametrize(("groups", "keys"), [(8, 20), (8, 5), (1, 24), (4, 23)])
def test_the_simulator_merges_to_the_same(
    figure: OpenFigure, groups: int, keys: int
) -> None:
    setting = Setting(groups=groups, keys=keys)
    last = -(-keys // groups) + 1

    figure.set(groups=groups, keys=keys, step=last)

    expected = run_kernel(figure, setting)
    assert figure.read("result") == pytest.approx(expected, rel=1e-5)
    assert figure.read("steps") == last - 1


def test_a_part_weighs_by_its_maximum(figure: OpenFigure) -> None:
    scores = figure.data["scores"][:20]
    most = [max(scores[part::8]) for part in range(8)]

    figure.set(step=3)

    expected = [math.exp(one - max(most)) for one in most]
    assert figure.read("factors") == pytest.approx(expected)
    assert figure.read("busy") == 4


def test_a_simd_group_without_a_key_weighs_nothing(figure: OpenFigure) -> None:
    figure.set(keys=5, step=1)

    assert figure.read("factors")[5:] == [0, 0, 0]


def test_parts_that_are_added_as_they_are_are_wrong(figure: OpenFigure) -> None:
    figure.set(step=3)

    apart = figure.read("unweighted") - figure.read("result")
    assert abs(apart) > 0.1
