"""All steps from a seed to a checkpoint, on a toy model in seconds."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from tiny_llm_course.errors import CourseError
from tiny_llm_lab.commands.train_checkpoint import command
from tiny_llm_lab.corpus.rows import Rows, pack
from tiny_llm_lab.training.checkpoint_files import CHECKPOINT_FILES
from tiny_llm_lab.training.pretraining import Pretraining, Report, learning_rate
from tiny_llm_lab.training.recipe import QUICK, Recipe
from tiny_llm_lab.training.train_checkpoint import Progress, train_checkpoint

CPU = torch.device("cpu")


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """More threads would only slow down models as small as these."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run all steps once, at the smallest size."""
    work = tmp_path_factory.mktemp("work")
    train_checkpoint(QUICK, work, lambda _: None, num_prompts=2)
    return work


@pytest.fixture
def rows() -> Rows:
    """Rows in which each token is the one before it plus one: easy to learn."""
    first = np.random.default_rng(0).integers(0, 400, (QUICK.num_rows, 1))
    return (first + np.arange(QUICK.context + 1)).astype(np.uint16)


class StopAt:
    """Simulates Ctrl-C after some step."""

    def __init__(self, step: int) -> None:
        self.step = step

    def __call__(self, report: Report) -> None:
        if report.step == self.step:
            raise KeyboardInterrupt


def test_a_checkpoint_has_every_file(made: Path) -> None:
    assert {path.name for path in (made / "checkpoint").iterdir()} == {
        *CHECKPOINT_FILES
    }


def test_a_run_reduces_the_loss(made: Path) -> None:
    lines = (made / "log.jsonl").read_text().splitlines()

    assert json.loads(lines[-1])["loss"] < 0.8 * np.log(QUICK.vocab_size)


def test_the_card_has_twenty_samples(made: Path) -> None:
    card = (made / "checkpoint" / "README.md").read_text()

    assert card.count("\n**") == 20


def test_a_second_run_uses_what_is_there(made: Path) -> None:
    seen: list[Progress] = []

    train_checkpoint(QUICK, made, seen.append, num_prompts=2)

    assert {progress.stage for progress in seen} == {"measuring"}


def test_another_recipe_does_not_continue_a_run(made: Path) -> None:
    with pytest.raises(CourseError, match="another one; choose another --out"):
        train_checkpoint(replace(QUICK, seed=1), made, lambda _: None)


def test_an_interrupted_run_ends_where_an_undisturbed_one_does(
    tmp_path: Path, rows: Rows
) -> None:
    undisturbed = Pretraining(QUICK, make(tmp_path / "a"), CPU)
    undisturbed.run(rows, rows[:8], lambda _: None)
    interrupted = Pretraining(QUICK, make(tmp_path / "b"), CPU)
    with pytest.raises(KeyboardInterrupt):
        interrupted.run(rows, rows[:8], StopAt(11))

    continued = Pretraining(QUICK, tmp_path / "b", CPU)
    begun_at = continued.step
    continued.run(rows, rows[:8], lambda _: None)

    assert (begun_at, continued.step) == (11, QUICK.steps)
    torch.testing.assert_close(
        continued.model.state_dict(), undisturbed.model.state_dict()
    )


def test_the_biases_leave_zero(tmp_path: Path, rows: Rows) -> None:
    """Qwen2's start there; a checkpoint that keeps them there hides a missing bias."""
    training = Pretraining(QUICK, tmp_path, CPU)

    training.run(rows, rows[:8], lambda _: None)

    biases = [p for name, p in training.model.named_parameters() if "bias" in name]
    assert len(biases) == 3 * QUICK.num_layers
    assert all(bias.abs().max() > 0 for bias in biases)


def test_the_learning_rate_rises_and_falls_to_zero() -> None:
    recipe = Recipe()

    rates = [learning_rate(recipe, step) for step in range(recipe.steps)]

    assert rates.index(max(rates)) in (recipe.warmup_steps - 1, recipe.warmup_steps)
    assert max(rates) == pytest.approx(recipe.learning_rate)
    assert rates[-1] < 1e-3 * recipe.learning_rate


def test_each_row_starts_with_a_document() -> None:
    packed = pack(iter([[1, 2, 3], [4, 5], [6, 7, 8, 9, 10, 11], [12]]), length=4)

    assert packed.tolist() == [[1, 2, 3, 4], [6, 7, 8, 9]]


def test_the_command_says_where_the_checkpoint_is(made: Path) -> None:
    result = CliRunner().invoke(command, ["--quick", "--out", str(made)])

    assert result.stdout.strip() == str(made / "checkpoint")


def make(folder: Path) -> Path:
    """Create `folder`."""
    folder.mkdir()
    return folder
