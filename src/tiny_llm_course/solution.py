"""The solution under test: a package, or a folder of files with the course's names."""

import contextlib
import importlib
import importlib.util
import sys
import traceback
import types
from collections.abc import Generator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from tiny_llm_course.catalogue import say
from tiny_llm_course.errors import CourseError, nearest
from tiny_llm_course.intake import (
    FailedImport,
    OursImportedError,
    finder,
    not_written,
)
from tiny_llm_course.places import REFERENCE
from tiny_llm_course.syllabus import file_of, symbols
from tiny_llm_course.unsolved import Unsolved
from tiny_llm_course.untrusted import words_of

OUR_PACKAGES = {"tiny_llm": "tiny_llm", "ref": "tiny_llm_ref"}


class BrokenFileError(Exception):
    """A file of the solution cannot be imported."""


class Solution:
    """Provide the public names of a solution, importing its files one by one.

    The folder's `__init__.py` is not run, since it may import what is not installed.
    Imports among the files work, relative and absolute, because the folder is
    registered under its own name as a package with only a path. "tiny_llm" is an alias
    for the folder, since files from a checkout import each other by that name.

    Args:
        folder: Where the files are.
        package: The name under which they are imported.
    """

    def __init__(self, folder: Path, package: str) -> None:
        self.folder = folder
        self.package = package
        self.failed_imports: list[FailedImport] = []
        _withdraw({package})
        if folder != REFERENCE:
            sys.path_importer_cache[str(folder)] = finder(folder, self.failed_imports)
        sys.modules[package] = _bare_package(package, folder)

    def get(self, symbol: str) -> Any:  # noqa: ANN401 - any public name
        """Return a public name such as "layer_norm.RMSNorm".

        Raises:
            Unsolved: The file or the name does not exist yet.
            BrokenFileError: The file cannot be imported.
        """
        file, name = symbol.split(".")
        module = sys.modules.get(f"{self.package}.{file}")
        if not module and (self.folder / f"{file}.py").exists():
            module = self._import(file)
        if not hasattr(module, name):
            raise Unsolved(not_written(self.folder, symbol))
        return getattr(module, name)

    def _import(self, file: str) -> types.ModuleType:
        """Import one file; an error names the line where it breaks."""
        try:
            with lent(self._other_names, self.folder):
                return importlib.import_module(f"{self.package}.{file}")
        except Unsolved:
            raise
        except OursImportedError as error:
            raise BrokenFileError(str(error)) from error
        except (Exception, SystemExit) as error:
            raise BrokenFileError(broken(file, error, self.folder)) from error

    @property
    def _other_names(self) -> set[str]:
        """The other names that the files may use for their own package."""
        own = {self.folder.name} & set(OUR_PACKAGES.values())
        return ({OUR_PACKAGES["tiny_llm"]} | own) - {self.package}


class NotingSolution(Solution):
    """A solution that records which names were requested.

    Args:
        noted: The solution, already loaded.
    """

    def __init__(self, noted: Solution) -> None:
        self.folder = noted.folder
        self.package = noted.package
        self.symbols: set[str] = set()

    def get(self, symbol: str) -> Any:  # noqa: ANN401 - any public name
        """Return a public name, and record it."""
        self.symbols.add(symbol)
        return super().get(symbol)


def load_solution(name: str) -> Solution:
    """Find a solution by the name of a package or by a folder.

    Args:
        name: "tiny_llm", "ref" for our own solutions, any importable package, or
            the path of a folder.

    Raises:
        CourseError: There is no such package or folder, or it holds no solution.
    """
    folder = _find_folder(OUR_PACKAGES.get(name, name))
    if not any((folder / file_of(symbol)).exists() for symbol in symbols()):
        raise CourseError(say("commands.no_files", name=name, folder=folder))
    return Solution(folder, _package_name(folder))


def broken(file: str, error: BaseException, folder: Path) -> str:
    """Return the error for a file that cannot be imported, with the line.

    Args:
        file: Its name, without `.py`.
        error: What importing it raised.
        folder: The solution.
    """
    said = error.msg if isinstance(error, SyntaxError) else words_of(error)
    names = {"file": file, "error": f"{type(error).__name__}: {said}"}
    return say("grading.broken_file", **names, where=_own_line(error, folder))


def _find_folder(name: str) -> Path:
    """Return the folder that `name` stands for, without running any code in it."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder.resolve()
    locations = _locations(name)
    if not locations:
        close = nearest(name, OUR_PACKAGES.values())
        raise CourseError(say("commands.no_solution", name=name, close=close))
    return Path(locations[0]).resolve()


def _package_name(folder: Path) -> str:
    """Return the package name for the files: the folder's own, if that is free."""
    name = folder.name
    if not name.isidentifier():
        return "solution_under_test"
    places = [Path(place).resolve() for place in _locations(name)]
    is_free = (
        _spec(name, None) is None
        or folder in places
        or name == OUR_PACKAGES["tiny_llm"]
    )
    return name if is_free else "solution_under_test"


def _locations(name: str) -> list[str]:
    """Return the folders of a package; an empty list for anything else."""
    parent, _, _ = name.rpartition(".")
    spec = _spec(name, _locations(parent) if parent else None)
    return list(spec.submodule_search_locations or []) if spec else []


def _spec(name: str, path: list[str] | None) -> ModuleSpec | None:
    """Find a module as `import` would, ignoring modules that are already loaded."""
    found = (finder.find_spec(name, path) for finder in sys.meta_path)
    return next((spec for spec in found if spec), None)


def _bare_package(name: str, folder: Path) -> types.ModuleType:
    """Make a package that has only a path."""
    spec = ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [str(folder)]
    package = importlib.util.module_from_spec(spec)
    vars(package).pop("__file__", None)  # None would break `inspect`
    return package


@contextlib.contextmanager
def lent(names: set[str], folder: Path) -> Generator[None]:
    """Make the names of other packages refer to `folder` inside the `with` block."""
    owned = _withdraw(names)
    sys.modules.update({name: _bare_package(name, folder) for name in names})
    try:
        yield
    finally:
        _withdraw(names)
        sys.modules.update(owned)


def _withdraw(packages: set[str]) -> dict[str, types.ModuleType]:
    """Remove packages and their modules from `sys.modules`."""
    begins = tuple(packages)  # few of thousands do, and all are asked
    alike = [name for name in sys.modules if name.startswith(begins)]
    listed = [name for name in alike if name.split(".")[0] in packages]
    return {name: sys.modules.pop(name) for name in listed}


def _own_line(error: BaseException, folder: Path) -> str:
    """Return the line of the solution that `error` came from."""
    if isinstance(error, SyntaxError) and error.filename:
        file, line = Path(error.filename).name, error.lineno
        return say("grading.at_line", file=file, line=line)
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).parent == folder]
    if not own:
        return ""
    file, line = Path(own[-1].filename).name, own[-1].lineno
    return say("grading.at_line", file=file, line=line)
