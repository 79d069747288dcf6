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
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from tiny_llm_course.editing.cpp_code import TODO_INCLUDE, CppCode
from tiny_llm_course.editing.later import without_later
from tiny_llm_course.editing.python_code import (
    PythonCode,
    PythonDefinition,
    first_line,
)
from tiny_llm_course.editing.saving import Change
from tiny_llm_course.editing.translation import translated
from tiny_llm_course.extension.sources import KERNELS, sources
from tiny_llm_course.idle import Function
from tiny_llm_course.language import ENGLISH
from tiny_llm_course.places import Checkout
from tiny_llm_course.syllabus import Task, kernels, name_of, tasks, tasks_of

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
    asked_for = {f"{KERNELS}/{kernel.partition(':')[0]}" for kernel in kernels()}
    return frozenset(names) - asked_for


def files(checkout: Checkout) -> dict[Path, str]:
    """Generate the text of every file of the starter, Python and C++, in English."""
    in_python = generate(checkout.reference)
    in_cpp = generate_kernels(checkout.reference_kernels)
    return {checkout.starter / name: text for name, text in in_python.items()} | {
        checkout.kernels / name: text for name, text in in_cpp.items()
    }


def changes(checkout: Checkout, language: str = ENGLISH) -> list[Change]:
    """Return the files of a starter that differ from the generated ones."""
    return [
        Change(path, text)
        for path, text in translated(files(checkout), language).items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def stub_of(file: str, source: str, hidden: frozenset[str]) -> str:
    """Take the answers out of one file, in either language."""
    if file.endswith(".py"):
        return stub(source, file.removesuffix(".py"))
    return kernel_stub(source, file, hidden)


@lru_cache(maxsize=128)  # a command asks several times
def kernel_stub(source: str, file: str, hidden: frozenset[str]) -> str:
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
    owners = {
        name_of(kernel): str(tasks_of(kernel)[0].address)
        for kernel in kernels()
        if kernel.startswith(f"{file}:")
    }
    return stubbed(source, owners)


def stubbed(text: str, tasks: Mapping[str, str]) -> str:
    """Take the answers out of a file in C++.

    Args:
        text: The file of the reference.
        tasks: The address of the task, for each function that is an answer.
    """
    code = CppCode.parse(text)
    for one in reversed(code.definitions):
        if one.is_private:
            code = code.without(one)
        elif one.name in tasks:
            todo = f'{{\n  todo("{tasks[one.name]}");\n}}'
            code = code.replaced(one.body, one.end, todo)
    if not any(one.name in tasks for one in code.functions):
        return text
    nothing = r"^#if[^\n]*\n\s*(#else[^\n]*\n\s*)?#endif[^\n]*\n\n?"
    code = code.parse(re.sub(nothing, "", code.text, flags=re.MULTILINE))
    return code.with_import(TODO_INCLUDE).text


@lru_cache(maxsize=128)  # a command asks several times
def stub(source: str, file: str) -> str:
    """Take the answers out of one file.

    Args:
        source: Text of the file in `tiny_llm_ref`.
        file: Its name without `.py`, as symbols begin with it.
    """
    given = PythonCode.parse(source)
    needed = _needed_by_given(given, file)
    text, done = "", 0
    for one in given.definitions:
        between = source[done : one.start]
        done = one.end
        if not any(name.startswith("_") for name in one.names - needed):
            text += between + _without_answer(one, given, file)
    stubs = without_later(PythonCode.parse(f"{text}\n"), file)
    return stubs.with_import(TODO_IMPORT).text if " todo(" in text else stubs.text


def _needed_by_given(source: PythonCode, file: str) -> set[str]:
    """Return all names that the given code of a file looks up, directly or not."""
    graded = {one for one in source.names if _tasks_that_write(f"{file}.{one}")}
    given = {one for one in source.names - graded if not one.startswith("_")}
    needed = (one for name in given for one in source.dependencies(name, graded))
    return {used for one in needed for used in one.uses}


def _without_answer(one: PythonDefinition, given: PythonCode, file: str) -> str:
    """Return the text of a definition, without the answer if it has one."""
    if not isinstance(one.node, Function | ast.ClassDef):
        return one.text
    owners = _tasks_that_write(f"{file}.{one.node.name}")
    if not owners:
        return one.text
    lines = _stubbed(one.node, given.lines, f'todo("{owners[0].address}")')
    return "".join(lines).rstrip("\n")


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


def _is_public(name: str) -> bool:
    """Tell whether a method is part of the interface: `__call__` is, `_rows` is not."""
    return not name.startswith("_") or name.endswith("__")
