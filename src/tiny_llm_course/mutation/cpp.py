"""Mutants of a kernel in C++: all in one text, of which one is chosen while it runs.

To compile takes minutes, to run a test milliseconds. So nothing is replaced: what asks
for the number of a mutant is put between the tokens, as `mutants.h` says.

This is no parser. It trusts the layout of the reference, where what stands between two
spaces is an operator, and an angle without spaces belongs to a template. What makes no
program is found by the compiler, and left out.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from tiny_llm_course.editing.cpp_code import CppCode

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

_TOKEN = re.compile(
    r"""(?P<none>//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*)
    |(?P<literal>"(?:[^"\\\n]|\\.)*"|\.?\d(?:[eEpP][+-]|[\w.'])*)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<sign>::|->|\+\+|--|<<=|>>=|&&|\|\||[-+*/%<>=!&|]=|<<(?=\s)|(?<=\s)>>(?=\s)|\S)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
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
        after: What is put behind them.
        changes: Of each mutant, what stands there and what it makes of it.
    """

    start: int
    end: int
    before: str
    after: str
    changes: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Mutant:
    """One change of a header.

    Attributes:
        number: What is chosen when it is to run.
        key: What tells it from all others, wherever in its header it stands.
    """

    number: int
    key: str


@dataclass(frozen=True)
class Region:
    """A function, or a class that belongs to an answer.

    Attributes:
        name: What it is called.
        start: Where its "{" stands.
        end: Behind its "}".
        is_void: Whether it returns nothing.
    """

    name: str
    start: int
    end: int
    is_void: bool


class Header:
    """A header, and the mutants that it may have.

    Args:
        name: What the file is called.
        text: What stands in it.
        answers: Its functions that a learner writes.
        first_number: Of its mutants.
    """

    def __init__(
        self, name: str, text: str, answers: set[str], first_number: int
    ) -> None:
        self._text = text
        self._places: list[tuple[Place, list[Mutant]]] = []
        number, known = first_number, Counter[str]()
        for region in regions(text, answers):
            for place in _Reader(text, region).places():
                own: list[Mutant] = []
                for was, becomes in place.changes:
                    line = _line_of(text, place.start)
                    key = f"{name}:{region.name}: {was} -> {becomes} | {line}"
                    known[key] += 1
                    if known[key] > 1:
                        key += f" | {known[key]}"
                    own.append(Mutant(number + len(own), key))
                number += len(own)
                self._places.append((place, own))
        self._dropped: set[int] = set()
        self._inserted: list[tuple[int, int, int]] = []

    @property
    def mutants(self) -> list[Mutant]:
        """All that make a program, as far as is known."""
        kept = (own for _, own in self._places if own[0].number not in self._dropped)
        return [one for own in kept for one in own]

    def text(self) -> str:
        """Return the header with all mutants in it."""
        pieces: list[tuple[int, int, int, str, int]] = []
        for rank, (place, own) in enumerate(self._places):
            first, length = own[0].number, place.end - place.start
            if first not in self._dropped:
                before = place.before.replace(NUMBER, str(first))
                # What is longer begins before, and ends behind, what it is around.
                pieces.append((place.start, 1, -length, before, rank))
                pieces.append((place.end, 0, length, place.after, -rank))
        pieces.sort(key=lambda one: (*one[:3], one[4]))
        include = '\n#include "kernels/mutants.h"\n'
        made, done = [], self._text.index("#pragma once") + len("#pragma once")
        made.append(self._text[:done] + include)
        length = len(made[0])
        self._inserted = []
        for at, _, _, inserted, rank in pieces:
            made += [self._text[done:at], inserted]
            length += at - done
            place, own = self._places[abs(rank)]
            if inserted:
                self._inserted.append((length, length + len(inserted), own[0].number))
            length += len(inserted)
            done = at
        return "".join([*made, self._text[done:]])

    def drop(self, offsets: Sequence[int]) -> None:
        """Leave out the mutants that the compiler complains of at places of `text()`.

        Raises:
            ValueError: There is none at one of the places.
        """
        for offset in offsets:
            found = [one for one in self._inserted if one[0] <= offset < one[1]]
            if not found:
                found = [one for one in self._inserted if one[1] <= offset][-1:]
            if not found:
                raise ValueError(f"no mutant stands at {offset}")
            self._dropped.add(found[0][2])


def regions(text: str, answers: set[str]) -> list[Region]:
    """Return what a learner writes of a file: some functions, and what is private.

    What is computed while compiling has no mutant: that is chosen later.
    """
    private = CppCode.parse(text).private
    # Under another name of the same length they are listed, too.
    functions = CppCode.parse(text.replace("namespace detail", "namespace answer"))
    found: list[Region] = []
    for one in functions.functions:
        is_private = any(each.body < one.body < each.end for each in private)
        head = text[one.head : one.body]
        if (is_private or one.name in answers) and "constexpr" not in head:
            found.append(Region(one.name, one.body, one.end, "void " in head))
    for each in private:
        inside = text[each.body : each.end]
        for match in re.finditer(r"^class (\w+) (\{.*?^\});", inside, re.S | re.M):
            start, end = each.body + match.start(2), each.body + match.end(2)
            found.append(Region(match[1], start, end, is_void=False))
    return found


class _Reader:
    """Finds the places of a region where something may go wrong.

    Args:
        text: The header.
        region: The part of it.
    """

    def __init__(self, text: str, region: Region) -> None:
        self._text = text
        self._region = region
        found = _TOKEN.finditer(text, region.start, region.end)
        self._tokens = [one for one in found if one.lastgroup != "none"]
        self._words = [one.group() for one in self._tokens]
        self._partner = self._partners()
        self._is_fixed = self._fixed()

    def places(self) -> Iterator[Place]:
        """Yield all places, each with its mutants."""
        for i in range(1, len(self._words) - 1):
            if not self._is_fixed[i]:
                yield from self._operators(i)
                yield from self._literals(i)
                yield from self._statements(i)
                yield from self._calls(i)
                yield from self._conditions(i)
                yield from self._loops(i)
                yield from self._members(i)

    def _operators(self, i: int) -> Iterator[Place]:
        """Yield an operator with a space on both sides."""
        word, token = self._words[i], self._tokens[i]
        around = self._text[token.start() - 1] + self._text[token.end()]
        if word not in OPERATIONS or not around.isspace():
            return
        left = self._shown(self._first_of(i - 1), i - 1)
        right = self._shown(i + 1, self._last_of(i + 1))
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
        yield Place(token.end(), token.end(), inserted, "", changes)

    def _literals(self, i: int) -> Iterator[Place]:
        """Yield a number, but none that has to be known while compiling."""
        token, word = self._tokens[i], self._words[i]
        if token.lastgroup != "literal" or not word[0].isdigit() or "0x" in word:
            return
        if self._callee_around(i).startswith("_mm"):
            return
        changes = ((word, f"{word} + 1"), (word, f"{word} - 1"))
        before = f"mutants::number({NUMBER}, "
        yield Place(token.start(), token.end(), before, ")", changes)

    def _statements(self, i: int) -> Iterator[Place]:
        """Yield a statement that may be left out."""
        if not self._begins_statement(i) or not self._is_droppable(i):
            return
        end = self._end_of_statement(i)
        start, stop = self._tokens[i].start(), self._tokens[end].end()
        changes = ((self._shown(i, end), "nothing"),)
        yield Place(start, stop, f"{{ if (!mutants::is({NUMBER})) ", " }", changes)

    def _calls(self, i: int) -> Iterator[Place]:
        """Yield a call with two arguments exchanged, or of another function."""
        opening = self._behind_angles(i + 1)
        word = self._words[i]
        if self._tokens[i].lastgroup != "name" or self._words[opening] != "(":
            return
        first = self._first_of(i)
        is_declared = self._words[first - 1] in {">", "*", "&"} or (
            self._tokens[first - 1].lastgroup == "name"
            and self._words[first - 1] not in {"return", "else"}
        )
        if word in _NO_CALLS or word.endswith("_") or is_declared:
            return
        closing = self._partner[opening]
        callee = self._raw(first, opening - 1)
        for arguments in self._other_arguments(opening, closing):
            yield self._instead(first, closing, f"{callee}({', '.join(arguments)})")
        if other := OTHER_FUNCTIONS.get(word):
            renamed = self._raw(first, i)[: -len(word)] + other
            rest = self._raw(i + 1, closing)
            yield self._instead(first, closing, renamed + rest)

    def _other_arguments(self, opening: int, closing: int) -> Iterator[list[str]]:
        """Yield the arguments of a call with two exchanged, or a constant changed."""
        own = self._arguments(opening, closing)
        is_alike = _TAKE_ANY_ORDER.fullmatch(self._words[opening - 1])
        pairs = combinations(range(0 if is_alike else len(own)), 2)
        for a, b in pairs:
            if len(own) > MOST_EXCHANGED and b > a + 1:
                continue
            if own[a] != own[b] and "{" not in own[a] + own[b]:
                exchanged = list(own)
                exchanged[a], exchanged[b] = own[b], own[a]
                yield exchanged
        if self._words[opening - 1].startswith("_mm"):
            for place, each in enumerate(own):
                if each.isdigit():  # of few bits, which have to be known
                    yield [*own[:place], str(int(each) ^ 1), *own[place + 1 :]]

    def _conditions(self, i: int) -> Iterator[Place]:
        """Yield what is asked, which may be true always, or never."""
        if self._words[i] == "if" and self._words[i + 1] == "(":
            first, last = i + 2, self._partner[i + 1] - 1
        elif self._words[i] == "?":
            first, last = self._first_asked(i - 1), i - 1
        else:
            return
        start, end = self._tokens[first].start(), self._tokens[last].end()
        shown = self._shown(first, last)
        always, never = f"(mutants::is({NUMBER}) || ", f"(!mutants::is({NUMBER}) && "
        yield Place(start, end, f"{always}(", "))", ((shown, "true"),))
        yield Place(start, end, f"{never}(", "))", ((shown, "false"),))

    def _loops(self, i: int) -> Iterator[Place]:
        """Yield the start of a loop and its step."""
        if self._words[i] != "for":
            return
        closing = self._partner[i + 1]
        semicolons = [
            j
            for j in range(i + 2, closing)
            if self._words[j] == ";" and self._around(j) == i + 1
        ]
        if len(semicolons) != 2:
            return
        start, step = semicolons[0], semicolons[1] + 1
        if self._tokens[start - 1].lastgroup != "literal" and start > i + 2:
            begin = next(j for j in range(i + 2, start) if self._words[j] == "=") + 1
            shown = self._shown(begin, start - 1)
            end = self._tokens[start - 1].end()
            inserted = f" + mutants::is({NUMBER})"
            yield Place(end, end, inserted, "", ((shown, f"{shown} + 1"),))
        if step < closing and self._words[step] == "++":
            name = self._words[step + 1]
            first = self._tokens[step].start()
            before = f"mutants::is({NUMBER}) ? void({name} += 2) : void("
            changes = ((f"++{name}", f"{name} += 2"),)
            yield Place(first, self._tokens[closing - 1].end(), before, ")", changes)

    def _members(self, i: int) -> Iterator[Place]:
        """Yield another member of the same kind."""
        word, is_called = self._words[i], self._words[i + 1] == "("
        if self._words[i - 1] not in {".", "->"} or is_called:
            return
        for family in FAMILIES:
            for other in family if word in family else ():
                if other != word:
                    first = self._first_of(i)
                    renamed = self._raw(first, i)[: -len(word)] + other
                    yield self._instead(first, i, renamed)

    def _instead(self, first: int, last: int, other: str) -> Place:
        """Return what may be replaced by an expression of the same type."""
        start, end = self._tokens[first].start(), self._tokens[last].end()
        is_base = self._words[last + 1] == "["
        function = "mutants::same" if is_base else ""
        before = f"{function}(mutants::is({NUMBER}) ? {other} : "
        change = (self._shown(first, last), _flat(other))
        return Place(start, end, before, ")", (change,))

    def _partners(self) -> dict[int, int]:
        """Return which bracket belongs to which, in both directions."""
        waiting: list[int] = []
        found: dict[int, int] = {}
        for i, word in enumerate(self._words):
            if word in _CLOSING:
                waiting.append(i)
            elif word in _CLOSING.values():
                found[i] = waiting.pop()
                found[found[i]] = i
        return found

    def _fixed(self) -> list[bool]:
        """Tell of each token whether it has to be as it is to make a program."""
        fixed = [False] * len(self._words)
        for i, word in enumerate(self._words):
            end = i
            if word == "constexpr" and self._words[i - 1] == "if":
                end = self._partner[i + 1]
            elif word in {"constexpr", "using", "typedef", "static_assert"}:
                end = self._end_of_statement(i)
            elif word == "case":
                end = self._words.index(":", i)
            elif word == "__attribute__":
                end = self._partner[i + 1]
            elif self._opens_angle(i):
                end = self._closes_angle(i)
            elif word == "[" and self._is_size(i):
                end = self._partner[i]
            for j in range(i, end + 1 if end > i else i):
                fixed[j] = True
        return fixed

    def _is_size(self, i: int) -> bool:
        """Tell whether a bracket holds the size of an array, or what a lambda takes."""
        before, name = self._tokens[i - 2], self._tokens[i - 1]
        if name.lastgroup != "name":
            return self._words[i - 1] in {"(", ",", "="}
        is_type = before.lastgroup == "name" or before.group() == ">"
        return is_type and before.group() not in {"return", "else"}

    def _opens_angle(self, i: int) -> bool:
        """Tell whether arguments of a template begin."""
        end = self._tokens[i].end()
        return self._words[i] == "<" and not self._text[end].isspace()

    def _closes_angle(self, i: int) -> int:
        """Return where the arguments of a template end."""
        depth = 0
        while True:
            depth += (self._words[i] == "<") - (self._words[i] == ">")
            if depth == 0:
                return i
            i += 1

    def _behind_angles(self, i: int) -> int:
        """Return what comes behind arguments of a template, if there are any."""
        return self._closes_angle(i) + 1 if self._opens_angle(i) else i

    def _around(self, i: int) -> int:
        """Return the bracket that a token stands in."""
        depth = 0
        while depth <= 0 and i > 0:
            i -= 1
            depth += (self._words[i] in _CLOSING) - (
                self._words[i] in _CLOSING.values()
            )
        return i

    def _callee_around(self, i: int) -> str:
        """Return the function that a token is an argument of."""
        opening = self._around(i)
        return self._words[opening - 1] if self._words[opening] == "(" else ""

    def _begins_statement(self, i: int) -> bool:
        """Tell whether a statement begins here."""
        before = self._words[i - 1]
        if before == "{":
            return self._is_block(i - 1)
        if before == "}":
            return self._is_block(self._partner[i - 1])
        if before == ")":
            opening = self._partner[i - 1]
            return self._words[opening - 1] in {"if", "for", "while", "constexpr"}
        in_loop = self._words[self._around(i)] == "("
        return before in {";", "else"} and not in_loop

    def _is_block(self, i: int) -> bool:
        """Tell whether a brace holds statements."""
        before = self._words[i - 1] if i > 0 else ")"
        is_marked = before.startswith("TINY_LLM")
        return is_marked or before in {")", "else", "const", ";", "{", "}"}

    def _is_droppable(self, i: int) -> bool:
        """Tell whether a statement may be left out, and declares nothing."""
        word = self._words[i]
        if word in {"continue", "break", "++", "--", "*", "("}:
            return True
        if word == "return":
            is_inside = self._lambda_around(i)
            return self._words[i + 1] == ";" or (self._region.is_void and not is_inside)
        if self._tokens[i].lastgroup != "name" or word in _NO_CALLS | _DECLARES:
            return False
        while self._words[i + 1] in {"::", ".", "->"}:
            i += 2
        behind = self._words[self._behind_angles(i + 1)]
        return behind in {"(", "[", "++"} or behind in _ASSIGNMENTS

    def _lambda_around(self, i: int) -> bool:
        """Tell whether a token stands in a lambda."""
        while i > 0:
            i = self._around(i)
            j = i - 1
            while j > 0 and self._words[j] not in {";", "{", "}"}:
                j = self._partner[j] if self._words[j] == ")" else j
                if self._words[j] == "(" and self._words[j - 1] == "]":
                    return True
                j -= 1
        return False

    def _end_of_statement(self, i: int) -> int:
        """Return the semicolon that ends a statement."""
        while self._words[i] != ";":
            i = self._partner[i] + 1 if self._words[i] in _CLOSING else i + 1
        return i

    def _arguments(self, opening: int, closing: int) -> list[str]:
        """Return what stands between commas."""
        found, first, i = list[str](), opening + 1, opening + 1
        while i <= closing:
            if self._opens_angle(i):
                i = self._closes_angle(i)
            elif self._words[i] in _CLOSING:
                i = self._partner[i]
            elif self._words[i] in {",", ")"}:
                if i > first:
                    found.append(self._raw(first, i - 1))
                first = i + 1
            i += 1
        return found

    def _first_asked(self, i: int) -> int:
        """Return where the condition before a question mark begins."""
        stops = {"(", "[", "{", ",", ";", "=", "?", ":", "return"}
        while self._words[i - 1] not in stops:
            i = self._partner[i - 1] if self._words[i - 1] in {")", "]"} else i - 1
        return i

    def _first_of(self, i: int) -> int:
        """Return where what ends here begins: `a.b(c)[d]`, for one."""
        while True:
            if self._words[i] in {")", "]"}:
                i = self._partner[i]
                if self._tokens[i - 1].lastgroup != "name" and self._words[
                    i - 1
                ] not in {")", "]", ">"}:
                    return i
                i -= 1
                continue
            if self._words[i] == ">":
                while not self._opens_angle(i):
                    i -= 1
                i -= 1
                continue
            if i > 1 and self._words[i - 1] in {"::", ".", "->"}:
                i -= 2
                continue
            return i

    def _last_of(self, i: int) -> int:
        """Return where what begins here ends."""
        while self._words[i] in {"-", "!", "*", "&"}:
            i += 1
        if self._words[i] in _CLOSING:
            i = self._partner[i]
        while True:
            behind = self._behind_angles(i + 1)
            if (
                self._words[behind] in {"(", "[", "{"}
                and self._text[self._tokens[behind].start() - 1] not in " \n"
            ):
                i = self._partner[behind]
            elif self._words[i + 1] in {"::", ".", "->"}:
                i += 2
            else:
                return i

    def _raw(self, first: int, last: int) -> str:
        """Return the text of some tokens, without comments."""
        text = self._text[self._tokens[first].start() : self._tokens[last].end()]
        return re.sub(r"//[^\n]*", "", text)

    def _shown(self, first: int, last: int) -> str:
        """Return the text of some tokens in one line, with a middle left out."""
        text = _flat(self._raw(first, last))
        return text if len(text) <= 48 else f"{text[:30]}...{text[-15:]}"


def _flat(text: str) -> str:
    """Write code in one line."""
    return re.sub(r"\s+", " ", text).strip()


def _line_of(text: str, start: int) -> str:
    """Return the line of a place."""
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", start)
    return _flat(text[first:last])
