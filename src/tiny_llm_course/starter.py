"""The learner's files: the solution minus the answers.

From each file of `tiny_llm_ref` stay the imports, the signatures with their shapes, the
docstrings, and the code that is given. What the syllabus lists gets `todo(...)` for a
body. Names that begin with an underscore belong to the answer and disappear.
"""

import ast
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tiny_llm_course.syllabus import tasks_of

INIT = '''"""Your inference engine: stubs for you to fill in, task by task."""
'''

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Change:
    """A file of the learner that differs from the generated one.

    Attributes:
        path: The file.
        text: What is generated for it.
    """

    path: Path
    text: str


def generate(reference: Path) -> dict[str, str]:
    """Generate the text of every file of the starter, by file name.

    Args:
        reference: The folder of the solutions.
    """
    files = sorted(path for path in reference.glob("*.py") if path.stem != "__init__")
    stubs = {
        path.name: stub(path.read_text(encoding="utf-8"), path.stem) for path in files
    }
    return {"__init__.py": INIT, **stubs}


def changes(reference: Path, starter: Path) -> list[Change]:
    """Return the files of `starter` that differ from the generated ones."""
    return [
        Change(starter / name, text)
        for name, text in generate(reference).items()
        if not (starter / name).exists()
        or (starter / name).read_text(encoding="utf-8") != text
    ]


def write(pending: list[Change], copies: Path) -> Path | None:
    """Write generated files, and first copy what they replace.

    Args:
        pending: What to write.
        copies: Where to keep the copies, in a folder named after the time.

    Returns:
        The folder with the copies, or None if no file was replaced.
    """
    replaced = [change.path for change in pending if change.path.exists()]
    kept = copies / datetime.now().astimezone().strftime("%Y-%m-%d-%H%M%S-%f")
    if replaced:
        kept.mkdir(parents=True)
    for path in replaced:
        shutil.copy2(path, kept / path.name)
    for change in pending:
        change.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = change.path.with_suffix(".py.new")
        unfinished.write_text(change.text, encoding="utf-8")
        unfinished.replace(change.path)
    return kept if replaced else None


def stub(source: str, file: str) -> str:
    """Take the answers out of one file.

    Args:
        source: Text of the file in `tiny_llm_ref`.
        file: Its name without `.py`, as symbols begin with it.
    """
    lines = source.splitlines()
    kept: list[str] = []
    done = 0
    has_todo = False
    for node in ast.parse(source).body:
        start, end = _first_line(node) - 1, node.end_lineno or node.lineno
        between, text = lines[done:start], lines[start:end]
        done = end
        name = _name(node)
        if name.startswith("_"):
            continue
        if tasks_of(f"{file}.{name}"):
            has_todo = True
            text = list(_stubbed(node, lines, f"{file}.{name}"))
        kept += [*between, *text]
    return "\n".join(_with_import(kept) if has_todo else kept) + "\n"


def _stubbed(node: ast.stmt, lines: list[str], symbol: str) -> Iterator[str]:
    """Yield the lines of a function or class of the syllabus, without the answer."""
    if isinstance(node, Function):
        yield from _header(node, lines)
        indent = " " * (node.col_offset + 4)
        yield f'{indent}todo("{tasks_of(symbol)[0].address}")'
        return
    assert isinstance(node, ast.ClassDef), f"{symbol} is neither function nor class"
    yield from _header(node, lines)
    for method in node.body:
        if isinstance(method, Function) and _is_public(method.name):
            yield ""
            yield from _stubbed(method, lines, symbol)


def _header(node: Function | ast.ClassDef, lines: list[str]) -> list[str]:
    """Return the lines from the decorators to the end of the docstring."""
    first = node.body[0]
    has_docstring = ast.get_docstring(node) is not None
    last = (first.end_lineno or first.lineno) if has_docstring else first.lineno - 1
    return lines[_first_line(node) - 1 : last]


def _first_line(node: ast.stmt) -> int:
    """Return the line where a statement begins, its decorators included."""
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _name(node: ast.stmt) -> str:
    """Return the name that a top-level statement defines, or an empty one."""
    if isinstance(node, Function | ast.ClassDef):
        return node.name
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return ""


def _is_public(name: str) -> bool:
    """Tell whether a method is part of the interface: `__call__` is, `_rows` is not."""
    return not name.startswith("_") or name.endswith("__")


def _with_import(lines: list[str]) -> list[str]:
    """Import `todo` where the import order of the project wants it."""
    text = "\n".join(lines)
    imports = [
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.Import | ast.ImportFrom)
        and not getattr(node, "level", 0)
    ]
    after = imports[-1].end_lineno or 0
    return [*lines[:after], "", "from tiny_llm_course import todo", *lines[after:]]
