"""`pdm run main --solution tiny_llm`: a learner's finished parts run with ours."""

import ast
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import tiny_llm_ref.layer_norm
from tiny_llm_course.editing.plans import plan
from tiny_llm_course.editing.saving import write
from tiny_llm_course.inference.blame import SolutionError
from tiny_llm_course.inference.loaders import has_kernels
from tiny_llm_course.inference.mixture import Mixture
from tiny_llm_course.places import REFERENCE, Checkout
from tiny_llm_course.serving import starting
from tiny_llm_course.solution import load_solution
from tiny_llm_course.syllabus import Task, tasks

WEEK_1 = [
    "basics.softmax",
    "basics.linear",
    "basics.silu",
    "attention.scaled_dot_product_attention_simple",
    "attention.causal_mask",
    "attention.scaled_dot_product_attention_grouped",
    "positional_encoding.RoPE",
    "layer_norm.RMSNorm",
    "embedding.Embedding",
    "qwen2_week1.Qwen2MultiHeadAttention",
    "qwen2_week1.Qwen2MLP",
    "qwen2_week1.Qwen2TransformerBlock",
    "qwen2_week1.Qwen2ModelWeek1",
    "generate.simple_generate",
    "sampler.make_sampler",
]
WEEK_2 = [
    "kv_cache.TinyKvFullCache",
    "qwen2_week2.Qwen2MultiHeadAttention",
    "qwen2_week2.Qwen2MLP",
    "qwen2_week2.Qwen2TransformerBlock",
    "qwen2_week2.Qwen2ModelWeek2",
    "generate.simple_generate_with_kv_cache",
    "attention.flash_attention",
]
RMS_NORM = "week 1, day 4, task 1"

Main = Callable[..., Result]
Graded = Callable[..., None]


@pytest.fixture
def main(
    pdm_run: Callable[[str], Result],
    checkout: Checkout,
    tiny_checkpoint: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Main:
    """Return a function that lets the learner's checkout say a few tokens."""
    monkeypatch.syspath_prepend(checkout.root / "src")

    def run(options: str = "--solution tiny_llm") -> Result:
        return pdm_run(f"main --model {tiny_checkpoint} --max-tokens 4 {options}")

    return run


def write_in(checkout: Checkout, symbol: str, code: str) -> None:
    """Replace the stub of a symbol by the learner's own code."""
    file, name = symbol.split(".")
    path = checkout.starter / f"{file}.py"
    lines = path.read_text().splitlines()
    [node] = [
        one
        for one in ast.parse(path.read_text()).body
        if isinstance(one, ast.FunctionDef | ast.ClassDef) and one.name == name
    ]
    lines[node.lineno - 1 : node.end_lineno] = [code]
    path.write_text("\n".join(lines) + "\n")


def breaks(symbol: str) -> str:
    """Return code that raises when it is called."""
    name = symbol.split(".")[1]
    return f"def {name}(*_, **__):\n    raise RuntimeError('heard {symbol}')"


def solve(checkout: Checkout, solved: list[Task]) -> None:
    """Put our solutions of some tasks into the learner's files."""
    symbols = [symbol for task in solved for symbol in task.symbols]
    write(plan(checkout, symbols, to_stub=False), checkout.copies)


def up_to(week: int, day: int) -> list[Task]:
    """Return the required tasks in Python up to the end of a day."""
    return [
        task
        for task in tasks()
        if (task.address.week, task.address.day) <= (week, day) and not task.optional
    ]


@pytest.mark.parametrize("symbol", WEEK_1 + WEEK_2)
def test_each_part_of_the_learner_is_heard(
    symbol: str, main: Main, checkout: Checkout
) -> None:
    """A finished norm that our model does not call would be no reward."""
    write_in(checkout, symbol, breaks(symbol))

    result = main("--try --temp 1")

    assert f"RuntimeError: heard {symbol}" in result.stderr
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("week", "day", "shares", "loader"),
    [
        (1, 1, "yours: softmax, scaled_dot_product_attention_simple, linear", "week2"),
        (1, 2, "yours: softmax, scaled_dot_product_attention_simple, linear", "week2"),
        (1, 3, "yours: softmax, scaled_dot_product_attention_simple, lin", "week1"),
        (1, 4, "ours: Qwen2TransformerBlock, Embedding, Qwen2ModelWeek1, ", "week1"),
        (1, 5, "ours: simple_generate, make_sampler; yours: the rest", "week1"),
        (1, 6, "ours: make_sampler; yours: the rest", "week1"),
        (1, 7, "yours: all of it", "week1"),
        (2, 1, "yours: all of it", "week2"),
    ],
)
def test_after_each_day_the_model_talks(  # noqa: PLR0913, PLR0917 - three fixtures
    week: int,
    day: int,
    shares: str,
    loader: str,
    main: Main,
    checkout: Checkout,
    graded: Graded,
) -> None:
    """No stub is called, which would end the answer."""
    solve(checkout, up_to(week, day))
    graded(*[str(task.address) for task in up_to(week, day)])

    result = main("--solution tiny_llm --temp 1 --seed 1")

    assert result.exit_code == 0, result.stderr
    assert result.stderr.startswith(shares)
    assert f"This is --loader {loader}" in result.stderr
    ours = main(f"--temp 1 --seed 1 --loader {loader}")
    assert result.stdout == ours.stdout


