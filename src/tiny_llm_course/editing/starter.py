"""The learner's files: the solution minus the answers.

From each file of `tiny_llm_ref` stay the imports, the signatures with their shapes, the
docstrings, and the code that is given. What the syllabus lists gets `todo(...)` for a
body. Names that begin with an underscore belong to the answer and disappear, unless
the code that is given uses them.

The kernels in `extensions` are made in the same way. There, what is in a namespace
`detail` belongs to the answer, in a file that has one, and a file of which the syllabus
lists nothing belongs to it as a whole.
"""

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from tiny_llm_course.editing.cpp_editing import stubbed
from tiny_llm_course.editing.editing import with_import
from tiny_llm_course.editing.saving import Change, write
from tiny_llm_course.editing.source import Source, Statement, first_line
from tiny_llm_course.extension.sources import KERNELS, sources
from tiny_llm_course.idle import Function
from tiny_llm_course.places import Checkout
from tiny_llm_course.syllabus import Task, name_of, tasks

__all__ = [
    "Change",
    "answer_files",
    "changes",
    "generate",
    "generate_kernels",
    "kernel_stub",
    "stub",
    "write",
]

INIT = '''"""Your inference engine: stubs for you to fill in, task by task."""
'''

TODO_IMPORT = "from tiny_llm_course import todo"


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


def generate_kernels(reference: Path) -> dict[str, str]:
    """Generate the text of every file of the kernels, by its path in their folder.

    Args:
        reference: The folder of the solutions in C++.
    """
    texts = {
        path.relative_to(reference).as_posix(): path.read_text(encoding="utf-8")
        for path in sources(reference)
    }
    hidden = answer_files(reference)
    return {
        name: kernel_stub(text, name.rpartition("/")[2], hidden)
        for name, text in texts.items()
        if name not in hidden
    }


def answer_files(reference: Path) -> frozenset[str]:
    """Return the files of the kernels that are all answer, by path in their folder."""
    names = (path.relative_to(reference).as_posix() for path in sources(reference))
    asked_for = {f"{KERNELS}/{kernel.partition(':')[0]}" for kernel in _kernels()}
    return frozenset(names) - asked_for


def _kernels() -> Iterator[str]:
    """Go through all functions in C++ that are answers."""
    for task in tasks():
        yield from task.kernels


def changes(checkout: Checkout) -> list[Change]:
    """Return the files of a starter that differ from the generated ones."""
    python, kernels = checkout.starter, checkout.kernels
    generated = {
        python / name: text for name, text in generate(checkout.reference).items()
    } | {
        kernels / name: text
        for name, text in generate_kernels(checkout.reference_kernels).items()
    }
    return [
        Change(path, text)
        for path, text in generated.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def kernel_stub(source: str, file: str, hidden: Collection[str]) -> str:
    """Take the answers out of one file in C++.

    Args:
        source: Text of the file in `extensions_ref`.
        file: Its name, as kernels begin with it in the syllabus.
        hidden: What `answer_files` returns.
    """
    for name in hidden:
        # And the line below, where it stands alone.
        alone = rf'(?<=\n\n)#include "{name}"\n\n|#include "{name}"\n'
        source = re.sub(alone, "", source)
    owners: dict[str, str] = {}
    for task in tasks():
        for kernel in task.kernels:
            if kernel.startswith(f"{file}:"):
                owners.setdefault(name_of(kernel), str(task.address))
    return stubbed(source, owners)


def stub(source: str, file: str) -> str:
    """Take the answers out of one file.

    Args:
        source: Text of the file in `tiny_llm_ref`.
        file: Its name without `.py`, as symbols begin with it.
    """
    given = Source.parse(source)
    needed = _needed_by_given(given, file)
    text, done = "", 0
    for statement in given.statements:
        between = "".join(given.lines[done : statement.start])
        done = statement.end
        if any(map(_is_private, statement.binds - needed)):
            continue
        text += between + "".join(_without_answer(statement, given, file))
    return with_import(text, TODO_IMPORT) if " todo(" in text else text


def _needed_by_given(source: Source, file: str) -> set[str]:
    """Return all names that the given code of a file looks up, directly or not."""
    graded = {one for one in source.names if _tasks_that_write(f"{file}.{one}")}
    given = {one for one in source.names - graded if not _is_private(one)}
    behind = (one for name in given for one in source.behind(name, graded))
    return {used for statement in behind for used in statement.uses}


def _without_answer(statement: Statement, given: Source, file: str) -> Sequence[str]:
    """Return the lines of a statement, without the answer if it has one."""
    node = statement.node
    lines = given.lines[statement.start : statement.end]
    if not isinstance(node, Function | ast.ClassDef):
        return lines
    owners = _tasks_that_write(f"{file}.{node.name}")
    if not owners:
        return lines
    return list(_stubbed(node, given.lines, f'todo("{owners[0].address}")'))


def _tasks_that_write(symbol: str) -> list[Task]:
    """Return the tasks that ask for a symbol. What calls a kernel is given."""
    return [task for task in tasks() if symbol in task.symbols]


def _stubbed(
    node: Function | ast.ClassDef, lines: Sequence[str], todo: str
) -> Iterator[str]:
    """Yield the lines of a function or class of the syllabus, without the answer."""
    yield from _header(node, lines)
    if isinstance(node, Function):
        yield " " * (node.col_offset + 4) + f"{todo}\n"
        return
    for method in node.body:
        if isinstance(method, Function) and _is_public(method.name):
            yield "\n"
            yield from _stubbed(method, lines, todo)


def _header(node: Function | ast.ClassDef, lines: Sequence[str]) -> Sequence[str]:
    """Return the lines from the decorators to the end of the docstring."""
    first = node.body[0]
    has_docstring = ast.get_docstring(node) is not None
    last = (first.end_lineno or first.lineno) if has_docstring else first.lineno - 1
    return lines[first_line(node) - 1 : last]


def _is_private(name: str) -> bool:
    """Tell whether a name begins with an underscore."""
    return name.startswith("_")


def _is_public(name: str) -> bool:
    """Tell whether a method is part of the interface: `__call__` is, `_rows` is not."""
    return not name.startswith("_") or name.endswith("__")
