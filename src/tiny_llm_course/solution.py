"""The solution under test: a package or a folder with files named as in API.md."""

import contextlib
import importlib
import importlib.util
import sys
import traceback
import types
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from tiny_llm_course.errors import CourseError, nearest
from tiny_llm_course.syllabus import tasks, tasks_of
from tiny_llm_course.unsolved import Unsolved

OUR_PACKAGES = {"tiny_llm": "tiny_llm", "ref": "tiny_llm_ref"}


class BrokenFileError(Exception):
    """A file of the solution cannot be imported."""


class Solution:
    """Hand out the public names of a solution, importing its files one by one.

    The folder's `__init__.py` is not run: it may import what is not here. Imports
    among the files work, relative and absolute, because the folder is registered
    under its own name as a package that has nothing but a path.

    Args:
        folder: Where the files are.
        package: The name under which they are imported.
    """

    def __init__(self, folder: Path, package: str) -> None:
        self.folder = folder
        self.package = package
        stand_in = types.ModuleType(package)
        stand_in.__path__ = [str(folder)]
        for name in [one for one in sys.modules if one.split(".")[0] == package]:
            del sys.modules[name]
        sys.modules[package] = stand_in

    def get(self, symbol: str) -> Any:  # noqa: ANN401 - any public name
        """Return a public name such as "layer_norm.RMSNorm".

        Raises:
            Unsolved: The file or the name does not exist yet.
            BrokenFileError: The file cannot be imported.
        """
        file, name = symbol.split(".")
        if not (self.folder / f"{file}.py").exists():
            raise Unsolved(_not_started(symbol, f"there is no {file}.py"))
        module = self._import(file)
        if not hasattr(module, name):
            raise Unsolved(_not_started(symbol, f"{file}.py has no {name}"))
        return getattr(module, name)

    def _import(self, file: str) -> types.ModuleType:
        """Import one file, telling its author where it breaks if it does."""
        try:
            return importlib.import_module(f"{self.package}.{file}")
        except Unsolved:
            raise
        except (Exception, SystemExit) as error:
            where = _own_line(error, self.folder)
            raise BrokenFileError(
                f"{file}.py cannot be imported: {type(error).__name__}: {error}{where}"
            ) from error


def load_solution(name: str) -> Solution:
    """Find a solution by the name of a package or by a folder.

    Args:
        name: "tiny_llm", "ref" for our own solutions, any importable package, or
            the path of a folder.

    Raises:
        CourseError: There is no such package or folder, or it holds no solution.
    """
    folder = _find_folder(OUR_PACKAGES.get(name, name))
    files = {
        symbol.split(".")[0] + ".py" for task in tasks() for symbol in task.symbols
    }
    if not any((folder / file).exists() for file in files):
        raise CourseError(
            f"solution {name!r}: expected a folder with files such as basics.py, got "
            f"{folder} with none of them"
        )
    return Solution(folder, _package_name(folder))


def _find_folder(name: str) -> Path:
    """Return the folder that `name` stands for, without running any code in it."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder.resolve()
    locations: list[str] = []
    if all(part.isidentifier() for part in name.split(".")):
        with contextlib.suppress(ImportError):
            locations = _locations(importlib.util.find_spec(name))
    if not locations:
        raise CourseError(
            f"there is no solution {name!r}: neither a folder nor a package"
            f"{nearest(name, OUR_PACKAGES.values())}"
        )
    return Path(locations[0]).resolve()


def _package_name(folder: Path) -> str:
    """Return the name to import the files under: the folder's own, if that is free."""
    name = folder.name
    if not name.isidentifier():
        return "solution_under_test"
    spec = importlib.util.find_spec(name)
    places = [Path(place).resolve() for place in _locations(spec)]
    is_free = spec is None or folder in places or name == OUR_PACKAGES["tiny_llm"]
    return name if is_free else "solution_under_test"


def _locations(spec: ModuleSpec | None) -> list[str]:
    """Return the folders of a package, none for anything else."""
    return list(spec.submodule_search_locations or []) if spec else []


def _not_started(symbol: str, reason: str) -> str:
    """Say which task `symbol` belongs to and why it counts as not started."""
    owners = tasks_of(symbol)
    return f"{owners[0].not_started()}; {reason}" if owners else reason


def _own_line(error: BaseException, folder: Path) -> str:
    """Point to the line of the solution that `error` came from."""
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({Path(error.filename).name}, line {error.lineno})"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).parent == folder]
    return f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""
