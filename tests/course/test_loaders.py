"""Which of a solution's models is used, and the form of its weights."""

from collections.abc import Callable
from pathlib import Path

import mlx.core as mx
import pytest
from click.testing import CliRunner, Result
from mlx import nn

from tiny_llm_course.commands import talking
from tiny_llm_course.commands.main import command
from tiny_llm_course.editing.starter import generate
from tiny_llm_course.inference.engine import Settings, start
from tiny_llm_course.inference.loaders import by_columns, can_be_packed, prepare

REFERENCE = Path(__file__).parents[2] / "src" / "tiny_llm_ref"
OFF, ON = "\n\nare_on = lambda: False\n", "\n\nare_on = lambda: True\n"


@pytest.fixture
def no_kernels(solution: Path) -> Path:
    """Return our solution without compiled kernels."""
    return switch(solution, OFF)


def switch(solution: Path, how: str) -> Path:
    with (solution / "kernels.py").open("a") as file:
        file.write(how)
    return solution


def loader_of(solution: Path, model: Path | str = "embedded") -> str:
    return start(Settings(solution=str(solution), model=str(model))).loader


def test_without_kernels_the_model_with_a_cache_is_the_fastest(
    no_kernels: Path, tiny_checkpoint: Path
) -> None:
    assert loader_of(no_kernels, tiny_checkpoint) == "week2"


@pytest.mark.parametrize("file", ["qwen2_week2.py", "generate.py"])
def test_a_solution_without_the_cached_model_or_its_loop_talks_with_that_of_week_1(
    file: str, no_kernels: Path, tiny_checkpoint: Path
) -> None:
    text = generate(REFERENCE)[file]
    if file == "generate.py":
        theirs = (REFERENCE / file).read_text().partition("def simple_generate_with")
        ours = text.partition("def simple_generate_with")
        text = f"from tiny_llm_course import todo\n{theirs[0]}{''.join(ours[1:])}"
    (no_kernels / file).write_text(text)

    assert loader_of(no_kernels, tiny_checkpoint) == "week1"


def test_kernels_that_are_on_are_the_fastest(solution: Path) -> None:
    flash = "\n\ndef flash_attention(query, key, value, scale=None, mask=None):\n"
    with (solution / "attention.py").open("a") as file:
        file.write(f"{flash}    return query\n")
    switch(
        solution,
        ON + "def advise_huge_pages(*arrays): pass\n\ndef Layer(*a, **b): pass\n",
    )

    assert loader_of(solution) == "kernels"


def test_kernels_are_no_use_for_weights_that_cannot_be_packed(
    solution: Path, tiny_checkpoint: Path
) -> None:
    """The tiny checkpoint has rows of 32 weights, and a group is 64."""
    assert loader_of(switch(solution, ON), tiny_checkpoint) == "week2"


@pytest.fixture
def main(no_kernels: Path) -> Callable[..., Result]:
    """Return a function that lets the embedded model say three tokens."""

    def run(*arguments: str) -> Result:
        words = ["--solution", str(no_kernels), "--max-tokens", "3", *arguments]
        return CliRunner().invoke(command, words)

    return run


def test_the_last_line_says_which_loader_it_was_and_how_to_choose(
    main: Callable[..., Result],
) -> None:
    assert main().stderr.splitlines()[-1] == (
        "This is --loader week2, which has a cache. To hear the slow one: "
        "--loader week1"
    )


def test_loaders_say_the_same(main: Callable[..., Result]) -> None:
    """They also draw the same tokens, from the same log-probabilities."""
    options = ["--max-tokens", "12", "--seed", "1"]

    slow, fast = (main(*options, "--loader", one).stdout for one in ("week1", "week2"))

    assert slow == fast


def test_kernels_that_are_not_built_are_asked_for_in_vain(
    main: Callable[..., Result],
) -> None:
    result = main("--loader", "kernels")

    assert result.stderr == (
        "main: --loader kernels: expected compiled kernels; run: pdm run build-ext\n"
    )
    assert result.exit_code == 2


def test_weights_stored_by_columns_are_the_same_weights() -> None:
    w = mx.random.normal((5, 7))

    stored = by_columns(w)

    assert mx.array_equal(stored, w)
    assert memoryview(stored).strides == (4, 20)


def test_packed_weights_stay_packed() -> None:
    layer = nn.Sequential(nn.Linear(64, 8))
    prepare("kernels", layer)
    scales = layer.layers[0].scales

    prepare("week2", layer)

    assert can_be_packed(layer)
    assert isinstance(layer.layers[0], nn.QuantizedLinear)
    assert memoryview(layer.layers[0].scales).c_contiguous
    assert mx.array_equal(layer.layers[0].scales, scales)


@pytest.mark.parametrize(
    ("compiler", "cmake", "line"),
    [
        ("/bin/c++", "/bin/cmake", "There is a C++ compiler: `pdm run build-ext-ref` "),
        (
            "/bin/c++",
            None,
            "There is a C++ compiler: `pdm install && pdm run build-ext-r",
        ),
        (None, None, "prompt: "),
    ],
)
def test_where_there_is_a_compiler_and_no_kernels_the_way_to_them_is_told(
    compiler: str | None,
    cmake: str | None,
    line: str,
    no_kernels: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(talking, "REFERENCE", no_kernels)
    monkeypatch.setattr(talking, "find_compiler", lambda: compiler)
    monkeypatch.setattr(talking, "program", lambda _: cmake)

    words = ["--solution", str(no_kernels), "--max-tokens", "3"]
    told = CliRunner().invoke(command, words).stderr.splitlines()

    assert told[-2].startswith(line)
    assert told[-1].startswith("This is --loader week2")
