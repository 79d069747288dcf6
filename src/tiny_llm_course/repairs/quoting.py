"""How a piece of code is shown in a sentence: in backticks, and cut if it is long."""

import ast
from itertools import takewhile, zip_longest

MOST = 60
"""A longer piece of code is cut."""

BEFORE = 16
"""Characters that are shown in front of a difference, at least."""


def code(node: ast.AST) -> str:
    """Show a piece of code."""
    return _cut(ast.unparse(node).splitlines()[0])


def is_short(node: ast.AST) -> bool:
    """Tell whether all of a piece of code is shown."""
    return len(ast.unparse(node)) <= MOST


def two_codes(a: ast.AST, b: ast.AST) -> tuple[str, str]:
    """Show two pieces of code, long ones from where they begin to differ."""
    both = zip_longest(*(ast.unparse(one).splitlines() for one in (a, b)), fillvalue="")
    first, second = next((pair for pair in both if pair[0] != pair[1]), ("", ""))
    is_long = max(len(first), len(second)) > MOST
    start = _start(first, second) if is_long else 0
    return _cut(first, start), _cut(second, start)


def _start(a: str, b: str) -> int:
    """Return where to begin to show two texts: at a word before they differ."""
    pairs = zip(a, b, strict=False)
    num_alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    latest = num_alike - BEFORE
    if latest <= MOST // 2:
        return 0
    word = a.rfind(" ", 0, latest) + 1
    return word if latest - word <= MOST // 2 else latest


def _cut(text: str, start: int = 0) -> str:
    """Show a text from a place on, as far as there is room."""
    shown = f"...{text[start:]}" if start else text.strip()
    return f"`{shown}`" if len(shown) <= MOST else f"`{shown[: MOST - 3]}...`"
