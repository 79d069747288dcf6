"""Where in a solution an error came up: the expression, and the check around it."""

import ast
import functools
import linecache
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType

from tiny_llm_course.syllabus import public_names
from tiny_llm_course.untrusted import visible

OURS = ("tiny_llm_course.grading", "tiny_llm_course.metal")
"""What of the course a solution's frames are called by, or call."""

MOST = 60
"""A longer expression fills more than a line of a report."""


@dataclass(frozen=True)
class Spot:
    """The place in a solution that an error comes from.

    Attributes:
        at: File and line, as a report shows them.
        source: The expression that failed.
        check: The condition under which its author raises. Empty if nobody does.
        values: The variables of the check, as a report shows them.
        parameters: What the function is called with.
        callee: The public name that the place belongs to, if the test called another.
        handed_at: File and line in which the other calls this one.
        handed: The call in that line.
    """

    at: str
    source: str
    check: str
    values: str
    parameters: frozenset[str]
    callee: str = ""
    handed_at: str = ""
    handed: str = ""


def spot_of(error: BaseException) -> Spot | None:
    """Return the innermost place of a solution that an error passed, if any did.

    What is composed has no file, is run by the thousand, and needs none.
    """
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    own = [place for place, one in enumerate(frames) if is_of_a_solution(one)]
    if not own or not Path(frames[own[0]].f_code.co_filename).is_file():
        return None
    summaries = traceback.extract_tb(error.__traceback__)
    steps = [(frames[place], summaries[place]) for place in own]
    frame, summary = steps[-1]
    check = _check(summary.filename, summary.lineno or 0)
    owners = [_owner(one) for one, _ in steps]
    called = next(filter(None, owners), "")
    others = [i for i, one in enumerate(owners) if one not in {"", called}]
    place, is_handed = (*others, 0)[0], bool(others)
    caller = steps[place - 1][1]
    return Spot(
        _at(summary),
        _source(summary),
        check,
        _values(check, frame),
        frozenset(frame.f_code.co_varnames[: frame.f_code.co_argcount]),
        owners[place] if is_handed else "",
        _at(caller) if is_handed else "",
        _source(caller) if is_handed else "",
    )


def is_of_a_solution(frame: FrameType) -> bool:
    """Tell whether a frame runs what a learner may have written."""
    module = frame.f_globals.get("__name__", "")
    is_ours = module.startswith(OURS)
    is_installed = "site-packages" in frame.f_code.co_filename
    is_of_python = module.partition(".")[0] in sys.stdlib_module_names
    return not (is_ours or is_installed or is_of_python)


def _owner(frame: FrameType) -> str:
    """Return the public name that a frame belongs to, if it is one by itself."""
    name = frame.f_code.co_qualname.partition(".")[0]
    return name if name in public_names() else ""


def _at(step: traceback.FrameSummary) -> str:
    return f"{Path(step.filename).name}:{step.lineno}"


def _source(step: traceback.FrameSummary) -> str:
    """Return the expression that ran, or its line if that assigns or is not known."""
    line = linecache.getline(step.filename, step.lineno or 0)
    encoded = line.encode()
    rest = encoded[step.end_colno or 0 :].decode(errors="ignore").lstrip()
    is_assigned = (
        step.end_lineno == step.lineno
        and rest.startswith("=")
        and not rest.startswith("==")
    )
    if step.colno is None or is_assigned:
        part = line
    elif step.end_lineno == step.lineno:
        part = encoded[step.colno : step.end_colno].decode()
    else:
        part = encoded[step.colno :].decode().strip() + "..."
    shown = visible(" ".join(part.split()))
    return shown if len(shown) <= MOST else shown[: MOST - 3] + "..."


@functools.cache
def _check(file: str, line: int) -> str:
    """Return the condition of the `if` that is closest around a line."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return ""
    around = [
        one
        for one in ast.walk(tree)
        if isinstance(one, ast.If | ast.Assert)
        and one.lineno <= line <= (one.end_lineno or 0)
    ]
    innermost = max(around, key=lambda one: one.lineno, default=None)
    return ast.unparse(innermost.test) if innermost else ""


def _values(check: str, frame: FrameType) -> str:
    """Write what the variables of a check are, if they are short."""
    if not check:
        return ""
    nodes = ast.walk(ast.parse(check))
    names = dict.fromkeys(one.id for one in nodes if isinstance(one, ast.Name))
    shown = {name: _plain(frame.f_locals.get(name, ...)) for name in names}
    return ", ".join(f"{name} = {value}" for name, value in shown.items() if value)


def _plain(value: object) -> str:
    """Write a plain value, and nothing of others: their `repr` may do anything."""
    if type(value) is tuple:
        parts = [_plain(one) for one in value]
        return f"({', '.join(parts)})" if all(parts) else ""
    is_small = type(value) is int and value.bit_length() < 64
    is_plain = is_small or type(value) in {bool, float, str, type(None)}
    return visible(repr(value), MOST) if is_plain else ""


def innermost(error: BaseException) -> TracebackType | None:
    """Return where an error came up."""
    where = error.__traceback__
    while where and where.tb_next:
        where = where.tb_next
    return where
