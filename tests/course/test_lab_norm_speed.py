"""`pdm run lab norm-speed`: interleaved norms, and claims compared with them."""

import csv
import time
from dataclasses import asdict
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest
import torch
from click.testing import CliRunner
from torch.nn import functional

from tiny_llm_course.solution import load_solution
from tiny_llm_lab.commands.lab import command
from tiny_llm_lab.experiments.experiment import run
from tiny_llm_lab.experiments.norm_speed import (
    contest,
    in_mlx,
    in_torch,
    lab,
    whole_model,
)
from tiny_llm_lab.experiments.norm_speed.claims import CLAIMS, Claim, saved_by
from tiny_llm_lab.experiments.norm_speed.contest import (
    BOTH,
    COPY,
    FORWARD,
    LAYER,
    LAYER_BUILT_IN,
    LAYER_BY_VAR,
    MLX,
    RMS,
    TORCH,
    TRAINING,
    Case,
    Entrant,
    moved_bytes,
)
from tiny_llm_lab.experiments.norm_speed.results import results
from tiny_llm_lab.experiments.small_model import Size
from tiny_llm_lab.timing import Rounds, Spread, in_turns

NUM_QUICK_ROWS = 2 * (3 + 4 + 4 + 3 + 6) + 3 * 4 + 2
"""Both ways: variants of five forms, copies included; roots; a model with two norms."""


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make everything so small that a case takes milliseconds."""
    monkeypatch.setattr(contest, "NUM_ELEMENTS", 2 * 896)
    monkeypatch.setattr(lab, "ROUNDS", Rounds(budget_s=0, least=2, most=2))
    monkeypatch.setattr(whole_model, "SIZE", Size(32, 8, 2, 2, 4))


class SlowingMachine:
    """A clock for a machine on which everything takes longer each time."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.num_steps = 0

    def work(self, seconds: float) -> None:
        self.num_steps += 1
        self.now_s += seconds * (1 + self.num_steps / 1000)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> SlowingMachine:
    machine = SlowingMachine()
    monkeypatch.setattr(time, "perf_counter", lambda: machine.now_s)
    return machine


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "norm-speed.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.usefixtures("tiny", "uncompiled")
def test_the_lab_prints_both_tables_and_keeps_a_row_for_each_variant(
    tmp_path: Path,
) -> None:
    arguments = ["norm-speed", "--quick", "--out", str(tmp_path)]

    result = CliRunner().invoke(command, arguments)

    assert result.exit_code == 0
    assert "Layer / RMS" in result.stdout
    assert "What others say, and what was measured here" in result.stdout
    assert "7 to 64 %" in result.stdout
    assert len(rows(tmp_path)) == NUM_QUICK_ROWS
    assert (tmp_path / "norm-speed.png").stat().st_size > 10_000
    assert "<svg" in (tmp_path / "norm-speed.svg").read_text()


@pytest.mark.usefixtures("tiny", "uncompiled")
def test_cases_that_were_measured_are_not_measured_again(tmp_path: Path) -> None:
    arguments = lab.LAB, load_solution("ref"), tmp_path

    def stop(done: int, total: int, case: str) -> None:
        del total, case
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(*arguments, stop, quick=True)
    kept = rows(tmp_path)
    run(*arguments, lambda *_: None, quick=True)

    assert len(kept) == 3 + 3 + 4
    assert rows(tmp_path)[: len(kept)] == kept
    assert len(rows(tmp_path)) == NUM_QUICK_ROWS


@pytest.mark.usefixtures("tiny", "uncompiled")
@pytest.mark.parametrize("form", ["hand-written", "compiled"])
@pytest.mark.parametrize(("direction", "copies"), [(BOTH, 1), (TRAINING, 3)])
def test_a_whole_model_goes_back_and_trains(
    form: str, direction: str, copies: int
) -> None:
    """Adam stores two numbers for each weight, which count as well."""
    case = asdict(Case("model", MLX, form, "float32", 8, direction))

    rms, layer = lab.measure(case, REF)

    weights = 32 * 8 + 2 * (4 * 8 * 8 + 3 * 8 * 22) + 5 * 8
    assert float(rms["held_bytes"]) == pytest.approx(4 * copies * weights, abs=16)
    assert float(layer["held_bytes"]) > float(rms["held_bytes"])
    assert float(rms["peak_bytes"]) > 0


