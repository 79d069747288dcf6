"""The starter is the solution without the answers."""

import ast
import asyncio
import inspect
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tiny_llm_course.editing import starter
from tiny_llm_course.idle import Function
from tiny_llm_course.places import REFERENCE, STARTER
from tiny_llm_course.solution import Solution
from tiny_llm_course.syllabus import tasks, tasks_of
from tiny_llm_course.unsolved import Unsolved

SYMBOLS = sorted({symbol for task in tasks() for symbol in task.symbols})
COMMAND = "from tiny_llm_course.commands.starter import command; command()"

GENERATED = starter.generate(REFERENCE)
GIVEN = [
    *("checks.py", "compiled.py", "kernels.py", "masks.py", "weights.py"),
    *("whole_layer.py", "layer_rows.py", "answers.py", "fields.py", "hooks.py"),
    *("merging.py", "request.py", "paged_kernels.py", "qwen2_week2_gpu.py"),
]
"""Files of which nothing is an answer."""


each_symbol = pytest.mark.parametrize("symbol", SYMBOLS)


def test_the_starter_in_the_tree_is_the_generated_one() -> None:
    """Nor is there a file that the solutions no longer have."""
    committed = {path.name: path.read_text() for path in STARTER.glob("*.py")}

    assert committed == GENERATED


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Solution:
    """Return the generated starter, ready to be called."""
    folder = tmp_path_factory.mktemp("starter")
    for name, text in GENERATED.items():
        (folder / name).write_text(text, encoding="utf-8")
    return Solution(folder, "generated_starter")


@each_symbol
def test_every_part_of_a_stub_names_the_first_task_of_its_symbol(
    stubs: Solution, symbol: str
) -> None:
    for function in callables(stubs.get(symbol)):
        with pytest.raises(Unsolved) as error:
            called(function)

        assert str(error.value) == tasks_of(symbol)[0].not_started()


def called(function: Callable[..., Any]) -> None:
    """Call a function with nothing in each of its parameters, and wait for its end."""
    parameters = inspect.signature(function).parameters.values()
    named = {one.name: None for one in parameters if one.kind == one.KEYWORD_ONLY}
    in_order = [one for one in parameters if one.kind == one.POSITIONAL_OR_KEYWORD]
    output = function(*[None] * len(in_order), **named)
    if inspect.iscoroutine(output):
        asyncio.run(output)


def callables(target: Any) -> Iterator[Callable[..., Any]]:  # noqa: ANN401
    """Yield a function, or the methods of a class."""
    if inspect.isclass(target):
        yield from filter(inspect.isfunction, vars(target).values())
    else:
        yield target


@each_symbol
def test_a_stub_keeps_signature_and_docstring(symbol: str) -> None:
    file, name = symbol.split(".")
    solution = (REFERENCE / f"{file}.py").read_text(encoding="utf-8")
    if file == "qwen2_week2":
        solution = solution.replace(" | QuantizedWeights", "")

    assert interface(GENERATED[f"{file}.py"], name) == interface(solution, name)


@pytest.mark.parametrize("file", ["attention", "generate", "kv_cache", "qwen2_week2"])
def test_a_stub_speaks_of_nothing_that_comes_days_later(file: str) -> None:
    """What is only imported for an answer of a later day is gone with it."""
    imports = [
        name.name
        for node in ast.parse(GENERATED[f"{file}.py"]).body
        if isinstance(node, ast.ImportFrom) and node.level
        for name in node.names
    ]

    assert not {"kernels", "QuantizedWeights", "TinyKvFullCache"} & set(imports)


def test_what_a_stub_still_uses_is_imported() -> None:
    """`weights.py` is given as a whole, so it keeps what it calls."""
    assert "from . import kernels" in GENERATED["weights.py"]


def interface(source: str, name: str) -> str:
    """Return the code of a function or class without the bodies."""
    return ast.unparse(without_body(definitions(source)[name]))


def definitions(source: str) -> dict[str, Function | ast.ClassDef]:
    """Return the functions and classes of a file by name."""
    return {
        node.name: node
        for node in ast.parse(source).body
        if isinstance(node, Function | ast.ClassDef)
    }


def without_body(node: Any) -> Any:  # noqa: ANN401 - a function or a class
    """Keep the docstring, and the public methods of a class without their bodies."""
    docstring = node.body[:1] if ast.get_docstring(node) else []
    members = node.body if isinstance(node, ast.ClassDef) else []
    methods = [
        without_body(one)
        for one in members
        if isinstance(one, Function) and is_public(one.name)
    ]
    node.body = [*docstring, *methods]
    return node


def is_public(name: str) -> bool:
    return not name.startswith("_") or name.endswith("__")


@pytest.mark.parametrize("file", sorted(GENERATED.keys() - set(GIVEN)))
def test_helpers_of_the_solution_are_gone(file: str) -> None:
    """A name with an underscore is part of an answer."""
    nodes = ast.walk(ast.parse(GENERATED[file]))
    named = [node.name for node in nodes if isinstance(node, Function)]

    assert [name for name in named if not is_public(name)] == []


@pytest.mark.parametrize(
    ("file", "kept"),
    [
        ("generate.py", "Model = Callable["),
        ("qwen2_week1.py", "from .masks import Mask"),
        (
            "qwen2_week1.py",
            "from .attention import scaled_dot_product_attention_grouped",
        ),
        ("sampler.py", "from tiny_llm_course import todo\n"),
    ],
)
def test_what_a_signature_needs_stays(file: str, kept: str) -> None:
    assert kept in GENERATED[file]


@pytest.mark.parametrize("file", GIVEN)
def test_helpers_that_given_code_uses_stay(file: str) -> None:
    given = definitions((REFERENCE / file).read_text(encoding="utf-8"))

    assert definitions(GENERATED[file]).keys() == given.keys()


def test_code_that_is_given_stays_as_it_is() -> None:
    whole = (REFERENCE / "quantize.py").read_text(encoding="utf-8")

    given = whole[whole.index("def dequantize_linear(") : whole.index("def quantize(")]

    assert given in GENERATED["quantize.py"]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return the root of another checkout, its starter up to date."""
    shutil.copytree(REFERENCE, tmp_path / "src" / "tiny_llm_ref")
    shutil.copytree(STARTER, tmp_path / "src" / "tiny_llm")
    return tmp_path


def run(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `pdm run starter` in a checkout."""
    return subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments],
        env=os.environ | {"TINY_LLM_HOME": str(checkout)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_check_finds_nothing_where_the_starter_is_up_to_date(checkout: Path) -> None:
    done = run(checkout, "--check")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "src/tiny_llm and src/extensions are up to date\n"


def test_check_names_what_is_out_of_date_and_changes_nothing(checkout: Path) -> None:
    folder = checkout / "src" / "tiny_llm"
    (folder / "basics.py").write_text("# the work of a week\n")
    (folder / "sampler.py").unlink()

    done = run(checkout, "--check")

    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == "out of date: basics.py, sampler.py; run `pdm run starter`\n"
    assert (folder / "basics.py").read_text() == "# the work of a week\n"
    assert not (folder / "sampler.py").exists()


def test_the_command_generates_and_says_where_the_old_text_is(checkout: Path) -> None:
    folder = checkout / "src" / "tiny_llm"
    (folder / "basics.py").write_text("# the work of a week\n")

    done = run(checkout)

    [copy] = (checkout / "copies").rglob("*.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        f"generated: basics.py\nthe previous versions are in {copy.parent}\n"
    )
    assert copy.read_text() == "# the work of a week\n"
    assert {path.name: path.read_text() for path in folder.glob("*.py")} == GENERATED
