"""What docstrings and headers promise, and the graded test that holds each promise.

Promises are read from the reference: each sentence and formula of a docstring, each
argument, what is returned, the shapes in the annotations, and each default. `Raises` is
left out, since no test asks for it: it is written for callers. The promises of a kernel
are in the comment above it, and those of all its kernels at the top of a header.

`tests/promises/week_N.toml` names the tests that hold each of them, and `python -m
tiny_llm_course.checks.promises` writes `tests/PROMISES.md` from it.
"""

import ast
import functools
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tiny_llm_course.editing.starter import generate_kernels
from tiny_llm_course.places import REFERENCE, REFERENCE_KERNELS, TESTS
from tiny_llm_course.syllabus import (
    Task,
    files_of_day,
    foundations,
    is_kernel,
    tasks,
)

HELD_BY = TESTS / "promises"
TABLE = TESTS / "PROMISES.md"
NO_PROMISE = ("Raises:", "Source:")

HEAD = """\
# What is promised, and what holds it

Each public name of the required tasks, each promise of its docstring, its shapes and
its defaults, and the graded tests that fail where the promise is broken. Sentences that
promise nothing have their reason in brackets. What is under `Raises` is written for
callers: no test asks for it. Made by
`pdm run python -m tiny_llm_course.checks.promises` from `tests/promises`.
"""


def public_names() -> list[str]:
    """Return what the tasks of the days' own files implement, in the order of the days.

    A header, such as "matvec.h", comes before its kernels.
    """
    parts = (part for task in tasks() if _is_of_day(task) for part in task.parts)
    headers = ((part.partition(":")[0], part) for part in parts)
    return list(
        dict.fromkeys(
            name
            for header, part in headers
            for name in ((header, part) if is_kernel(part) else (part,))
        )
    )


def promises(name: str) -> list[str]:
    """Return what the reference promises of a public name, in the words of its stub."""
    if name.endswith(".h"):
        return list(_told(_comment_above("#pragma once", name)))
    file, _, symbol = name.partition(":" if is_kernel(name) else ".")
    if is_kernel(name):
        begins = rf"(?:template .*\n)?(?:inline )?void {symbol}\("
        return list(_told(_comment_above(begins, file)))
    module = ast.parse((REFERENCE / f"{file}.py").read_text(encoding="utf-8"))
    found = next(
        node
        for node in module.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == symbol
    )
    return list(_promises_of(found))


def _comment_above(what: str, header: str) -> str:
    """Return the comment above what a pattern matches, without slashes."""
    text = _headers()[f"kernels/{header}"]
    found = re.search(rf"((?:^///.*\n)+)(?={what})", text, re.MULTILINE)
    assert found, f"nothing stands above {what} in {header}"
    return re.sub(r"^/// ?", "", found[1], flags=re.MULTILINE).strip("\n")


@functools.cache
def _headers() -> dict[str, str]:
    return generate_kernels(REFERENCE_KERNELS)


def held_by() -> dict[str, dict[str, list[str] | str]]:
    """Read which tests hold each promise, by public name and by the promise's start.

    Tests are named as in "week_1_day_1::task_1_softmax_agrees_with_torch".
    """
    found: dict[str, dict[str, list[str] | str]] = {}
    for path in sorted(HELD_BY.glob("*.toml")):
        for name, entries in tomllib.loads(path.read_text(encoding="utf-8")).items():
            found[name] = {
                beginning: [f"{path.stem}_{test}" for test in held]
                if isinstance(held, list)
                else held
                for beginning, held in entries.items()
            }
    return found


def graded_tests() -> set[str]:
    """Return all graded tests of these tasks, named as in `held_by`."""
    found: set[str] = set()
    for path in {TESTS / task.test_file for task in tasks() if _is_of_day(task)}:
        names = re.findall(r"^def test_(\w+)", path.read_text("utf-8"), re.MULTILINE)
        found |= {f"{path.stem.removeprefix('test_')}::{name}" for name in names}
    return found


def problems() -> Iterator[str]:
    """Yield each promise that no test holds, and each entry without a promise."""
    entries, known = held_by(), graded_tests()
    for symbol in public_names():
        found, own = promises(symbol), entries.get(symbol, {})
        for promise in found:
            if len(_beginnings(promise, own)) != 1:
                yield f"{symbol}: no single entry holds {promise!r}"
        for beginning, held in own.items():
            if not any(promise.startswith(beginning) for promise in found):
                yield f"{symbol}: promises nothing that begins with {beginning!r}"
            for test in held if isinstance(held, list) else ():
                if test not in known:
                    yield f"{symbol}: there is no test {test}"
                elif not test.startswith(_of_its_tasks(symbol)):
                    yield f"{symbol}: {test} has nothing to do with it"
    yield from (f"{one}: no public name" for one in entries.keys() - public_names())