def test_compiled_norm_goes_back_in_less_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Elsewhere nothing is compiled, as that takes 0.4 s for each kernel."""
    monkeypatch.setattr(contest, "NUM_ELEMENTS", 200 * 896)
    peak_bytes = {}
    for form in ("hand-written", "compiled"):
        own = in_mlx.contest(Case("norm", MLX, form, "float32", 896, BOTH), REF)
        peak_bytes[form] = own.peak_bytes(own.entrants[RMS].step)

    assert 0 < peak_bytes["compiled"] < peak_bytes["hand-written"]


def test_every_claim_is_measured_by_the_full_lab() -> None:
    """A claim about a case that is not measured would be left out silently."""
    measured = {
        (case.part, case.direction, case.form)
        for case in map(Case.of, lab.cases(quick=False))
    }

    unmeasured = [
        claim
        for claim in CLAIMS
        if not any(
            (part, direction) == (claim.part, claim.direction)
            and claim.form in ("", form)
            for part, direction, form in measured
        )
    ]
    assert unmeasured == []


def test_a_step_three_times_as_slow_has_a_ratio_of_three(
    machine: SlowingMachine,
) -> None:
    """The machine ends up several times as slow as it was: rounds are compared."""
    steps = {"a": lambda: machine.work(0.5), "b": lambda: machine.work(1.5)}

    times = in_turns(steps, Rounds(budget_s=4000, least=2, most=2000))

    row = lab.timed(times["b"], times["a"], Entrant(steps["b"], 0, 6 * 10**9))
    assert row["rounds"] > 1900
    assert times["a"].wall_s[-1] > 4 * times["a"].wall_s[0]
    assert row["times_first"] == pytest.approx(3, rel=2e-3)
    assert row["gb_per_s"] == pytest.approx(6 / float(row["median_s"]), rel=1e-3)


def test_steps_take_turns_in_changing_order(machine: SlowingMachine) -> None:
    order: list[str] = []

    def step(name: str) -> None:
        order.append(name)
        machine.work(1)

    in_turns(
        {"a": lambda: step("a"), "b": lambda: step("b")},
        Rounds(budget_s=0, least=20, most=20),
    )

    timed = order[4:]
    pairs = set(zip(timed[::2], timed[1::2], strict=True))
    assert pairs == {("a", "b"), ("b", "a")}


@pytest.mark.parametrize(("budget_s", "number"), [(0, 7), (100, 10), (1000, 60)])
def test_rounds_fill_the_budget_within_limits(budget_s: float, number: int) -> None:
    assert Rounds(budget_s, least=7, most=60).number(10.0) == number


@pytest.mark.parametrize(("direction", "arrays"), [(FORWARD, 2), (BOTH, 5)])
def test_a_norm_moves_what_it_cannot_help(direction: str, arrays: int) -> None:
    assert moved_bytes(direction, 1000) == 1000 * arrays


@pytest.mark.parametrize("library", [MLX, TORCH])
@pytest.mark.parametrize("dtype", lab.DTYPES)
def test_a_copy_takes_the_memory_of_one_array(library: str, dtype: str) -> None:
    """The result is known beforehand, so this tests the counter."""
    case = Case("root", library, "hand-written", dtype, 4096, FORWARD)
    own = in_torch.contest(case) if library == TORCH else in_mlx.contest(case, REF)

    peak_bytes = own.peak_bytes(own.entrants[COPY].step)

    rows, width = case.shape
    itemsize = 4 if dtype == "float32" else 2
    assert own.entrants[COPY].moved_bytes == 2 * rows * width * itemsize
    assert peak_bytes == pytest.approx(rows * width * itemsize, rel=1e-3)


def test_a_fused_layer_norm_takes_an_array_forward_and_one_back() -> None:
    """Its result and the gradient of x, which are there at the same time."""
    case = Case("norm", TORCH, "functional", "float32", 4096, BOTH)
    own = in_torch.contest(case)

    peak_bytes = own.peak_bytes(own.entrants[LAYER].step)

    assert peak_bytes == pytest.approx(2 * 4 * contest.NUM_ELEMENTS, rel=1e-2)


def test_pytorch_has_a_kernel_for_layer_norm() -> None:
    assert in_torch.about()["functional here"].endswith("LayerNorm is one kernel")


REF = load_solution("ref")
X = np.random.default_rng(0).normal(1, 2, (5, 64)).astype(np.float32)
GAIN = np.linspace(0.5, 2, 64, dtype=np.float32)
BIAS = np.linspace(-1, 1, 64, dtype=np.float32)
RIGHT = {
    "rms": functional.rms_norm(
        torch.from_numpy(X), (64,), torch.from_numpy(GAIN), contest.EPS
    ),
    "layer": functional.layer_norm(
        torch.from_numpy(X),
        (64,),
        torch.from_numpy(GAIN),
        torch.from_numpy(BIAS),
        contest.EPS,
    ),
}


@pytest.mark.parametrize(
    ("norms", "name"),
    [
        (norms, name)
        for norms in (in_torch.by_hand(), in_torch.built_in(), in_torch.roots())
        for name in norms
        if name != contest.PARTIAL
    ],
)
def test_what_is_compared_in_pytorch_computes_the_same(
    norms: dict[str, in_torch.Norm], name: str
) -> None:
    """A norm that is fast because it is wrong would win."""
    learned = [GAIN, BIAS][: contest.num_learned(name)]

    result = norms[name](*map(torch.from_numpy, [X, *learned]))

    right = RIGHT["layer" if name in (LAYER, LAYER_BY_VAR, LAYER_BUILT_IN) else "rms"]
    torch.testing.assert_close(result, right)


@pytest.mark.parametrize(
    ("norms", "name"),
    [
        (norms, name)
        for norms in (in_mlx.of_solution(64, REF), in_mlx.built_in(), in_mlx.roots())
        for name in norms
        if name != contest.PARTIAL
    ],
)
def test_what_is_compared_in_mlx_computes_the_same(
    norms: dict[str, in_mlx.Norm], name: str
) -> None:
    learned = [GAIN, BIAS][: contest.num_learned(name)]

    result = norms[name](*map(mx.array, [X, *learned]))

    right = RIGHT["layer" if name == LAYER else "rms"]
    np.testing.assert_allclose(np.array(result), right.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        (Spread(5, 8, 12), "seen"),
        (Spread(1, 2, 3), "less"),
        (Spread(70, 75, 80), "more"),
        (Spread(-2, 1, 3), "not seen"),
        (Spread(-2, 5, 9), "cannot tell"),
        (Spread(-9, -5, -1), "opposite"),
    ],
)
def test_a_claim_is_held_against_the_spread(seen: Spread, verdict: str) -> None:
    claim = Claim("paper", 7, 64, "norm", FORWARD, LAYER)

    assert claim.verdict(seen) == verdict


@pytest.mark.parametrize(("factor", "saved"), [(1, 0), (2, 50), (0.5, -100), (4, 75)])
def test_a_factor_is_turned_into_a_saving(factor: float, saved: float) -> None:
    assert saved_by(factor) == saved


def test_a_saving_of_memory_counts_what_is_held() -> None:
    """100 bytes on top of 300, beside 200 on top of 300, are a fifth less."""
    case = {
        "part": "model",
        "library": MLX,
        "form": "compiled",
        "dtype": "float32",
        "width": 512,
        "direction": "training",
    }
    measured = [
        {**case, "variant": RMS, "held_bytes": 300, "peak_bytes": 100},
        {**case, "variant": LAYER, "held_bytes": 300, "peak_bytes": 200},
    ]
    (claim,) = (claim for claim in CLAIMS if claim.of_memory)

    seen = claim.seen(results(measured)[0])

    assert seen.middle == pytest.approx(20)
