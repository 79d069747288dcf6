"""Words that no Metal source may hold, whatever stands around them (MSL 1.5)."""

import re
from collections.abc import Iterator

from tiny_llm_course.metal.refusals import Refusal
from tiny_llm_course.metal.shared_variables import shared_variables
from tiny_llm_course.metal.tokens import Token, line_of, tokens_of

# The word, and what it is refused for.
_WORDS = {
    "double": "double",
    "goto": "goto",
    "new": "allocation",
    "delete": "allocation",
    "try": "exception",
    "catch": "exception",
    "throw": "exception",
    "virtual": "virtual",
    "asm": "assembly",
    "__asm": "assembly",
    "__asm__": "assembly",
    "typeid": "type_identification",
    "dynamic_cast": "type_identification",
    "thread_local": "storage",
    "register": "storage",
    "std": "std",
}

# Words of the language itself (MSL 2.1, 4, 5.1). C++ would take some for any name.
_OWN = {
    *("device", "constant", "thread", "threadgroup", "threadgroup_imageblock"),
    *("kernel", "vertex", "fragment", "half", "bfloat", "uint", "ushort", "uchar"),
}
_OWN_SPACES = {"device", "constant", "thread", "threadgroup"}
_NO_TYPE = {"const", "constexpr", "volatile", "return", "using", "typename", "sizeof"}

# Functions of compilers for C++. clang would take them without a declaration.
_BUILTIN = ("__builtin_", "__sync_", "__atomic_")

_HEADER = re.compile(r"""\#\s*include\s*[<"](?:metal_\w+|simd/simd\.h)[>"]\s*$""")


def forbidden_words(source: str, file: str) -> Iterator[Refusal]:
    """Find the words, headers and literals of C++ that Metal does not have."""
    tokens = tokens_of(source)
    afterwards = [*tokens[1:], None]
    for before, token, after in zip([None, *tokens], tokens, afterwards, strict=False):
        found = _as_a_name(before, token, after) or _forbidden(before, token)
        if found is not None:
            kind, values = found
            yield Refusal(kind, file, line_of(source, token.start), values)


def _as_a_name(
    before: Token | None, token: Token, after: Token | None
) -> tuple[str, dict[str, str]] | None:
    """Return that a variable is called by a word of the language: `uint half = 4`."""
    follows_type = before is not None and (
        before.kind == "word" and before.text not in _NO_TYPE | _OWN_SPACES
    )
    ends = after is not None and after.text in {"=", ";", "[", ",", ")"}
    is_one = token.text in _OWN and follows_type and ends
    return ("own_word", {"word": token.text}) if is_one else None


def _forbidden(before: Token | None, token: Token) -> tuple[str, dict[str, str]] | None:
    """Return what a token is refused for, and the sentence's words."""
    kind: str | None = None
    word = token.text
    if token.kind == "include":
        word = token.text.removeprefix("#").strip().removeprefix("include").strip()
        kind = None if _HEADER.match(token.text) else "include"
    elif token.kind == "number":
        is_long = word[-1] in "lL" and ("." in word or "e" in word)
        kind = "double" if is_long else None
    elif token.kind == "word":
        kind = _forbidden_word(before.text if before else "", word)
    return (kind, {"word": word}) if kind else None


def _forbidden_word(previous: str, word: str) -> str | None:
    is_member = previous in {".", "->"}
    is_deleted = (
        previous == "=" and word == "delete"
    )  # a function that cannot be called
    if is_member or is_deleted:
        return None
    if word == "long" and previous == "long":
        return "long_long"
    if word == "threadgroup" and previous == "static":
        return "static"
    return _WORDS.get(word, "unknown" if word.startswith(_BUILTIN) else None)


def misplaced_variables(source: str, file: str, *, is_body: bool) -> Iterator[Refusal]:
    """Find threadgroup variables that Metal does not allow (MSL 4.4).

    Args:
        source: The kernel's body or its header.
        file: Its name.
        is_body: It is the body. A variable elsewhere is in no kernel.
    """
    for group in shared_variables(source):
        for variable in group:
            word = {"word": variable.name}
            line = line_of(source, variable.start)
            if not is_body:
                yield Refusal("threadgroup_place", file, line, word)
            elif variable.has_value:
                yield Refusal("threadgroup_value", file, line, word)
