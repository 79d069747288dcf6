"""Whether a public name takes what it is called with, told by the names it gives."""

import importlib
import inspect
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from inspect import Parameter
from typing import Any

from tiny_llm_course.catalogue import say
from tiny_llm_course.errors import nearest
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.places import REFERENCE
from tiny_llm_course.solution import BrokenFileError, Solution
from tiny_llm_course.syllabus import name_of, tasks
from tiny_llm_course.unsolved import Unsolved

CALL = "__call__"

ALSO_CALLED = ("forward", "call", "apply")
"""What other libraries call the method that is `__call__` here."""

MAX_SHOWN = 8
"""Of longer lists of arguments, only the first that differs is shown."""

Parameters = Mapping[str, Parameter]


@dataclass(frozen=True)
class Use:
    """One function of a solution, and how it is called.

    Attributes:
        name: As it is told, such as "Qwen2MLP.__call__".
        own: The parameters of the function in the solution.
        ours: The parameters of the same in the reference.
        num_positional: How many arguments are passed by their place.
        keywords: The names of the others.
    """

    name: str
    own: Parameters
    ours: Parameters
    num_positional: int
    keywords: Collection[str] = ()


def difference(call: Call, solution: Solution) -> str:
    """Say which argument or method differs from how a public name is called.

    That a name alone is another one, where it is passed by its place, is no difference.

    Args:
        call: What failed.
        solution: Whose it is.

    Returns:
        One sentence, or nothing if all is as it should be.
    """
    try:
        own = solution.get(call.symbol)
    except (Unsolved, BrokenFileError):
        return ""
    ours = _ours(call.symbol)
    if inspect.isclass(own) != inspect.isclass(ours):
        return ""
    missing = _missing_method(call, own, ours) if inspect.isclass(own) else ""
    elsewhere = _elsewhere(call)
    told = (_told(use, elsewhere) for use in _uses(call, own, ours))
    return missing or next(filter(None, told), "")


def _ours(symbol: str) -> Any:  # noqa: ANN401 - any public name
    """Return a public name of the reference."""
    file, name = symbol.split(".")
    return getattr(importlib.import_module(f"{REFERENCE.name}.{file}"), name)


def _elsewhere(call: Call) -> set[str]:
    """Return what a class of the same name takes in other files of the course.

    Such as the offset and the cache, which come with Week 2.
    """
    found = {
        symbol
        for task in tasks()
        for symbol in task.symbols
        if name_of(symbol) == name_of(call.symbol) and symbol != call.symbol
    }
    methods = (getattr(_ours(one), call.method, None) for one in found)
    return {name for one in methods for name in _parameters(one)}


def _missing_method(call: Call, own: type, ours: type) -> str:
    """Say that a class lacks the method that is called, and what may be meant."""
    is_built = call.build is not None or call.method != CALL
    has = {name for base in own.__mro__[:-1] for name in vars(base)}
    if not is_built or call.method not in vars(ours) or call.method in has:
        return ""
    meant = [one for one in ALSO_CALLED if one in has and call.method == CALL]
    close = nearest(meant[0] if meant else call.method, sorted(has - {"__init__"}))
    names = {"name": name_of(call.symbol), "method": call.method}
    return say("interface.no_method", **names, close=close)


def _uses(
    call: Call,
    own: Any,  # noqa: ANN401 - a public name of the solution
    ours: Any,  # noqa: ANN401 - the same of the reference
) -> Iterator[Use]:
    """Yield the functions that a call goes through."""
    name = name_of(call.symbol)
    if call.build is not None:
        built = f"{name}.__init__" if inspect.isclass(ours) else name
        parameters = _parameters(own), _parameters(ours)
        yield Use(built, *parameters, len(call.build), call.named)
        if not inspect.isclass(ours):
            return
    called = [own, ours]
    if inspect.isclass(ours):
        name += f".{call.method}"
        called = [getattr(one, call.method, None) for one in called]
    parameters = _parameters(called[0]), _parameters(called[1])
    yield Use(name, *parameters, _num_positional(call, parameters[1]), call.kwargs)


def _num_positional(call: Call, ours: Parameters) -> int:
    """Return how many arguments a call passes by their place.

    A scenario has a `run` of its own, which passes what we have to be given.
    """
    if type(call).run is Call.run:
        return len(call.args)
    return sum(one.default is Parameter.empty for one in ours.values())


def _parameters(function: Any) -> Parameters:  # noqa: ANN401 - a function or class
    """Return what a function takes, but for `self`. Nothing if it does not say."""
    try:
        found = dict(inspect.signature(function, follow_wrapped=False).parameters)
    except (TypeError, ValueError):
        return {}
    found.pop("self", None)
    return found


def _told(use: Use, elsewhere: Collection[str]) -> str:
    """Say how a function differs from how it is called, if it does."""
    own, ours = list(use.own), list(use.ours)
    kinds = {one.kind for one in use.own.values()}
    if not (own and ours) or kinds & {Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD}:
        return ""
    passed = own[: use.num_positional]
    wrong = [
        place
        for place, (mine, theirs) in enumerate(zip(ours, passed, strict=False))
        if mine != theirs and (mine in own or theirs in ours or theirs in elsewhere)
    ]
    wanted = [
        name
        for name in own[use.num_positional :]
        if use.own[name].default is Parameter.empty and name not in use.keywords
    ]
    is_short = len(passed) < use.num_positional
    if not (wrong or wanted or is_short or set(use.keywords) - set(own)):
        return ""
    if max(len(own), len(ours)) <= MAX_SHOWN:
        names = {"own": _listed(use.own), "ours": _listed(use.ours)}
        return say("interface.takes", name=use.name, **names)
    place = wrong[0] if wrong else min(len(own), use.num_positional)
    names = {"own": [*own, "nothing"][place], "ours": [*ours, "nothing"][place]}
    return say("interface.at", name=use.name, place=place + 1, **names)


def _listed(parameters: Parameters) -> str:
    """Write parameters as in a definition, without annotations."""
    plain = [
        one.replace(annotation=Parameter.empty, kind=Parameter.POSITIONAL_OR_KEYWORD)
        for one in parameters.values()
    ]
    return ", ".join(str(one).replace(" = ", "=") for one in plain)
