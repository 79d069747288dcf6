"""The threadgroup variables of a source: where they stand, what they are (MSL 4.4)."""

from collections.abc import Sequence
from dataclasses import dataclass

from tiny_llm_course.metal.tokens import Token, tokens_of

_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}

# What stands before a declaration.
_STARTS = {";", "{", "}", ")", ":", "else"}


@dataclass(frozen=True)
class SharedVariable:
    """A variable of a threadgroup.

    Args:
        name: As the source names it.
        type: What it is, with its dimensions: `float[256]`.
        start: Where its declaration begins.
        end: The place behind the declaration, semicolon included.
        has_value: It is given an initial value, which Metal does not allow.
    """

    name: str
    type: str
    start: int
    end: int
    has_value: bool


def shared_variables(source: str) -> list[list[SharedVariable]]:
    """Return the threadgroup variables of a source, by declaration."""
    tokens = tokens_of(source)
    found: list[list[SharedVariable]] = []
    previous = ";"
    for at, token in enumerate(tokens):
        if token.text == "threadgroup" and previous in _STARTS:
            group = _declared(source, tokens[at:])
            found += [group] if group else []
        previous = token.text
    return found


def _declared(source: str, tokens: Sequence[Token]) -> list[SharedVariable]:
    """Read one declaration. A pointer or reference into threadgroup memory is none."""
    pieces, semicolon = _pieces(tokens[1:])
    named = [_name_and_sizes(piece) for piece in pieces]
    if semicolon is None or named[0] is None or None in named:
        return []
    type_ = source[pieces[0][0].start : named[0][0].start].strip()
    return [
        SharedVariable(
            name.text, type_ + sizes, tokens[0].start, semicolon.end, has_value
        )
        for name, sizes, has_value in filter(None, named)
    ]


def _pieces(tokens: Sequence[Token]) -> tuple[list[list[Token]], Token | None]:
    """Split a declaration at its commas, up to the semicolon that ends it."""
    pieces: list[list[Token]] = [[]]
    waiting: list[str] = []
    has_value = False
    for token in tokens:
        if not waiting and token.text in {";", ")"}:
            return pieces, token if token.text == ";" else None
        has_value = has_value or token.text == "="
        if token.text in _CLOSING and not (token.text == "<" and has_value):
            waiting.append(_CLOSING[token.text])
        elif waiting and token.text == waiting[-1]:
            waiting.pop()
        if token.text == "," and not waiting:
            pieces.append([])
        else:
            pieces[-1].append(token)
    return pieces, None


def _name_and_sizes(piece: list[Token]) -> tuple[Token, str, bool] | None:
    """Split `float4 part [ 2 ] = ...` after its type. None for a pointer."""
    depth = 0
    name: Token | None = None
    sizes: list[str] = []
    for token in piece:
        if depth == 0 and token.text in {"*", "&", "("}:
            return None
        if depth == 0 and token.text in {"=", "{"}:
            return (name, "".join(sizes), True) if name else None
        depth += {"[": 1, "<": 1, "]": -1, ">": -1}.get(token.text, 0)
        if sizes or token.text == "[":
            sizes.append(token.text if token.kind != "word" else f" {token.text} ")
        elif depth == 0 and token.kind == "word":
            name = token
    return (name, "".join(sizes), False) if name else None
