"""Places in a kernel where something may go wrong, and what goes wrong there."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from tiny_llm_lab.mutation.cpp_code import Code, flat

SUPPORT = Path(__file__).with_name("mutants.h")
OPERATIONS = {
    operator: tuple(re.split(", ", becomes))
    for operator, becomes in re.findall(
        r"^MUTANT_(?:OPERATOR|ASSIGNMENT)\(([^,\w]+), (.+)\)$",
        SUPPORT.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
}
"""What an operation becomes, in the order of the numbers."""

OTHER_FUNCTIONS = {
    "min": "max",
    "max": "min",
    "cos": "sin",
    "sin": "cos",
    "row_scales": "row_biases",
    "row_biases": "row_scales",
    "max_element": "min_element",
    "_mm512_max_ps": "_mm512_min_ps",
    "_mm512_add_epi32": "_mm512_sub_epi32",
}
FAMILIES = (
    ("num_rows", "num_columns", "num_tokens"),
    ("num_queries", "num_keys", "width"),
    ("num_heads", "num_kv_heads", "num_batches"),
    ("first", "last"),
    ("scales", "biases", "sums"),
    ("query", "key", "value"),
    ("L", "H", "D"),
)
"""Members of one kind, of which one is easily taken for another."""

MOST_EXCHANGED = 4
"""A call with more arguments than that has only neighbours exchanged."""

_NO_CALLS = {
    *("if", "for", "while", "switch", "return", "sizeof", "alignas", "requires"),
    *("__attribute__", "decltype", "static_assert", "static_cast", "reinterpret_cast"),
}
_ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", ">>="}
_TAKE_ANY_ORDER = re.compile(r"min|max|_mm.*_(add|mul|and|max)_\w+")
_DECLARES = {"const", "auto", "using", "typedef", "static", "template", "constexpr"}

NUMBER = "@"
"""Stands for the number of the first mutant of a place."""


@dataclass(frozen=True)
class Place:
    """Some tokens that mutants may replace.

    Attributes:
        start: Where in the text they begin.
        end: Where they end.
        before: What is put in front of them, so that they can be replaced.
        after: What is put after them.
        changes: For each mutant, the code there and what it becomes.
    """

    start: int
    end: int
    before: str
    after: str
    changes: tuple[tuple[str, str], ...]


def places_of(code: Code) -> Iterator[Place]:
    """Yield all places, each with its mutants."""
    for i in range(1, len(code.words) - 1):
        if not code.is_fixed[i]:
            yield from _operators(code, i)
            yield from _literals(code, i)
            yield from _statements(code, i)
            yield from _calls(code, i)
            yield from _conditions(code, i)
            yield from _loops(code, i)
            yield from _members(code, i)


def _operators(code: Code, i: int) -> Iterator[Place]:
    """Yield an operator with a space on both sides."""
    word = code.words[i]
    if word not in OPERATIONS or not code.is_spaced(i):
        return
    left = code.shown(code.first_of(i - 1), i - 1)
    right = code.shown(i + 1, code.last_of(i + 1))
    names = {"a": left, "b": right}
    changes = tuple(
        (
            f"{left} {word} {right}",
            re.sub(r"\b[ab]\b", lambda one: names[one.group()], becomes)
            if "a" in becomes or "b" in becomes
            else f"{left} {becomes} {right}",
        )
        for becomes in OPERATIONS[word]
    )
    inserted = f" mutants::At{{{NUMBER}}} {word}"
    yield Place(code.end(i), code.end(i), inserted, "", changes)


def _literals(code: Code, i: int) -> Iterator[Place]:
    """Yield a number, but none that has to be known while compiling."""
    word = code.words[i]
    if code.kinds[i] != "literal" or not word[0].isdigit() or "0x" in word:
        return
    if code.callee_around(i).startswith("_mm"):
        return
    changes = ((word, f"{word} + 1"), (word, f"{word} - 1"))
    before = f"mutants::number({NUMBER}, "
    yield Place(code.start(i), code.end(i), before, ")", changes)


def _statements(code: Code, i: int) -> Iterator[Place]:
    """Yield a statement that may be left out."""
    if not code.begins_statement(i) or not _is_droppable(code, i):
        return
    end = code.end_of_statement(i)
    start, stop = code.start(i), code.end(end)
    changes = ((code.shown(i, end), "nothing"),)
    yield Place(start, stop, f"{{ if (!mutants::is({NUMBER})) ", " }", changes)


def _calls(code: Code, i: int) -> Iterator[Place]:
    """Yield a call with two arguments exchanged, or of another function."""
    opening = code.after_angles(i + 1)
    word = code.words[i]
    if code.kinds[i] != "name" or code.words[opening] != "(":
        return
    first = code.first_of(i)
    is_declared = code.words[first - 1] in {">", "*", "&"} or (
        code.kinds[first - 1] == "name"
        and code.words[first - 1] not in {"return", "else"}
    )
    if word in _NO_CALLS or word.endswith("_") or is_declared:
        return
    closing = code.partner[opening]
    callee = code.raw(first, opening - 1)
    for arguments in _other_arguments(code, opening, closing):
        yield _instead(code, first, closing, f"{callee}({', '.join(arguments)})")
    if other := OTHER_FUNCTIONS.get(word):
        renamed = code.raw(first, i)[: -len(word)] + other
        rest = code.raw(i + 1, closing)
        yield _instead(code, first, closing, renamed + rest)


def _other_arguments(code: Code, opening: int, closing: int) -> Iterator[list[str]]:
    """Yield the arguments of a call with two exchanged, or a constant changed."""
    own = code.arguments(opening, closing)
    is_alike = _TAKE_ANY_ORDER.fullmatch(code.words[opening - 1])
    pairs = combinations(range(0 if is_alike else len(own)), 2)
    for a, b in pairs:
        if len(own) > MOST_EXCHANGED and b > a + 1:
            continue
        if own[a] != own[b] and "{" not in own[a] + own[b]:
            exchanged = list(own)
            exchanged[a], exchanged[b] = own[b], own[a]
            yield exchanged
    if code.words[opening - 1].startswith("_mm"):
        for place, each in enumerate(own):
            if each.isdigit():  # of few bits, which have to be known
                yield [*own[:place], str(int(each) ^ 1), *own[place + 1 :]]


def _conditions(code: Code, i: int) -> Iterator[Place]:
    """Yield what is asked, which may be true always, or never."""
    if code.words[i] == "if" and code.words[i + 1] == "(":
        first, last = i + 2, code.partner[i + 1] - 1
    elif code.words[i] == "?":
        first, last = code.first_asked(i - 1), i - 1
    else:
        return
    start, end = code.start(first), code.end(last)
    shown = code.shown(first, last)
    always, never = f"(mutants::is({NUMBER}) || ", f"(!mutants::is({NUMBER}) && "
    yield Place(start, end, f"{always}(", "))", ((shown, "true"),))
    yield Place(start, end, f"{never}(", "))", ((shown, "false"),))


def _loops(code: Code, i: int) -> Iterator[Place]:
    """Yield the start of a loop and its step."""
    if code.words[i] != "for":
        return
    closing = code.partner[i + 1]
    semicolons = [
        j
        for j in range(i + 2, closing)
        if code.words[j] == ";" and code.around(j) == i + 1
    ]
    if len(semicolons) != 2:
        return
    start, step = semicolons[0], semicolons[1] + 1
    if code.kinds[start - 1] != "literal" and start > i + 2:
        begin = next(j for j in range(i + 2, start) if code.words[j] == "=") + 1
        shown = code.shown(begin, start - 1)
        end = code.end(start - 1)
        inserted = f" + mutants::is({NUMBER})"
        yield Place(end, end, inserted, "", ((shown, f"{shown} + 1"),))
    if step < closing and code.words[step] == "++":
        name = code.words[step + 1]
        first = code.start(step)
        before = f"mutants::is({NUMBER}) ? void({name} += 2) : void("
        changes = ((f"++{name}", f"{name} += 2"),)
        yield Place(first, code.end(closing - 1), before, ")", changes)


def _members(code: Code, i: int) -> Iterator[Place]:
    """Yield another member of the same kind."""
    word, is_called = code.words[i], code.words[i + 1] == "("
    if code.words[i - 1] not in {".", "->"} or is_called:
        return
    for family in FAMILIES:
        for other in family if word in family else ():
            if other != word:
                first = code.first_of(i)
                renamed = code.raw(first, i)[: -len(word)] + other
                yield _instead(code, first, i, renamed)


def _instead(code: Code, first: int, last: int, other: str) -> Place:
    """Return what may be replaced by an expression of the same type."""
    start, end = code.start(first), code.end(last)
    is_base = code.words[last + 1] == "["
    function = "mutants::same" if is_base else ""
    before = f"{function}(mutants::is({NUMBER}) ? {other} : "
    change = (code.shown(first, last), flat(other))
    return Place(start, end, before, ")", (change,))


def _is_droppable(code: Code, i: int) -> bool:
    """Tell whether a statement may be left out, and declares nothing."""
    word = code.words[i]
    if word in {"continue", "break", "++", "--", "*", "("}:
        return True
    if word == "return":
        is_inside = code.is_in_lambda(i)
        return code.words[i + 1] == ";" or (code.region.is_void and not is_inside)
    if code.kinds[i] != "name" or word in _NO_CALLS | _DECLARES:
        return False
    while code.words[i + 1] in {"::", ".", "->"}:
        i += 2
    after = code.words[code.after_angles(i + 1)]
    return after in {"(", "[", "++"} or after in _ASSIGNMENTS
