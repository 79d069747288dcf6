"""`pdm run main` with a learner's solution: unfinished, or with a mistake in it."""

import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tiny_llm_course.editing.starter import generate
from tiny_llm_course.places import REFERENCE

IN_PYTHON = "from tiny_llm_course.commands.main import command; command()"

Scripted = Callable[..., Path]


def stub(solution: Path, *files: str) -> None:
    """Turn files of a solution into those a learner starts from."""
    stubs = generate(REFERENCE)
    for file in files or stubs:
        (solution / file).write_text(stubs[file])


@pytest.mark.parametrize(
    ("files", "arguments", "task"),
    [
        ([], [], "week 1, day 5, task 3"),
        (["generate.py"], [], "week 1, day 6, task 1"),
        (["basics.py"], [], "week 1, day 1, task 2"),
        (["sampler.py"], ["--temp", "0.7"], "week 1, day 7, task 1"),
    ],
)
def test_an_unfinished_task_is_named_in_one_line(
    main: Callable[..., Result],
    solution: Path,
    files: list[str],
    arguments: list[str],
    task: str,
) -> None:
    stub(solution, *files)

    result = main("--solution", solution, "--max-tokens", 3, *arguments)

    line = result.stderr.splitlines()[-1]
    week, day, number = re.findall(r"\d", task)
    assert line.startswith(f"main: {task} is not started")
    assert f"`pdm run test --week {week} --day {day} --task {number}`" in line
    assert result.stdout == ""
    assert result.exit_code == 1


def test_without_a_sampler_the_likeliest_token_is_taken(
    main: Callable[..., Result], tiny_checkpoint: Path, tmp_path: Path, solution: Path
) -> None:
    """A learner has a loop on day 6, and a sampler on day 7."""
    checkpoint = shutil.copytree(tiny_checkpoint, tmp_path / "recommends-sampling")
    recommended = '{"do_sample": true, "temperature": 5.0}'
    (checkpoint / "generation_config.json").write_text(recommended)
    stub(solution, "sampler.py")

    result = main("--model", checkpoint, "--solution", solution, "--max-tokens", 9)

    assert result.exit_code == 0
    assert result.stdout == main("--max-tokens", 9).stdout


def change(solution: Path, file: str, old: str, new: str) -> None:
    """Replace a line of a solution."""
    text = (solution / file).read_text()
    assert old in text
    (solution / file).write_text(text.replace(old, new))


def test_an_error_in_the_solution_shows_only_its_own_lines(
    main: Callable[..., Result], solution: Path
) -> None:
    change(solution, "layer_norm.py", "wide = x.astype(mx.float32)", "wide = x @ x")

    result = main("--solution", solution)

    files = re.findall(r'File "(.*)", line', result.stderr)
    assert files[0] == str(solution / "generate.py")
    assert files[-1] == str(solution / "layer_norm.py")
    assert {Path(file).parent for file in files} == {solution}
    assert "wide = x @ x" in result.stderr
    assert "ValueError: [matmul]" in result.stderr.splitlines()[-1]
    assert result.exit_code == 1


def test_a_file_that_cannot_be_imported_is_told_in_one_line(
    main: Callable[..., Result], solution: Path
) -> None:
    change(solution, "attention.py", "import mlx.core as mx", "import mlx.core as")

    result = main("--solution", solution)

    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith(
        "main: qwen2_week1.py cannot be imported: SyntaxError"
    )
    assert result.exit_code == 1


def test_a_loop_that_does_not_stop_at_the_end_token_is_stopped(
    main: Callable[..., Result], solution: Path
) -> None:
    change(solution, "generate.py", "in tokenizer.eos_token_ids", "is None")

    result = main("--solution", solution, "--max-tokens", 5)

    assert result.stderr.splitlines()[-1] == (
        "main: the generation loop goes on after the end token; it has to stop at the "
        "tokenizer's eos_token_id"
    )
    assert result.exit_code == 1


def test_a_loop_that_does_not_call_the_model_is_told_so(
    main: Callable[..., Result], solution: Path
) -> None:
    change(solution, "generate.py", "while True:", "while False:")

    result = main("--solution", solution)

    assert result.stderr.splitlines()[-1] == (
        "main: the generation loop does not call the model"
    )
    assert result.exit_code == 1


def test_a_loop_that_leaves_its_line_open_does_not_spoil_the_next(
    main: Callable[..., Result], scripted: Scripted
) -> None:
    solution = scripted("the owl")
    change(solution, "generate.py", "print(detokenizer.last_segment, flush=True)", "")

    assert main("--solution", solution).stdout == "the owl\n"


def test_where_a_solution_ends_python_is_shown(
    tiny_checkpoint: Path, solution: Path
) -> None:
    """Writing past the end of an array crashes without an exception."""
    code = "def simple_generate(*_):\n    import os\n    os.abort()\n"
    (solution / "generate.py").write_text(code)
    options = ["--model", tiny_checkpoint, "--loader", "week1", "--solution", solution]

    ran = subprocess.run(
        [sys.executable, "-c", IN_PYTHON, *options],
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == -signal.SIGABRT
    assert "Fatal Python error: Aborted" in ran.stderr
    assert f'File "{solution / "generate.py"}", line 3 in simple_generate' in ran.stderr
