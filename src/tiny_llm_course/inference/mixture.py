"""A learner's solution, with our parts in place of the unfinished ones."""

import dis
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tiny_llm_course.places import REFERENCE
from tiny_llm_course.solution import Solution
from tiny_llm_course.syllabus import symbols

OURS = "tiny_llm_lent"
"""The name of a second import of our solution, which is changed."""

_NOTHING = object()


class Mixture(Solution):
    """Provide the learner's names where they are chosen, and ours elsewhere.

    Both packages are imported. Then, in every module of both, each name that is bound
    to one solution's part and should be the other's is rebound: so our model calls the
    learner's norm, and the learner's block our attention. Exceptions that are given are
    ours in both, so that one side's `except` knows what the other raises.

    Our kernels are off: they would compute a whole layer without the learner's parts.

    Args:
        folder: The learner's files.
        package: The name under which they are imported.
        yours: The symbols that are taken from them, such as "layer_norm.RMSNorm".

    Raises:
        BrokenFileError: A file with one of these cannot be imported.
    """

    def __init__(self, folder: Path, package: str, yours: Iterable[str]) -> None:
        super().__init__(folder, package)
        self.yours = frozenset(yours)
        self._ours = Solution(REFERENCE, OURS)
        self._taken = {symbol: super(Mixture, self).get(symbol) for symbol in yours}
        swaps = {id(self._ours.get("kernels.are_on")): lambda: False}
        for symbol in symbols():
            given = self._ours.get(symbol)
            swaps |= (
                {id(given): self._taken[symbol]}
                if symbol in self.yours
                else {id(self._stub(symbol)): given}
            )
        swaps |= self._errors()
        for module in [*_modules(package), *_modules(OURS)]:
            for name, value in list(vars(module).items()):
                if id(value) in swaps:
                    setattr(module, name, swaps[id(value)])

    def get(self, symbol: str) -> Any:  # noqa: ANN401 - any public name
        """Return a public name: the learner's if it was chosen or is a kernel."""
        if symbol.startswith("kernels."):
            return super().get(symbol)
        return self._taken.get(symbol) or self._ours.get(symbol)

    def used_by(self, *roots: str) -> list[str]:
        """Return the symbols that some code may call, in the order of the course."""
        called = _called(map(self.get, roots), (self.package, OURS))
        return [symbol for symbol in symbols() if id(self.get(symbol)) in called]

    def _errors(self) -> dict[int, Any]:
        """Return our class for each of the learner's errors, by the id of theirs.

        Ours are what our parts catch when the learner's raise them, and the other way.
        """
        return {
            id(value): vars(ours)[name]
            for ours in _modules(OURS)
            for name, value in vars(self._sibling(ours)).items()
            if isinstance(value, type)
            and issubclass(value, Exception)
            and value.__module__.startswith(f"{self.package}.")
            and name in vars(ours)
        }

    def _sibling(self, ours: types.ModuleType) -> types.ModuleType:
        """Return the learner's module of the same name, or an empty one."""
        _, _, file = ours.__name__.partition(".")
        empty = types.ModuleType(file)
        return sys.modules.get(f"{self.package}.{file}", empty) if file else empty

    def _stub(self, symbol: str) -> Any:  # noqa: ANN401
        """Return the learner's definition of a name, if its file was imported."""
        file, name = symbol.split(".")
        return getattr(sys.modules.get(f"{self.package}.{file}"), name, _NOTHING)


def _modules(package: str) -> list[types.ModuleType]:
    names = [one for one in sys.modules if one.partition(".")[0] == package]
    return [sys.modules[one] for one in names]


def _called(roots: Iterable[Any], packages: tuple[str, ...]) -> set[int]:
    """Return the ids of the functions and classes that some code may call."""
    seen, wanted = set[int](), list(roots)
    while wanted:
        one = wanted.pop()
        one = getattr(one, "__wrapped__", one)
        package = str(getattr(one, "__module__", "")).partition(".")[0]
        if package in packages and id(one) not in seen:
            seen.add(id(one))
            wanted += _used(one)
    return seen


def _used(one: Any) -> Iterator[Any]:  # noqa: ANN401 - a function or a class
    """Yield what the code of a function or class refers to."""
    if isinstance(one, type):
        yield from one.__bases__
        for member in vars(one).values():
            yield getattr(member, "__func__", getattr(member, "fget", member))
    elif isinstance(one, types.FunctionType):
        names = _names(one.__code__)
        yield from (one.__globals__[name] for name in names if name in one.__globals__)


def _names(code: types.CodeType) -> set[str]:
    """Return the globals that a code object and those nested in it look up."""
    steps = dis.get_instructions(code)
    own = {str(one.argval) for one in steps if one.opname == "LOAD_GLOBAL"}
    inner = (one for one in code.co_consts if isinstance(one, types.CodeType))
    return own.union(*map(_names, inner))
