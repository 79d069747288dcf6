"""Small examples of known mistakes, run as the book is built."""

import ast
import contextlib
import io
import math
from collections.abc import Mapping, Sequence
from types import CodeType
from typing import Any

import mlx.core as mx
import numpy as np

from tiny_llm_course.book.chapter_data import values_of
from tiny_llm_course.catalogue import say
from tiny_llm_course.solution import Solution
from tiny_llm_course.specimens import UNCHANGED, Specimen, misconceptions
from tiny_llm_course.syllabus import tasks

_LONGEST = 200
"""Characters of a result. A longer one is no small example."""


class ExampleError(ValueError):
    """An example that shows nothing."""


def example(chapter: str, anchor: str, call: str) -> str:
    """Return a call and its results: with our solution, and with a known mistake.

    Args:
        chapter: The page that explains the mistake.
        anchor: Of the mistake, without the page.
        call: Statements in one line, with semicolons between them; the last is an
            expression. Public names of the course are at hand, `mx` and `math`, and
            what `examples()` in the chapter's data offers.

    Raises:
        ExampleError: There is no such mistake, it makes no difference here, or a
            result is long.
    """
    mistake, tree = _mistake(chapter, anchor), ast.parse(call)
    offered = values_of(chapter, "examples")
    ours = _result(tree, UNCHANGED, mistake, offered)
    wrong = _result(tree, mistake.as_solution(), mistake, offered)
    if ours == wrong:
        raise ExampleError(f"expected a call that shows it, got {ours} both times")
    if max(len(ours), len(wrong)) > _LONGEST:
        raise ExampleError(f"expected a short result, got {ours} and {wrong}")
    lines = "\n".join(map(ast.unparse, tree.body))  # one a statement
    return say("book.mistake.example", call=lines, ours=ours, wrong=wrong)


def _mistake(chapter: str, anchor: str) -> Specimen:
    """Find a known mistake by its anchor."""
    for task in tasks():
        for one in misconceptions(task.address) if task.chapter == chapter else ():
            if one.anchor == f"{chapter}#{anchor}":
                return one
    raise ExampleError("expected a known mistake of this page")


def _result(
    call: ast.Module, solution: Solution, mistake: Specimen, offered: Mapping[str, Any]
) -> str:
    """Run a call with a solution, and write down what comes out."""
    *before, last = call.body
    if not isinstance(last, ast.Expr):
        said = ast.unparse(call)
        raise ExampleError(f"expected an expression at the end, got {said}")
    # An example may write into its arrays; the next one gets new ones.
    new = {
        name: mx.array(value) if isinstance(value, mx.array) else value
        for name, value in offered.items()
    }
    names = {**new, "mx": mx, "math": math, **_public(call, solution, mistake)}
    mx.random.seed(0)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(_compiled(ast.Module(before, [])), names)  # noqa: S102 - our own text
            return _written(eval(_compiled(ast.Expression(last.value)), names))  # noqa: S307
    except Exception as error:  # noqa: BLE001 - what a learner would see
        first = str(error).strip().partition("\n")[0].partition(". ")[0]
        return f"{type(error).__name__}: {first}"


def _compiled(tree: ast.Module | ast.Expression) -> CodeType:
    """Compile a part of a call."""
    return compile(
        tree, "<example>", "eval" if isinstance(tree, ast.Expression) else "exec"
    )


def _public(call: ast.AST, solution: Solution, mistake: Specimen) -> dict[str, Any]:
    """Return the public names in a call, that of the mistake before its namesakes."""
    used = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
    symbols = [symbol for task in tasks() for symbol in task.symbols]
    by_name = {one.rpartition(".")[2]: one for one in [*symbols, mistake.symbol]}
    return {name: solution.get(by_name[name]) for name in used & by_name.keys()}


def _written(value: Any) -> str:  # noqa: ANN401 - whatever a call returns
    """Write a result down, with four digits."""
    if isinstance(value, mx.array):
        exact = value.dtype in (mx.bool_, mx.int32, mx.uint32, mx.int64)
        numbers = np.array(value if exact else value.astype(mx.float32))
        return np.array2string(numbers, precision=4, separator=", ", max_line_width=66)
    if isinstance(value, mx.Dtype):
        return str(value).rpartition(".")[2]
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_written, value))
    return repr(value)
