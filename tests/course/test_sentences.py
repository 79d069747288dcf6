"""No sentence that a learner reads stands in Python: each is in the catalogue, by key.

What stays English, and why: what only authors of the course see, which is the lab in
another package, `checks/` and `commands/check.py`, and what `book/` complains of; code,
such as wrong solutions; and what programs read, which is listed below.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tiny_llm_course import catalogue

COURSE = Path(catalogue.__file__).parents[1]
ELSEWHERE = ("book/", "checks/", "commands/check.py")
OF_CODE = (
    *("accepted/", "misconceptions/", "composed_mistakes/", "repairs/", "records/"),
    *("oracle/", "specimens.py", "extension/output.py", "extension/sanitizing.py"),
    *("metal/signature.py", "metal/counting.py", "metal/parsing.py"),
    *("metal/dialect.py", "metal/refusing.py"),  # what compilers say, as patterns
)
GRADED = sorted(Path(__file__).parents[1].glob("test_week_*.py"))
SENTENCE = re.compile(r"[A-Za-z]{2,}[,;:]? [A-Za-z]{2,}")
COMMAND = re.compile(r"(pdm|git|sudo|from|import|call, yours)\b|\s*import\b")
"""How a text begins that is typed, or run."""

READ_BY_PROGRAMS = {
    "bold red": "a style of rich",
    '"""Your inference engine: stubs for you to fill in, task by task."""\n': (
        "a docstring of the starter, translated like all of them"
    ),
    "not started": "a status in files, which the catalogue has a word for",
    'Basic realm="tiny-llm", charset="UTF-8"': "a header that browsers read",
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'": (
        "a header that browsers read"
    ),
    "model name": "a line of /proc/cpuinfo",
    "engine = Engine(model, tokenizer": "a call, written as code",
    "SamplingParams(max_tokens=1, prompt_logprobs=True, logprobs=0)": "another",
    "lambda tokens, parent=-1: 7": "a hash, written as code",
    "lambda tokens, parent=-1: tokens[0]": "another",
    "changed in place": "evidence, which is compared and not shown",
    "no token id": "evidence, which is compared and not shown",
    "(?<=unexpected keyword argument ).*": "a pattern",
    "safetensors hold named arrays": "an invariant of ours",
    "status: expected one of ": "a damaged file, which is set aside",
    "task: expected texts, got ": "a damaged file, which is set aside",
    "hint: expected a number from 0, got ": "a damaged file, which is set aside",
    "<end of document>": "a token",
    " and then": "a text that a model says",
    "Tell me a story about a fox in the forest.": "in the embedded model's language",
    " is unsafe as a name in a namespace": "from a process that has only Python",
    " characters are too many": "from a process that has only Python",
}
NAMES_OF_CASES = {
    *("grading/scenarios/heads.py", "grading/scenarios/predicting.py"),
    *("grading/scenarios/bodies.py", "grading/scenarios/served.py"),
    "grading/scenarios/scripted_engine.py",
}
"""Files whose longer texts are names of tests, or what a model is given to read, or a
server: by its client, and by its engine."""


def files() -> list[str]:
    found = (path.relative_to(COURSE).as_posix() for path in COURSE.rglob("*.py"))
    left_out = (*ELSEWHERE, *OF_CODE, *NAMES_OF_CASES)
    return sorted(one for one in found if not one.startswith(left_out))


def sentences(code: str) -> Iterator[str]:
    """Yield the texts of two words and more, except for docstrings."""
    tree = ast.parse(code)
    described = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in described
            and SENTENCE.search(node.value)
            and not COMMAND.match(node.value)
        ):
            yield node.value


@pytest.mark.parametrize("file", files())
def test_no_sentence_stands_in_the_code(file: str) -> None:
    code = (COURSE / file).read_text(encoding="utf-8")

    assert set(sentences(code)) <= READ_BY_PROGRAMS.keys()


@pytest.mark.parametrize(
    "code",
    [
        'click.echo("Nothing is left.")',
        'raise CourseError(f"there is no week {week}")',
        'click.option("--week", help="Number of the week.")',
        'meaning = "compiles what is needed"',
        'Text(f"{number} of them pass: good")',
    ],
)
def test_a_sentence_in_the_code_is_found(code: str) -> None:
    assert list(sentences(code))


@pytest.mark.parametrize("path", GRADED, ids=lambda path: path.stem)
def test_a_graded_test_takes_its_complaints_from_the_catalogue(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))

    complaints = [
        argument
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "assert_that"
        for argument in node.args
        if isinstance(argument, ast.Constant | ast.JoinedStr)
    ]
    assert [ast.unparse(one) for one in complaints] == []


def keys(path: Path) -> Iterator[str]:
    """Yield the keys that a file says, as far as they stand there."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if is_call and node.func.id == "say" and isinstance(node.args[0], ast.Constant):
            yield node.args[0].value


def test_what_is_said_is_there() -> None:
    """A key that is misspelt would only fail where its sentence is due."""
    said = {key for path in [*COURSE.rglob("*.py"), *GRADED] for key in keys(path)}

    assert len(said) > 200
    assert {key for key in said if not catalogue.has(key)} == set()


def test_a_docstring_a_key_and_a_command_are_no_sentences() -> None:
    code = '"""Say it."""\nsay("grading.no_time")\nrun("pdm run test --week 1")'

    assert list(sentences(code)) == []


def test_each_exemption_is_needed() -> None:
    code = [(COURSE / file).read_text(encoding="utf-8") for file in files()]
    found = {one for text in code for one in sentences(text)}

    assert READ_BY_PROGRAMS.keys() <= found
