"""Variables that may be used before they have a value: it is tried.

Suspect is a variable that is declared without a value and then is not simply assigned,
such as a sum that is only added to, and what the compiler warns of. Both suspect right
code too: a variable that a loop sets in its first round. So a suspect kernel is run
twice, once with all such variables 0 and once with all of them something else. If that
makes a difference, what nobody has stored was used.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tiny_llm_course.catalogue import say
from tiny_llm_course.metal import compiling, process
from tiny_llm_course.metal.faults import NOTHING, Fault, Side, fault_of
from tiny_llm_course.metal.process import Job
from tiny_llm_course.metal.signature import SOURCE_FILE, Assembled
from tiny_llm_course.metal.tokens import Token, line_of, tokens_of

_WARNING = re.compile(
    rf"^{SOURCE_FILE}:(?P<line>\d+):\d+: warning: (?P<said>.*) "
    r"\[-Wmaybe-uninitialized\]$",
    re.MULTILINE,
)
_STARTS = {";", "{", "}", ")", "const"}
_NO_TYPES = {"return", "threadgroup", "device", "constant", "else", "using", "typedef"}
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_VALUES = ("-ftrivial-auto-var-init=zero", "-ftrivial-auto-var-init=pattern")


def confirmed(assembled: Assembled, job: Job) -> tuple[Fault, ...]:
    """Return the use of a variable without a value, if it makes a difference.

    Args:
        assembled: The kernel.
        job: What is run, with the kernel as it was compiled.
    """
    source = assembled.kernel.source
    found = _suspect(source) or _warned(compiling.warnings_of(job.library))
    if found is None or _answer(assembled, job, 0) == _answer(assembled, job, 1):
        return ()
    number, said = found
    side = Side(SOURCE_FILE, number, source.splitlines()[number - 1])
    return (fault_of("uninitialised_read", side, None, NOTHING, said),)


def _warned(warnings: str) -> tuple[int, str] | None:
    """Return the line that the compiler warns of, and what it says."""
    found = _WARNING.search(warnings)
    return (int(found["line"]), found["said"]) if found else None


def _suspect(source: str) -> tuple[int, str] | None:
    """Return the line of a variable without a value that is not simply assigned."""
    tokens = tokens_of(source)
    for at, token in enumerate(tokens):
        before = tokens[at - 1].text if at else ";"
        if token.kind != "word" or before not in _STARTS or token.text in _NO_TYPES:
            continue
        for name, end in _without_value(tokens, at + 1):
            uses = (i for i in range(end, len(tokens)) if tokens[i].text == name)
            use = next(uses, None)
            if use is not None and not _is_assigned(tokens, use):
                said = say("metal.without_value", name=name)
                return line_of(source, token.start), said
    return None


def _without_value(tokens: Sequence[Token], at: int) -> Iterator[tuple[str, int]]:
    """Yield the variables of a declaration that get no value, and where each ends.

    Args:
        tokens: Of the source.
        at: The place behind a word that may be a type.
    """
    while at < len(tokens) and tokens[at].kind == "word":
        name, at = tokens[at].text, _behind_brackets(tokens, at + 1)
        mark = tokens[at].text if at < len(tokens) else ""
        if mark in {",", ";"}:
            yield name, at
        else:
            at = _behind_value(tokens, at)
        if at >= len(tokens) or tokens[at].text != ",":
            return
        at += 1


def _behind_brackets(tokens: Sequence[Token], at: int) -> int:
    """Return the place behind any `[...]` that stand there."""
    while at < len(tokens) and tokens[at].text == "[":
        at = _closed(tokens, at)
    return at


def _behind_value(tokens: Sequence[Token], at: int) -> int:
    """Return the place of the `,` or `;` behind a value."""
    while at < len(tokens) and tokens[at].text not in {",", ";"}:
        at = _closed(tokens, at) if tokens[at].text in _PAIRS else at + 1
    return at


def _closed(tokens: Sequence[Token], at: int) -> int:
    """Return the place behind the bracket that closes the one that stands there."""
    depth = 0
    while at < len(tokens):
        depth += tokens[at].text in _PAIRS
        depth -= tokens[at].text in _PAIRS.values()
        at += 1
        if not depth:
            break
    return at


def _is_assigned(tokens: Sequence[Token], use: int) -> bool:
    """Tell whether a variable is simply assigned there, or an element or part of it."""
    at = _behind_brackets(tokens, use + 1)
    if at + 1 < len(tokens) and tokens[at].text == ".":
        at += 2
    is_handed_on = tokens[use - 1].text == "&"
    return is_handed_on or (at < len(tokens) and tokens[at].text == "=")


def _answer(assembled: Assembled, job: Job, which: int) -> object:
    """Run the kernel with one value for all variables that have none."""
    text, option = assembled.text, _VALUES[which]
    known = compiling.known_library(text, option)
    library = known or compiling.kernel_library(text, option)
    answer = process.run(replace(job, library=library, seeds=job.seeds[:1]))
    return answer.outputs, [one["kind"] for one in answer.faults]
