"""Imports a file of a solution; what is missing in it is reported when it is used.

The file runs as written, with three exceptions. An import at its top that fails gives a
placeholder, so that one missing module does not break the whole file. A public name
with an empty body reports that the task is not started. And importing our own solution
is an error, since calling it is not solving the task.
"""

import ast
import functools
import sys
from collections.abc import Iterator, MutableSequence
from dataclasses import dataclass, field
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
)
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NoReturn

from tiny_llm_course.catalogue import say
from tiny_llm_course.idle import Function, does_nothing
from tiny_llm_course.places import REFERENCE
from tiny_llm_course.syllabus import symbols, tasks_of
from tiny_llm_course.unsolved import Unsolved, todo

OURS = REFERENCE.name

_ABSENT, _TODO = "__course_absent__", "__course_todo__"
"""The names that a rewritten file calls. No learner uses such names."""


@dataclass(frozen=True)
class FailedImport:
    """An import of a file that failed.

    Attributes:
        file: The name of the file.
        line: The line of the import.
        complaint: Python's error message.
    """

    file: str
    line: int
    complaint: str


class OursImportedError(ImportError):
    """A solution imports ours."""


class Placeholder:
    """Replace what could not be imported, and raise an error when it is used.

    While the file is being imported, every operation on it returns the placeholder
    itself, such as `ops.jit` as a decorator or `Cache | None` in an annotation.

    Args:
        error: Raised at each use after the import.
    """

    def __init__(self, error: Exception) -> None:
        self._error = error
        self._is_loading = True

    def armed(self) -> None:
        """Raise from now on."""
        self._is_loading = False

    def _used(self, *_: Any, **__: Any) -> "Placeholder":  # noqa: ANN401
        """Return itself while the file is being imported."""
        return self if self._is_loading else self._needed()

    def _needed(self, *_: Any) -> NoReturn:  # noqa: ANN401
        """Raise the error that says what is missing."""
        raise self._error.with_traceback(None) from None

    __call__ = __getitem__ = __or__ = __ror__ = _used
    __bool__ = __iter__ = __len__ = __instancecheck__ = _needed

    def __getattr__(self, name: str) -> "Placeholder":
        """Return itself, except for Python's special attributes."""
        if name.startswith("__"):
            raise AttributeError(name)
        return self._used()

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        """Let a class be defined with it as a base."""
        del bases
        return () if self._is_loading else self._needed()


def finder(folder: Path, failed: MutableSequence[FailedImport]) -> FileFinder:
    """Return what imports the files of a folder.

    Args:
        folder: The solution.
        failed: Gets what could not be imported.
    """
    return FileFinder(
        str(folder),
        (ExtensionFileLoader, EXTENSION_SUFFIXES),
        (functools.partial(_File, failed=failed), [".py"]),  # type: ignore[list-item]
    )


class _File(SourceFileLoader):
    """Imports one file of a solution.

    Args:
        fullname: The name of the module.
        path: The file.
        failed: Gets what could not be imported.
    """

    def __init__(
        self, fullname: str, path: str, failed: MutableSequence[FailedImport]
    ) -> None:
        super().__init__(fullname, path)
        self._failed = failed

    def get_code(self, fullname: str) -> CodeType:
        """Compile the rewritten file: Python's bytecode cache has the original."""
        path = Path(self.get_filename(fullname))
        source, folder = path.read_bytes(), path.parent.name
        own = folder if folder.encode() in source else ""
        return _at(str(path), _compiled(_Written(source, path.name, own, path)))

    def exec_module(self, module: ModuleType) -> None:
        """Run the file, then arm the placeholders in it."""
        placeholders: list[Placeholder] = []

        def absent(line: int, name: str, symbol: str) -> None:
            error = sys.exception()
            assert isinstance(error, ImportError)
            path = Path(self.path)
            if not tasks_of(symbol):  # a missing task is reported by its own tests
                self._failed.append(FailedImport(path.name, line, str(error)))
            placeholders.append(Placeholder(_told(error, path, line, symbol)))
            vars(module).setdefault(name, placeholders[-1])

        vars(module).update({_ABSENT: absent, _TODO: todo})
        super().exec_module(module)
        for one in placeholders:
            one.armed()


@dataclass(frozen=True)
class _Written:
    """A file of a solution, as far as it decides on the code that is made of it.

    Attributes:
        source: What it says.
        name: What it is called.
        own: The name of its folder, if it says that anywhere.
        path: Where it is.
    """

    source: bytes
    name: str
    own: str
    path: Path = field(compare=False)


@functools.lru_cache(maxsize=512)
def _compiled(file: _Written) -> CodeType:
    """Rewrite a file and compile it, once for all of its copies."""
    tree = ast.parse(file.source, file.path)
    _refuse_ours(tree, file.path)
    tree = ast.fix_missing_locations(ast.Module(_rewritten(tree.body, file.path), []))
    return compile(tree, file.path, "exec", dont_inherit=True)


def _at(path: str, code: CodeType) -> CodeType:
    """Let code that may come from a copy of a file say that it comes from this one."""
    if code.co_filename == path:
        return code
    constants = (
        _at(path, one) if isinstance(one, CodeType) else one for one in code.co_consts
    )
    return code.replace(co_filename=path, co_consts=tuple(constants))


