"""What C++ cannot say as Metal does, said in C++, on the same lines.

Three things: a literal with a point is a `float` (MSL 2.1); a swizzle, `v.xy`, names
several components of a vector (MSL 2.2.2); a variable declared `threadgroup` is shared
by all threads of the threadgroup (MSL 4.4).
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tiny_llm_course.metal.shared_variables import shared_variables
from tiny_llm_course.metal.tokens import Edit, Token, apply, tokens_of

_POINT = re.compile(
    r"""
    0[xX][\da-fA-F.']+ [pP][+-]?\d+
  | (?!0[xX]) (?: \d[\d']*\.[\d']* | \.\d[\d']* | \d+(?=[eE]) ) (?: [eE][+-]?\d+ )?
    """,
    re.VERBOSE,
)
_SWIZZLE = re.compile(r"[xyzw]{2,4}|[rgba]{2,4}")
_ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}


def to_cpp(
    source: str,
    *,
    is_body: bool = False,
    first_variable: int = 0,
    members: frozenset[str] = frozenset(),
) -> str:
    """Rewrite a source for the C++ compiler.

    Args:
        source: The body of a kernel, or its header.
        is_body: It is the body, whose `return` ends the thread: the simulator is told.
        first_variable: How many threadgroup variables were counted before.
        members: What looks like a swizzle and is not: see `members_like_swizzles`.
    """
    tokens = tokens_of(source)
    edits = [
        *literal_edits(tokens),
        *include_edits(tokens),
        *_swizzle_edits(tokens, members),
        *(_return_edits(tokens) if is_body else ()),
    ]
    number = first_variable
    for group in shared_variables(source):
        declarations: list[str] = []
        for variable in group:
            declarations.append(
                f"auto& {variable.name} = simulator::shared<{variable.type}>"
                f'({number}, "{variable.name}");'
            )
            number += 1
        start, end = group[0].start, group[0].end
        edits = [edit for edit in edits if not start <= edit.start < end]
        edits.append(Edit(start, end, " ".join(declarations)))
    return apply(source, edits)


def to_check(source: str) -> str:
    """Rewrite a source for the check of the dialect: clang knows swizzles by itself.

    A threadgroup variable is `static`, or clang allows it no address space. A vector
    that is put together under the name `vec<T, 4>` is made by a function.
    """
    return apply(source, check_edits(source))


def check_edits(source: str) -> list[Edit]:
    """Return what `to_check` changes."""
    tokens = tokens_of(source)
    edits = [*literal_edits(tokens), *include_edits(tokens), *_vector_edits(tokens)]
    edits += [
        Edit(group[0].start, group[0].start, "static ")
        for group in shared_variables(source)
    ]
    return edits


def include_edits(tokens: Sequence[Token]) -> Iterator[Edit]:
    """Take the headers of Metal's library away: all of it is there already."""
    for token in tokens:
        if token.kind == "include":
            yield Edit(token.start, token.end, "")


def _vector_edits(tokens: Sequence[Token]) -> Iterator[Edit]:
    """Make `make_vec<T, 4>(` of `vec<T, 4>(`."""
    for at, token in enumerate(tokens[:-1]):
        if token.text != "vec" or tokens[at + 1].text != "<":
            continue
        depth, end = 1, at + 2
        while depth and end < len(tokens):
            depth += {"<": 1, ">": -1}.get(tokens[end].text, 0)
            end += 1
        if end < len(tokens) and tokens[end].text == "(":
            yield Edit(token.start, token.end, "make_vec")


def literal_edits(tokens: Sequence[Token]) -> Iterator[Edit]:
    """Give each literal with a point the type that Metal gives it."""
    for token in tokens:
        found = _POINT.match(token.text) if token.kind == "number" else None
        if found is None:
            continue
        digits, suffix = found.group(), token.text[found.end() :]
        if suffix == "":
            yield Edit(token.end, token.end, "f")
        elif suffix in {"h", "H"}:
            yield Edit(token.start, token.end, f"half({digits}f)")
        elif suffix in {"bf", "BF"}:
            yield Edit(token.start, token.end, f"bfloat({digits}f)")


def _return_edits(tokens: Sequence[Token]) -> Iterator[Edit]:
    """Say that a thread leaves the kernel here."""
    for token, after in pairwise(tokens):
        if token.text == "return" and after.text == ";":
            yield Edit(token.end, token.end, " simulator::leave()")


def members_like_swizzles(source: str) -> frozenset[str]:
    """Return the members of structures that have a swizzle's name, such as `xy`."""
    found: set[str] = set()
    depths: list[int] = []  # of the structures that are open
    depth = 0
    opens_structure = False
    for before, token in pairwise([Token("mark", ";", 0), *tokens_of(source)]):
        if token.text in {"struct", "class", "union"} and before.text != "<":
            opens_structure = True
        elif token.text == "{":
            depth += 1
            depths += [depth] if opens_structure else []
            opens_structure = False
        elif token.text == "}":
            depth -= 1
            depths = [each for each in depths if each <= depth]
        elif token.text in {";", ">", ","}:
            opens_structure = False
        is_member = bool(depths) and depths[-1] == depth
        if (
            is_member
            and before.text not in {".", "->"}
            and _SWIZZLE.fullmatch(token.text)
        ):
            found.add(token.text)
    return frozenset(found)


def _swizzle_edits(tokens: Sequence[Token], members: frozenset[str]) -> Iterator[Edit]:
    """Ask for several components by their numbers."""
    for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if before.text not in {".", "->"} or not _SWIZZLE.fullmatch(token.text):
            continue
        if token.text in members:
            continue
        letters = "xyzw" if token.text[0] in "xyzw" else "rgba"
        numbers = ", ".join(str(letters.index(letter)) for letter in token.text)
        what = "part" if after.text in _ASSIGNMENTS else "at"
        yield Edit(token.start, token.end, f"template {what}<{numbers}>()")
