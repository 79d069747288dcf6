"""`pdm run lab speculation`: when a draft pays."""

import csv
from pathlib import Path
from statistics import fmean

import mlx.core as mx
import numpy as np
import pytest
from click.testing import CliRunner

from tiny_llm_course.solution import load_solution
from tiny_llm_lab.bench.models import EMBEDDED_MODEL
from tiny_llm_lab.commands.lab import command
from tiny_llm_lab.experiments import drafts, speculation
from tiny_llm_lab.experiments.draft_arithmetic import break_even, kept, kept_in, speed
from tiny_llm_lab.experiments.draft_shares import Told, scores, told
from tiny_llm_lab.experiments.draft_stories import each_in_turn, silently
from tiny_llm_lab.experiments.drafts import COUNTS, Counts, model_of
from tiny_llm_lab.experiments.speculation import (
    averaged,
    break_evens,
    comparison,
)
from tiny_llm_lab.timing import Rounds

TEXTS = [[1, 2, 3, 4], [1, 2, 3, 4], [9, 2, 3, 5], [7, 7, 7]]
"""After 2 3 comes 4 more often than 5, and 5 after 9 2 3."""


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("length", [1, 4])
def test_tokens_of_a_step_are_those_of_the_paper(share: float, length: int) -> None:
    expected = (1 - share ** (length + 1)) / (1 - share) if share < 1 else length + 1

    assert kept(share, length) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("hits", "tokens"),
    [("++++++++++", 5), ("----", 1), ("+-++", 2), ("+++++-+", 7 / 3)],
)
def test_tokens_of_a_step_are_counted_in_a_text(hits: str, tokens: float) -> None:
    """The model's own choice comes after the proposals that are right."""
    assert kept_in([one == "+" for one in hits], 4) == tokens


def test_hits_by_chance_give_what_the_formula_says() -> None:
    hits = np.random.default_rng(0).random(50_000) < 0.7

    assert kept_in(hits.tolist(), 4) == pytest.approx(kept(0.7, 4), rel=0.02)


def test_a_draft_that_is_the_model_itself_is_slower() -> None:
    assert speed(5, 4, cost=1.0, longer=1.5) == pytest.approx(5 / 5.5)


@pytest.mark.parametrize("cost", [0.0, 0.1])
def test_at_the_break_even_nothing_is_won(cost: float) -> None:
    share = break_even(4, cost, 2.0)

    assert share is not None
    assert speed(kept(share, 4), 4, cost, 2.0) == pytest.approx(1, abs=1e-4)


def test_some_drafts_can_never_pay() -> None:
    assert break_even(4, 1.0, 1.5) is None


@pytest.mark.parametrize(
    ("text", "following"), [([1, 2, 3], 4), ([9, 2, 3], 5), ([8, 2, 3], 4), ([0], 2)]
)
def test_counts_look_back_as_far_as_they_know(text: list[int], following: int) -> None:
    """To fewer tokens where these never stood together, and in the end to none."""
    assert Counts(TEXTS, 10).after(text) == following


def test_counts_are_called_as_a_model_is() -> None:
    """What was refused is forgotten by the offset of the next piece."""
    draft = Counts(TEXTS, 10)
    draft(mx.array([[9, 2, 8]]), 0, [])

    logits = draft(mx.array([[3, 4]]), 2, [])

    assert logits.shape == (1, 2, 10)
    assert mx.argmax(logits[0], axis=-1).tolist()[0] == 5
    assert mx.softmax(logits[0, 0])[5].item() == 1.0


def test_a_draft_can_be_the_first_layers() -> None:
    model = model_of(EMBEDDED_MODEL, load_solution("ref"), 2)

    assert model.num_hidden_layers == 2


def test_what_a_model_has_said_it_scores_highest() -> None:
    """Otherwise the hits of a draft would be counted at the wrong places."""
    solution = load_solution("ref")
    model = model_of(EMBEDDED_MODEL, solution)
    sampler = solution.get("sampler.make_sampler")(0.0, 0, None)

    text = told(model, [5, 6, 7], sampler, set(range(3)))

    assert isinstance(text, Told)
    hits = mx.argmax(scores(model, text), axis=-1) == mx.array(text.said)
    assert fmean(hits.tolist()) > 0.95  # pyright: ignore[reportArgumentType]


def test_an_average_has_its_standard_error() -> None:
    found = averaged([1, 2, 3, 4])

    assert (found.middle, found.high - found.middle) == (
        2.5,
        pytest.approx(0.6455, 1e-3),
    )


def test_steps_are_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speculation, "STEP_ROUNDS", Rounds(0, 2, 2))
    monkeypatch.setattr(drafts, "counts", lambda: Counts(TEXTS, 2048))

    ran = CliRunner().invoke(
        command, ["speculation", "--quick", "--out", str(tmp_path)]
    )

    with (tmp_path / "speculation.csv").open(encoding="utf-8") as file:
        found = {row["of"] for row in csv.DictReader(file)}
    assert ran.exit_code == 0, ran.output
    assert found == {
        *("without a draft", "1", "2", "3", "4", "5", "8"),
        *("layers to 1", "layers to 2", "layers to 3", "layers to 4", COUNTS),
    }


def test_each_round_tells_the_next_story_and_prints_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def tell(prompt: str) -> str:
        print(prompt)
        return prompt

    step = each_in_turn(["a", "b"], silently(tell))

    assert [step() for _ in range(3)] == ["a", "b", "a"]
    assert capsys.readouterr().out == ""


def row(measured: str, of: object, unit: str, value: float, proposals: int = 1) -> dict:
    names = {"model": "embedded", "measured": measured, "of": of, "unit": unit}
    return names | {"proposals": proposals, "value": value}


ROWS = [
    *(row("time", of, "times", value) for of, value in ((3, 1.5), (COUNTS, 0.1))),
    row("greedy", COUNTS, "share", 0.5),
    row("greedy", COUNTS, "tokens", 1.8, 2),
    row("speed", COUNTS, "speed", 1.1, 2),
]


def test_the_arithmetic_stands_beside_what_was_measured() -> None:
    [found] = comparison(ROWS)

    assert found["tokens, if by chance"] == 1.75
    assert found["so speed"] == pytest.approx(1.8 / 1.7, rel=1e-3)
    assert found["measured"] == 1.1


def test_break_evens_are_of_the_steps_that_were_timed() -> None:
    assert [*break_evens(ROWS, "embedded", 0.0)] == [2]
    assert break_evens(ROWS, "embedded", 0.9) == {}