def _told(error: ImportError, path: Path, line: int, symbol: str) -> Exception:
    """Return the error for using something that was not imported.

    Args:
        error: What the import raised.
        path: The file with the import.
        line: Its line.
        symbol: The imported name, if it is one of the solution itself.
    """
    if tasks_of(symbol):
        return Unsolved(not_written(path.parent, symbol))
    file, _, name = symbol.partition(".")
    if name in _definitions(REFERENCE / f"{file}.py"):
        text = say("grading.not_given", file=file, name=name)
    else:
        text = str(error)
    kind = ModuleNotFoundError if type(error) is ModuleNotFoundError else ImportError
    return kind(f"{text} ({path.name}, line {line})")


def not_written(folder: Path, symbol: str) -> str:
    """Return the error for a symbol whose file or name is missing, with its task.

    What the course provides, such as `quantize.dequantize_linear`, has no task.
    """
    owners = tasks_of(symbol)
    not_started = owners[0].not_started() if owners else symbol
    file, name = symbol.split(".")
    key = "no_name" if (folder / f"{file}.py").exists() else "no_file"
    return say(f"grading.{key}", not_started=not_started, file=file, name=name)


def _refuse_ours(tree: ast.Module, path: Path) -> None:
    """Raise an error at the first line that imports our solution.

    A folder with the same name as ours may import itself.
    """
    if path.parent.name == OURS:
        return
    for node in ast.walk(tree):
        if any(name.partition(".")[0] == OURS for name in _imported(node)):
            line: int = node.lineno  # type: ignore[attr-defined]
            names = {"file": path.name, "line": line, "ours": OURS}
            raise OursImportedError(say("grading.imports_ours", **names))


def _imported(node: ast.AST) -> Iterator[str]:
    """Yield the full names of the modules that a piece of code imports."""
    match node:
        case ast.Import(names=names):
            yield from (one.name for one in names)
        case ast.ImportFrom(module=str(module), level=0):
            yield module
        case ast.Call(
            func=ast.Name(id="import_module" | "__import__")
            | ast.Attribute(attr="import_module"),
            args=[ast.Constant(value=str(module)), *_],
        ):
            yield module
        case _:
            pass


def _rewritten(body: list[ast.stmt], path: Path) -> list[ast.stmt]:
    """Return the statements of a file, with errors and placeholders put in."""
    graded = {
        symbol.partition(".")[2]: str(tasks_of(symbol)[0].address)
        for symbol in symbols()
        if symbol.startswith(f"{path.stem}.")
    }
    found: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found += _guarded(node, path)
        elif isinstance(node, Function | ast.ClassDef) and node.name in graded:
            found.append(_with_todo(node, graded[node.name], path))
        else:
            found.append(node)
    return found


def _guarded(node: ast.Import | ast.ImportFrom, path: Path) -> Iterator[ast.stmt]:
    """Import the names one by one, with a placeholder for each that is missing."""
    if isinstance(node, ast.ImportFrom) and node.module == "__future__":
        yield node
        return
    for alias in node.names:
        bound = alias.asname or alias.name.partition(".")[0]
        symbol = _own_symbol(node, alias.name, path)
        call = ast.parse(f"{_ABSENT}({node.lineno}, {bound!r}, {symbol!r})").body
        caught = ast.ExceptHandler(ast.Name("ImportError", ast.Load()), None, call)
        alone: ast.stmt = (
            ast.Import([alias])
            if isinstance(node, ast.Import)
            else ast.ImportFrom(node.module, [alias], node.level)
        )
        guarded = ast.Try([alone], [caught], [], [])
        for one in ast.walk(guarded):
            ast.copy_location(one, node)
        yield guarded


def _own_symbol(node: ast.Import | ast.ImportFrom, name: str, path: Path) -> str:
    """Return the imported name if it is the solution's own, else ""."""
    if isinstance(node, ast.Import) or node.module is None:
        return ""
    package, _, file = node.module.rpartition(".")
    is_beside = node.level == 1 and not package
    is_own = is_beside or package in {"tiny_llm", path.parent.name}
    return f"{file}.{name}" if is_own else ""


def _with_todo(
    node: Function | ast.ClassDef, address: str, path: Path
) -> Function | ast.ClassDef:
    """Make a definition with an empty body report that it is not started.

    In a class, only methods that are not empty in ours count. `__init__` may be empty
    where a solution keeps everything in class attributes.
    """
    call = ast.parse(f"{_TODO}({address!r})").body
    if isinstance(node, Function):
        idle = [node] if does_nothing(node) else []
    else:
        if does_nothing(node):
            made = ast.parse(f"def __init__(self, *_, **__): {_TODO}({address!r})").body
            node.body += made
        written = _definitions(REFERENCE / path.name).get(node.name, frozenset())
        methods = [one for one in node.body if isinstance(one, Function)]
        judged = [one for one in methods if one.name in written - {"__init__"}]
        idle = [one for one in judged if does_nothing(one)]
    for one in idle:
        one.body = call
    return ast.fix_missing_locations(node)


@functools.cache
def _definitions(path: Path) -> dict[str, frozenset[str]]:
    """Return the functions and classes of a file, each with its methods."""
    if not path.exists():
        return {}
    return {
        node.name: frozenset(
            one.name
            for one in node.body
            if isinstance(one, Function) and not does_nothing(one)
        )
        for node in ast.parse(path.read_bytes()).body
        if isinstance(node, Function | ast.ClassDef)
    }