@functools.cache
def _of_its_tasks(symbol: str) -> tuple[str, ...]:
    """Return the test name prefixes of a symbol's tasks, and of those building on them.

    The mask argument of grouped attention, for example, is tested by the mask's task.
    """
    own = {
        task.address
        for task in tasks()
        if any(part == symbol or part.startswith(f"{symbol}:") for part in task.parts)
    }
    following = [task for task in tasks() if own & ({task.address} | foundations(task))]
    addresses = [task.address for task in following]
    return tuple(
        f"{files_of_day(one.week, one.day)}::task_{one.task}_" for one in addresses
    )


def _is_of_day(task: Task) -> bool:
    """Tell whether a task has no files of its own, as single optional ones have."""
    return task.shares_files or not task.optional


def table() -> str:
    """Write the page."""
    entries, lines = held_by(), [HEAD]
    for symbol in public_names():
        lines += [f"## `{symbol}`\n", "| promise | held by |", "|---|---|"]
        for promise in promises(symbol):
            (beginning,) = _beginnings(promise, entries[symbol])
            held = entries[symbol][beginning]
            shown = f"({held})" if isinstance(held, str) else _listed(held)
            lines.append(f"| {promise.replace('|', chr(92) + '|')} | {shown} |")
        lines.append("")
    return "\n".join(lines)


def _listed(tests: list[str]) -> str:
    """Write the names of tests as code, each with its file."""
    pairs = [test.split("::") for test in tests]
    named = [f"`test_{day}.py::test_{name}`" for day, name in pairs]
    return "<br>".join(named)


def _beginnings(promise: str, entries: dict[str, Any]) -> list[str]:
    """Return the entries that are a prefix of a promise."""
    return [one for one in entries if promise.startswith(one)]


def _promises_of(node: ast.ClassDef | ast.FunctionDef) -> Iterator[str]:
    """Yield the promises of a function, or of a class and its public methods."""
    yield from _told(ast.get_docstring(node) or "")
    if isinstance(node, ast.FunctionDef):
        yield from _signed(node)
        return
    for method in node.body:
        if not isinstance(method, ast.FunctionDef):
            continue
        if method.name == "__init__":
            yield from _defaults(method)
        elif method.name == "__call__" or not method.name.startswith("_"):
            yield from _promises_of(method)


def _told(docstring: str) -> Iterator[str]:
    """Yield the sentences, formulas, arguments and results of a docstring."""
    for block in docstring.split("\n\n"):
        lines = block.splitlines()
        if block.startswith(NO_PROMISE):
            continue
        if block.startswith("Args:"):
            yield from (_one_line(one) for one in re.split(r"\n    (?=\S)", block)[1:])
        elif block.startswith("Returns:"):
            yield _one_line(block)
        elif all(line.startswith("    ") for line in lines):
            yield from (f"`{line.strip()}`" for line in lines)
        else:
            yield from re.split(r"(?:(?<=\.)|(?<=\w\w:)) (?=[A-Z])", _one_line(block))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _signed(function: ast.FunctionDef) -> Iterator[str]:
    """Yield the promises of a signature: shapes and defaults."""
    arguments = [one for one in function.args.args if one.annotation]
    shapes = [
        f"{one.arg} {shape}"
        for one in arguments
        if one.annotation and (shape := _shape(one.annotation))
    ]
    result = _shape(function.returns) if function.returns else ""
    if shapes and result:
        yield f"Shapes: {', '.join(shapes)} -> {result}"
    yield from _defaults(function)


def _shape(annotation: ast.expr) -> str:
    """Return the shape in an annotation, as in `Float[mx.array, "*N L E"]`."""
    found = re.search(r"\[mx\.array, '([^']*)'\]", ast.unparse(annotation))
    return f"`{found[1].strip()}`" if found else ""


def _defaults(function: ast.FunctionDef) -> Iterator[str]:
    arguments, defaults = function.args.args, function.args.defaults
    for one, default in zip(arguments[-len(defaults) :], defaults, strict=False):
        yield f"Default: {one.arg} = {ast.unparse(default)}"


def _write(path: Path = TABLE) -> None:
    path.write_text(table(), encoding="utf-8")


if __name__ == "__main__":
    _write()