@pytest.mark.parametrize(
    "address",
    ["week 1, day 3, task 3", "week 1, day 5, task 1", "week 2, day 1, task 2"],
)
def test_what_the_learner_calls_and_has_not_written_is_ours(
    address: str, main: Main, checkout: Checkout
) -> None:
    """A layer can be tried before its parts are written."""
    solve(checkout, [task for task in tasks() if str(task.address) == address])

    result = main("--try")

    assert result.stderr.startswith("yours: Qwen2")
    assert result.exit_code == 0


def test_before_the_first_task_is_done_all_is_ours(main: Main) -> None:
    result = main()

    assert result.stderr.startswith(
        "ours: all of it, as none of its parts is graded as done in yours yet\n"
    )
    assert result.exit_code == 0


def test_what_is_graded_as_done_is_heard(
    main: Main, checkout: Checkout, graded: Graded
) -> None:
    write_in(checkout, "layer_norm.RMSNorm", breaks("layer_norm.RMSNorm"))
    graded(RMS_NORM)

    assert "heard layer_norm.RMSNorm" in main().stderr


@pytest.mark.parametrize("is_changed", [False, True])
def test_what_is_not_graded_as_done_is_not_heard(
    is_changed: bool, main: Main, checkout: Checkout, graded: Graded
) -> None:
    """That is, if it was wrong, or has changed since it was right."""
    solve(checkout, [task for task in tasks() if str(task.address) == RMS_NORM])
    graded(RMS_NORM, **({} if is_changed else {"status": "failed"}))
    path = checkout.starter / "layer_norm.py"
    path.write_text(path.read_text().replace("wide * wide", "wide @ wide"))

    result = main()

    assert result.exit_code == 0
    assert (
        "You have begun, but ours runs: RMSNorm. To run yours, right or wrong: --try\n"
    ) in result.stderr


def test_a_file_that_is_not_python_is_left_alone(
    main: Main, checkout: Checkout, graded: Graded
) -> None:
    solve(checkout, up_to(1, 1))
    (checkout.starter / "layer_norm.py").write_text("class RMSNorm(\n")
    graded("week 1, day 1, task 1", "week 1, day 1, task 2")

    result = main()

    assert result.stderr.startswith("yours: softmax, ")
    assert result.exit_code == 0


def test_what_ours_cannot_use_is_told_in_one_line(
    main: Main, checkout: Checkout
) -> None:
    code = "def silu(x):\n    return mx.zeros((3, 5))"
    write_in(checkout, "basics.silu", code)

    result = main("--try")

    last = result.stderr.splitlines()[-1]
    assert last.startswith("main: our code cannot use what yours has returned: ValueE")
    assert last.endswith("; `pdm run test` says what is wrong")
    assert result.exit_code == 1


def test_only_mine_stops_at_what_is_missing(
    main: Main, checkout: Checkout, graded: Graded
) -> None:
    solve(checkout, up_to(1, 4))
    graded(*[str(task.address) for task in up_to(1, 4)])

    result = main("--only-mine")

    assert result.stderr.startswith("main: week 1, day 5, task 3 is not started")
    assert result.stderr.count("\n") == 1
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--try --only-mine", "--try and --only-mine: expected one of them, got both"),
        ("--try --solution ref", "--try: expected --solution tiny_llm, got ref"),
    ],
)
def test_misuse_is_told_in_one_line(options: str, message: str, main: Main) -> None:
    result = main(options)

    assert result.stderr == f"main: {message}\n"
    assert result.exit_code == 2


