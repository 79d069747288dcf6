"""One change of the reference's text, and the place where it is made."""

import ast
from dataclasses import dataclass, field

from tiny_llm_course.composed_mistakes.text import Slot
from tiny_llm_course.composed_mistakes.words import named


@dataclass(frozen=True)
class Change:
    """One thing that stands where another should.

    Attributes:
        slot: The place.
        node: What stands there instead.
        kind: The key of its sentence.
        words: What fills the blanks of the sentence.
    """

    slot: Slot
    node: ast.AST
    kind: str
    words: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Place:
    """Where something may go wrong.

    Attributes:
        slot: The place in the text.
        parameters: Names that a learner shares.
        known: Names that occur in the text.
    """

    slot: Slot
    parameters: frozenset[str]
    known: frozenset[str]

    def change(self, node: ast.AST, kind: str, **words: str) -> Change:
        """Put something else here."""
        return Change(self.slot, node, kind, words)

    def named(self, node: ast.AST) -> str:
        """Say what an expression is, in the words that a learner shares."""
        return named(node, self.parameters)


def asked_for_none(test: ast.expr) -> str:
    """Return what a condition compares with None, if it does nothing else."""
    match test:
        case ast.Compare(
            ast.Name(name), [ast.Is() | ast.IsNot()], [ast.Constant(None)]
        ):
            return name
        case _:
            return ""


def helped(helper: str, arguments: list[ast.expr]) -> ast.Call:
    """Call one of `HELPERS`."""
    return ast.Call(ast.Name(helper, ast.Load()), arguments, [])
