"""What an error is, and what it usually means when no known mistake explains it."""

import dis
import linecache
import re
import traceback
from types import TracebackType

from tiny_llm_course.catalogue import lines, say
from tiny_llm_course.grading.judgement.spots import (
    innermost,
    is_of_a_solution,
    spot_of,
)
from tiny_llm_course.grading.judgement.verdict import RaisedEvidence
from tiny_llm_course.untrusted import words_of

OF_KERNELS = {"kernel", "kernel_shape"}
"""What an error in C++ means: one that Python raises is somebody's own check."""

OWN_CHECK = "own_check"
"""What an error means that a solution's author raises."""

NAME = re.compile(r"[A-Za-z_]\w*")


def describe(error: RaisedEvidence) -> str | None:
    """Say what causes an error of Python or MLX, if it is one of the usual ones.

    Args:
        error: What a solution raised.
    """
    if error.nones:
        names = say("grading.and").join(f"`{one}`" for one in sorted(error.nones))
        return say("errors.means.none_named", names=names)
    text = f"{error.kind}: {error.text}"
    for entry in lines("errors.patterns"):
        key, _, pattern = entry.partition(" ")
        is_of_another = key in OF_KERNELS if error.where else key == OWN_CHECK
        if is_of_another:
            continue
        if found := re.search(pattern, text, re.DOTALL):
            return say(f"errors.means.{key}", **found.groupdict())
    return None


def evidence_of(error: BaseException) -> RaisedEvidence:
    """Return what is known of an error that a solution raised."""
    kind, text = type(error).__name__, words_of(error)
    said, where, spot = _unnamed(text), innermost(error), spot_of(error)
    if where and _is_own_check(where):
        frame = where.tb_frame
        refuses = frozenset(NAME.findall(text)) & frame.f_locals.keys()
        function = f"{frame.f_globals.get('__name__')}.{frame.f_code.co_name}"
        return RaisedEvidence(kind, said, refuses=refuses, where=function, spot=spot)
    nones = _nones(error, where) if where and "None" in text else frozenset[str]()
    return RaisedEvidence(kind, said, nones, spot=spot)


def _unnamed(error: str) -> str:
    """Leave the names out of `RMSNorm.__init__() got an unexpected ... argument 'eps'`.

    A known mistake has another name than the learner's class, and may miss another
    argument first.
    """
    error = re.sub(r"[\w.<>]+(?=\(\) )", "", error)
    return re.sub(r"(?<=unexpected keyword argument ).*", "", error)


def _nones(error: BaseException, where: TracebackType) -> frozenset[str]:
    """Return the variables that are None in the expression that failed."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    line = linecache.getline(frame.filename, frame.lineno or 0)
    end = frame.end_colno if frame.end_lineno == frame.lineno else None
    values = where.tb_frame.f_locals
    words = NAME.findall(line[frame.colno : end])
    return frozenset(one for one in words if values.get(one, line) is None)


def _is_own_check(where: TracebackType) -> bool:
    """Tell whether a `raise` of a solution's author is what raised."""
    frame = where.tb_frame
    raises = frame.f_code.co_code[where.tb_lasti] == dis.opmap["RAISE_VARARGS"]
    return raises and is_of_a_solution(frame)
