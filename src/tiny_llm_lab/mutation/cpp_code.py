"""Where an answer stands in a header in C++, and the tokens that it is made of.

This is no parser. It trusts the layout of the reference, where what is between two
spaces is an operator, and an angle without spaces belongs to a template.
"""

import re
from dataclasses import dataclass

from tiny_llm_course.editing.cpp_code import CppCode

_TOKEN = re.compile(
    r"""(?P<none>//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*)
    |(?P<literal>"(?:[^"\\\n]|\\.)*"|\.?\d(?:[eEpP][+-]|[\w.'])*)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<sign>::|->|\+\+|--|<<=|>>=|&&|\|\||[-+*/%<>=!&|]=|<<(?=\s)|(?<=\s)>>(?=\s)|\S)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Region:
    """A function, or a class that belongs to an answer.

    Attributes:
        name: What it is called.
        start: Where its "{" stands.
        end: After its "}".
        is_void: Whether it returns nothing.
    """

    name: str
    start: int
    end: int
    is_void: bool


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


class Code:
    """The tokens of a region, and what belongs together.

    Args:
        text: The header.
        region: The part of it.

    Attributes:
        region: The part of it.
        words: The tokens; all else here is asked for by their numbers.
        kinds: What each is: a "literal", a "name" or a "sign".
        partner: Of each bracket, the one that belongs to it.
        is_fixed: Of each token, whether it has to be as it is to make a program.
    """

    def __init__(self, text: str, region: Region) -> None:
        self.region = region
        self._text = text
        found = _TOKEN.finditer(text, region.start, region.end)
        self._tokens = [one for one in found if one.lastgroup != "none"]
        self.words = [one.group() for one in self._tokens]
        self.kinds = [one.lastgroup for one in self._tokens]
        self.partner = self._partners()
        self.is_fixed = self._fixed()

    def start(self, i: int) -> int:
        """Return where in the header a token begins."""
        return self._tokens[i].start()

    def end(self, i: int) -> int:
        """Return where in the header a token ends."""
        return self._tokens[i].end()

    def is_spaced(self, i: int) -> bool:
        """Tell whether a token has a space on both sides."""
        around = self._text[self.start(i) - 1] + self._text[self.end(i)]
        return around.isspace()

    def _partners(self) -> dict[int, int]:
        """Return which bracket belongs to which, in both directions."""
        waiting: list[int] = []
        found: dict[int, int] = {}
        for i, word in enumerate(self.words):
            if word in _CLOSING:
                waiting.append(i)
            elif word in _CLOSING.values():
                found[i] = waiting.pop()
                found[found[i]] = i
        return found

    def _fixed(self) -> list[bool]:
        """Tell of each token whether it has to be as it is to make a program."""
        fixed = [False] * len(self.words)
        for i, word in enumerate(self.words):
            end = i
            if word == "constexpr" and self.words[i - 1] == "if":
                end = self.partner[i + 1]
            elif word in {"constexpr", "using", "typedef", "static_assert"}:
                end = self.end_of_statement(i)
            elif word == "case":
                end = self.words.index(":", i)
            elif word == "__attribute__":
                end = self.partner[i + 1]
            elif self._opens_angle(i):
                end = self._closes_angle(i)
            elif word == "[" and self._is_size(i):
                end = self.partner[i]
            for j in range(i, end + 1 if end > i else i):
                fixed[j] = True
        return fixed

    def _is_size(self, i: int) -> bool:
        """Tell whether a bracket holds the size of an array, or what a lambda takes."""
        if self.kinds[i - 1] != "name":
            return self.words[i - 1] in {"(", ",", "="}
        is_type = self.kinds[i - 2] == "name" or self.words[i - 2] == ">"
        return is_type and self.words[i - 2] not in {"return", "else"}

    def _opens_angle(self, i: int) -> bool:
        """Tell whether arguments of a template begin."""
        return self.words[i] == "<" and not self._text[self.end(i)].isspace()

    def _closes_angle(self, i: int) -> int:
        """Return where the arguments of a template end."""
        depth = 0
        while True:
            depth += (self.words[i] == "<") - (self.words[i] == ">")
            if depth == 0:
                return i
            i += 1

    def after_angles(self, i: int) -> int:
        """Return what comes after arguments of a template, if there are any."""
        return self._closes_angle(i) + 1 if self._opens_angle(i) else i

    def around(self, i: int) -> int:
        """Return the bracket that a token stands in."""
        depth = 0
        while depth <= 0 and i > 0:
            i -= 1
            depth += (self.words[i] in _CLOSING) - (self.words[i] in _CLOSING.values())
        return i

    def callee_around(self, i: int) -> str:
        """Return the function that a token is an argument of."""
        opening = self.around(i)
        return self.words[opening - 1] if self.words[opening] == "(" else ""

    def begins_statement(self, i: int) -> bool:
        """Tell whether a statement begins here."""
        before = self.words[i - 1]
        if before == "{":
            return self._is_block(i - 1)
        if before == "}":
            return self._is_block(self.partner[i - 1])
        if before == ")":
            opening = self.partner[i - 1]
            return self.words[opening - 1] in {"if", "for", "while", "constexpr"}
        in_loop = self.words[self.around(i)] == "("
        return before in {";", "else"} and not in_loop

    def _is_block(self, i: int) -> bool:
        """Tell whether a brace holds statements."""
        before = self.words[i - 1] if i > 0 else ")"
        is_marked = before.startswith("TINY_LLM")
        return is_marked or before in {")", "else", "const", ";", "{", "}"}

    def is_in_lambda(self, i: int) -> bool:
        """Tell whether a token stands in a lambda."""
        while i > 0:
            i = self.around(i)
            j = i - 1
            while j > 0 and self.words[j] not in {";", "{", "}"}:
                j = self.partner[j] if self.words[j] == ")" else j
                if self.words[j] == "(" and self.words[j - 1] == "]":
                    return True
                j -= 1
        return False

    def end_of_statement(self, i: int) -> int:
        """Return the semicolon that ends a statement."""
        while self.words[i] != ";":
            i = self.partner[i] + 1 if self.words[i] in _CLOSING else i + 1
        return i

    def arguments(self, opening: int, closing: int) -> list[str]:
        """Return the arguments between two brackets."""
        found, first, i = list[str](), opening + 1, opening + 1
        while i <= closing:
            if self._opens_angle(i):
                i = self._closes_angle(i)
            elif self.words[i] in _CLOSING:
                i = self.partner[i]
            elif self.words[i] in {",", ")"}:
                if i > first:
                    found.append(self.raw(first, i - 1))
                first = i + 1
            i += 1
        return found

    def first_asked(self, i: int) -> int:
        """Return where the condition before a question mark begins."""
        stops = {"(", "[", "{", ",", ";", "=", "?", ":", "return"}
        while self.words[i - 1] not in stops:
            i = self.partner[i - 1] if self.words[i - 1] in {")", "]"} else i - 1
        return i

    def first_of(self, i: int) -> int:
        """Return where what ends here begins: `a.b(c)[d]`, for one."""
        while True:
            if self.words[i] in {")", "]"}:
                i = self.partner[i]
                before = self.words[i - 1]
                if self.kinds[i - 1] != "name" and before not in {")", "]", ">"}:
                    return i
                i -= 1
            elif self.words[i] == ">":
                while not self._opens_angle(i):
                    i -= 1
                i -= 1
            elif i > 1 and self.words[i - 1] in {"::", ".", "->"}:
                i -= 2
            else:
                return i

    def last_of(self, i: int) -> int:
        """Return where what begins here ends."""
        while self.words[i] in {"-", "!", "*", "&"}:
            i += 1
        if self.words[i] in _CLOSING:
            i = self.partner[i]
        while True:
            after = self.after_angles(i + 1)
            if (
                self.words[after] in {"(", "[", "{"}
                and self._text[self.start(after) - 1] not in " \n"
            ):
                i = self.partner[after]
            elif self.words[i + 1] in {"::", ".", "->"}:
                i += 2
            else:
                return i

    def raw(self, first: int, last: int) -> str:
        """Return the text of some tokens, without comments."""
        text = self._text[self.start(first) : self.end(last)]
        return re.sub(r"//[^\n]*", "", text)

    def shown(self, first: int, last: int) -> str:
        """Return the text of some tokens in one line, with a middle left out."""
        text = flat(self.raw(first, last))
        return text if len(text) <= 48 else f"{text[:30]}...{text[-15:]}"


def flat(text: str) -> str:
    """Write code in one line."""
    return re.sub(r"\s+", " ", text).strip()