def test_a_damaged_record_is_told_in_one_line(main: Main, checkout: Checkout) -> None:
    checkout.progress.write_text("{")

    result = main()

    assert result.stderr.startswith(
        "main: progress.json was damaged, so it starts empty; "
    )
    assert result.stderr.count("\n") == 1
    assert result.exit_code == 2
    assert main().exit_code == 0


@pytest.mark.parametrize("is_written", [False, True])
def test_kernels_of_the_learner_are_on_once_their_linear_layer_is(
    is_written: bool, checkout: Checkout
) -> None:
    """With ours instead, whole matrices would be unpacked: slower than no kernels."""
    with (checkout.starter / "kernels.py").open("a") as file:
        file.write("\n\nare_on = lambda: True\n")
    yours = ["quantize.quantized_linear"] if is_written else []

    assert has_kernels(Mixture(checkout.starter, "tiny_llm", yours)) is is_written


def test_our_solution_is_not_changed_by_it(main: Main, checkout: Checkout) -> None:
    before = dict(vars(tiny_llm_ref.layer_norm))
    write_in(checkout, "layer_norm.RMSNorm", breaks("layer_norm.RMSNorm"))

    main("--try")

    assert vars(tiny_llm_ref.layer_norm) == before
    assert main("--solution ref").exit_code == 0


def test_errors_of_the_learners_parts_are_caught_by_ours(tmp_path: Path) -> None:
    """Or a full queue of the learner's is a mistake of our server: 500 for 429."""
    folder = tmp_path / "learners"
    shutil.copytree(REFERENCE, folder)
    learners = load_solution(f"{folder}")

    mixture = Mixture(learners.folder, learners.package, ["limits.Admission"])

    gate = mixture.get("limits.Admission")(1)
    gate.enter()
    with pytest.raises(mixture.get("fields.RefusedError")):
        gate.enter()


@pytest.fixture
def serve(
    checkout: Checkout, tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], starting.Served]:
    """Return a function that builds a server of what the learner has begun."""
    monkeypatch.setenv("TINY_LLM_HOME", str(checkout.root))
    monkeypatch.syspath_prepend(checkout.root / "src")
    settings = starting.Settings("tiny_llm", attempts=True, model=str(tiny_checkpoint))
    return lambda: starting.start(settings)


def rename(checkout: Checkout, file: str, *names: str) -> None:
    """Give attributes other names in one of the learner's files."""
    path = checkout.starter / file
    inner = rf"(?<=\.)({'|'.join(names)})\b"
    path.write_text(re.sub(inner, r"my_\1", path.read_text()))


def test_our_server_runs_on_the_learners_first_two_weeks(
    serve: Callable[[], starting.Served], checkout: Checkout
) -> None:
    """What they call the parts of a layer is up to them: our Week 3 reads ours."""
    solve(checkout, up_to(2, 3))
    rename(checkout, "qwen2_week2.py", "layers", "norm", "attention", "wq", "attend")

    assert not serve().engine.has_work


def test_our_cache_does_not_look_into_the_learners_pool(
    serve: Callable[[], starting.Served], checkout: Checkout
) -> None:
    [pool] = [one for one in tasks() if str(one.address) == "week 3, day 3, task 1"]
    solve(checkout, [pool])
    rename(checkout, "paged_kv_cache.py", "pages")

    assert not serve().engine.has_work


@pytest.mark.parametrize("symbol", sorted(starting.TOGETHER[0]))
def test_server_hears_a_model_that_is_whole(
    symbol: str, serve: Callable[[], starting.Served], checkout: Checkout
) -> None:
    solve(checkout, up_to(3, 2))
    write_in(checkout, symbol, breaks(symbol))

    with pytest.raises(SolutionError, match=f"heard {symbol}"):
        serve()


def test_error_that_the_learner_raises_is_what_our_server_expects(
    checkout: Checkout,
) -> None:
    """Else a bad request to the learner's parser would be answered as our mistake."""
    solve(checkout, [one for one in tasks() if one.address.week == 3])
    mixture = Mixture(checkout.starter, "tiny_llm", ["protocol.read_object"])

    with pytest.raises(mixture.get("fields.BadRequestError")):
        mixture.get("protocol.read_object")(b"[")
