"""`pdm run lab`: experiments whose results are saved case by case."""

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import mlx.core as mx
import pytest
from click.testing import CliRunner, Result
from matplotlib.figure import Figure

from tiny_llm_course.places import STARTER
from tiny_llm_course.solution import Solution, load_solution
from tiny_llm_lab.commands.lab import command
from tiny_llm_lab.experiments import norm_eps
from tiny_llm_lab.experiments.experiment import begin, run

Run = Callable[..., Result]


@pytest.fixture
def drawn_lab(tmp_path: Path) -> Run:
    """Return a function that runs a lab into a folder of this test."""
    folder = str(tmp_path / "results")
    return lambda *words: CliRunner().invoke(command, [*words, "--out", folder])


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the files of figures empty: writing them takes most of a lab's time."""
    monkeypatch.setattr(Figure, "savefig", lambda _, path, **__: Path(path).touch())


@pytest.fixture
def lab(drawn_lab: Run, undrawn: None) -> Run:
    """Return the same function for tests that are not about figures."""
    del undrawn
    return drawn_lab


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "results" / "norm-eps.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_lab_prints_a_table_and_saves_rows_and_figures(
    drawn_lab: Run, tmp_path: Path
) -> None:
    result = drawn_lab("norm-eps", "--quick")

    assert result.exit_code == 0
    assert "right for sizes" in result.stdout
    assert len(rows(tmp_path)) == 2 * 3 * 4 * 3
    about = json.loads((tmp_path / "results" / "norm-eps.json").read_text())
    assert about["command"] == "pdm run lab norm-eps --quick"
    assert (tmp_path / "results" / "norm-eps.png").stat().st_size > 10_000
    assert "<svg" in (tmp_path / "results" / "norm-eps.svg").read_text()


@pytest.mark.usefixtures("undrawn")
def test_a_lab_that_was_stopped_goes_on(tmp_path: Path) -> None:
    """Ctrl-C comes between two cases: what was measured is not measured again."""
    measured: list[object] = []

    class Interrupted(Solution):
        def get(self, symbol: str) -> object:
            measured.append(symbol)
            if len(measured) == 5:
                raise KeyboardInterrupt
            return reference.get(symbol)

    reference = load_solution("ref")
    interrupted = Interrupted(reference.folder, reference.package)
    folder = tmp_path / "results"
    begin(norm_eps.LAB, interrupted, folder, "pdm run lab norm-eps", quick=True)
    shown: list[int] = []
    arguments = (norm_eps.LAB, interrupted, folder, lambda *now: shown.append(now[0]))

    with pytest.raises(KeyboardInterrupt):
        run(*arguments, quick=True)
    kept = rows(tmp_path)
    shown.clear()
    finished = run(*arguments, quick=True)

    num_cases = len(norm_eps.cases(quick=True))
    assert len(kept) == 2 * 4
    assert rows(tmp_path)[: len(kept)] == kept
    assert len(finished) == len(rows(tmp_path))
    assert len(measured) == 1 + num_cases
    assert shown == list(range(4, num_cases + 1))


def test_cases_side_by_side_give_the_same_rows(lab: Run, tmp_path: Path) -> None:
    lab("norm-eps", "--quick")
    one_by_one = rows(tmp_path)
    (tmp_path / "results" / "norm-eps.csv").unlink()
    together = replace(norm_eps.LAB, in_parallel=True)

    solution = load_solution("ref")
    run(together, solution, tmp_path / "results", lambda *_: None, quick=True)

    assert rows(tmp_path) == one_by_one


def test_what_follows_is_measured_in_a_full_run_only(tmp_path: Path) -> None:
    """Once those cases are measured, no more follow."""
    first, second = norm_eps.cases(quick=True)[:2]
    solution = load_solution("ref")
    followed = replace(
        norm_eps.LAB,
        cases=lambda _: [first],
        more=lambda rows: [second] if rows else [],
        draw=lambda _: Figure(),
    )

    def sizes(folder: str, quick: bool) -> list[object]:
        (tmp_path / folder).mkdir()
        place = tmp_path / folder
        rows = run(followed, solution, place, lambda *_: None, quick=quick)
        return list(dict.fromkeys(row["size"] for row in rows))

    assert sizes("full", quick=False) == [first["size"], second["size"]]
    assert sizes("quick", quick=True) == [first["size"]]


def test_the_same_rows_come_out_again(lab: Run, tmp_path: Path) -> None:
    lab("norm-eps", "--quick")
    before = rows(tmp_path)
    (tmp_path / "results" / "norm-eps.csv").unlink()
    mx.random.seed(17)

    lab("norm-eps", "--quick")

    assert rows(tmp_path) == before


def test_rows_of_something_else_are_not_touched(lab: Run, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    other = tmp_path / "results" / "norm-eps.csv"
    other.write_text("a,b\n1,2\n")
    (tmp_path / "results" / "norm-eps.json").write_text(
        '{"command": "pdm run lab norm-eps --quick"}'
    )

    result = lab("norm-eps", "--quick")

    assert result.exit_code == 2
    assert "give another folder with --out" in result.stderr
    assert other.read_text() == "a,b\n1,2\n"


def test_results_of_another_solution_are_not_taken_for_these(
    lab: Run, tmp_path: Path
) -> None:
    lab("norm-eps", "--quick")
    before = rows(tmp_path)

    result = lab("norm-eps", "--quick", "--solution", str(load_solution("ref").folder))

    assert result.exit_code == 2
    assert "holds results of `pdm run lab norm-eps --quick`, not of" in result.stderr
    assert rows(tmp_path) == before


def test_rows_that_come_from_nowhere_are_not_touched(lab: Run, tmp_path: Path) -> None:
    lab("norm-eps", "--quick")
    (tmp_path / "results" / "norm-eps.json").unlink()

    result = lab("norm-eps", "--quick")

    assert result.exit_code == 2
    assert "expected norm-eps.json beside it" in result.stderr


def test_an_unfinished_task_is_one_line(lab: Run) -> None:
    result = lab("norm-eps", "--quick", "--solution", str(STARTER))

    assert result.exit_code == 2
    assert "week 1, day 4, task 1 is not started" in result.stderr
    assert "`--solution ref` runs ours" in result.stderr
    assert "Traceback" not in result.output


def test_float16_overflows_unless_the_norm_widens(lab: Run, tmp_path: Path) -> None:
    lab("norm-eps", "--quick")

    huge = [
        row
        for row in rows(tmp_path)
        if row["dtype"] == "float16" and float(row["size"]) == norm_eps.SIZES[-1]
    ]
    outcomes = {(row["method"], row["outcome"]) for row in huge}
    assert outcomes == {(norm_eps.INSIDE, "finite"), (norm_eps.OUTSIDE, "zero")}
