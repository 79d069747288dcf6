"""What may go wrong at a place of the reference's text."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tiny_llm_course.composed_mistakes.statements import wrong_statements
from tiny_llm_course.composed_mistakes.tables import (
    AXES,
    DONE_TWICE,
    FAMILIES,
    OTHER_COMPARISONS,
    OTHER_FUNCTIONS,
    OTHER_OPERATORS,
    SMALL,
    SPREAD,
)
from tiny_llm_course.composed_mistakes.text import Slot, Text, slots
from tiny_llm_course.composed_mistakes.whole import changed_functions
from tiny_llm_course.composed_mistakes.words import OPERATIONS, function_of, named

RESULTS = ("in_float32", "axis_in_front", "axes_in_front", "axes_joined", "squeezed")
"""What is done to a result, each by one of `HELPERS`."""

AXES_ADDED = ("axis_at_the_end", "axis_after_the_first")
"""What is done to an array that has to fit to another."""

OF_QWEN2 = {
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "hidden_size": 896,
    "intermediate_size": 4864,
    "num_hidden_layers": 24,
    "rms_norm_eps": 1e-6,
    "vocab_size": 151936,
    "max_position_embeddings": 32768,
    "rope_theta": 1000000,
}
"""What `config.json` of Qwen2-0.5B says, which people copy from there."""


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


def changes_of(text: Text) -> Iterator[Change]:
    """Yield all that may go wrong in a text, one at a time."""
    parameters, known = frozenset(text.parameters), frozenset(text.names)
    for slot in slots(text.tree):
        yield from Alternatives(slot, parameters, known).all()


@dataclass(frozen=True)
class Alternatives:
    """All that may stand at one place.

    Attributes:
        slot: The place.
        parameters: Names that a learner shares.
        known: Names that occur in the text.
    """

    slot: Slot
    parameters: frozenset[str]
    known: frozenset[str]

    def all(self) -> Iterator[Change]:
        """Yield them by the kind of what should be there."""
        alternatives: dict[type[ast.AST], Callable[[Any], Iterator[Change]]] = {
            ast.Call: self._calls,
            ast.BinOp: self._operations,
            ast.UnaryOp: self._signs,
            ast.Compare: self._comparisons,
            ast.BoolOp: self._questions,
            ast.Constant: self._constants,
            ast.Name: self._names,
            ast.Attribute: self._names,
            ast.Slice: self._slices,
            ast.IfExp: self._choices,
            ast.FunctionDef: self._functions,
            ast.Subscript: self._subscripts,
            ast.Return: self._returns,
        }
        node = self.slot.node
        others = self._statements if isinstance(node, ast.stmt) else _none
        yield from alternatives.get(type(node), others)(node)
        for changed, kind, what in wrong_statements(node):
            words = what if isinstance(what, str) else self._named(what)
            yield self._change(changed, kind, what=words)

    def _change(self, node: ast.AST, kind: str, **words: str) -> Change:
        return Change(self.slot, node, kind, words)

    def _named(self, node: ast.AST) -> str:
        return named(node, self.parameters)

    def _calls(self, call: ast.Call) -> Iterator[Change]:
        """Yield what may go wrong with a call."""
        function, what = function_of(call), self._named(call)
        receiver = _receiver(call)
        if isinstance(call.func, ast.Attribute) and function == "astype":
            owner = call.func.value
            yield self._change(owner, "no_cast", what=self._named(owner))
        elif receiver is not None:
            yield self._change(receiver, "left_out", what=what)
        elif call.args:
            yield self._change(call.args[0], "left_out", what=what)
        if function in DONE_TWICE and call.args:
            again = ast.Call(call.func, [call, *call.args[1:]], call.keywords)
            yield self._change(again, "twice", what=what)
        if function == "swapaxes" and receiver is not None:
            yield self._change(_helped("reshaped", [receiver, *call.args]), "reshaped")
        if function == "unflatten":
            yield self._change(_helped("cut_otherwise", call.args), "cut_otherwise")
        if function == "flatten" and len(call.args) == 3:
            changed = _helped("joined_otherwise", call.args)
            yield self._change(changed, "joined_otherwise")
        if function == "linear":
            what = self._named(call.args[1])
            stored = _helped("linear_as_stored", call.args)
            yield self._change(stored, "not_transposed", what=what)
        for other in OTHER_FUNCTIONS.get(function, ()):
            called = _in_place_of(call.func, other)
            words = {"got": f"`{other.split('.')[-1]}`", "expected": f"`{function}`"}
            yield self._change(
                ast.Call(called, call.args, call.keywords), "instead", **words
            )
        yield from self._as_stored(call)
        yield from self._parentheses(call)
        yield from self._arguments(call)
        yield from self._keywords(call)

    def _as_stored(self, call: ast.Call) -> Iterator[Change]:
        """Yield the weight of a layer as it is stored."""
        if function_of(call) == "dequantize_linear":
            layer = call.args[0]
            stored = ast.Attribute(layer, "weight", ast.Load())
            yield self._change(stored, "as_stored", what=self._named(layer))

    def _parentheses(self, call: ast.Call) -> Iterator[Change]:
        """Yield what comes out when an operand slips out of a call."""
        if not call.args or not isinstance(call.args[0], ast.BinOp):
            return
        inner = call.args[0]
        outer = ast.Call(call.func, [inner.left, *call.args[1:]], call.keywords)
        yield self._change(
            ast.BinOp(outer, inner.op, inner.right),
            "outside",
            what=self._named(inner.right),
            function=f"`{function_of(call).strip('_')}`",
        )

    def _arguments(self, call: ast.Call) -> Iterator[Change]:
        """Yield what may go wrong with the arguments of a call that have no name."""
        args, function = call.args, f"`{function_of(call).strip('_')}`"
        if len(args) >= 2 and not isinstance(args[-1], ast.Starred):
            fewer = ast.Call(call.func, args[:-1], call.keywords)
            words = {"what": self._named(args[-1]), "function": function}
            yield self._change(fewer, "not_handed_on", **words)
        for i in range(len(args)):
            for j in range(i + 1, len(args)):
                if not _exchangeable(args[i], args[j], len(args)):
                    continue
                swapped = list(args)
                swapped[i], swapped[j] = args[j], args[i]
                yield self._change(
                    ast.Call(call.func, swapped, call.keywords),
                    "exchanged",
                    a=self._named(args[i]),
                    b=self._named(args[j]),
                )

    def _keywords(self, call: ast.Call) -> Iterator[Change]:
        """Yield what may go wrong with the named arguments of a call."""
        keywords, what = call.keywords, self._named(call)
        for i, one in enumerate(keywords):
            rest = [*keywords[:i], *keywords[i + 1 :]]
            without = ast.Call(call.func, call.args, rest)
            if one.arg == "axis":
                yield from self._axes(call, i)
                yield self._change(without, "no_axis", what=what)
            elif one.arg == "keepdims":
                yield self._change(without, "no_keepdims", what=what)
            elif one.arg is not None:
                function = f"`{function_of(call).strip('_')}`"
                words = {"what": f"`{one.arg}`", "function": function}
                yield self._change(without, "not_handed_on", **words)
            for other in keywords[i + 1 :]:
                if not (one.arg and other.arg and one.arg[0] == other.arg[0]):
                    continue
                swapped = [ast.keyword(one.arg, other.value)]
                swapped.append(ast.keyword(other.arg, one.value))
                kept = [each for each in rest if each is not other]
                yield self._change(
                    ast.Call(call.func, call.args, [*kept, *swapped]),
                    "exchanged",
                    a=f"`{one.arg}`",
                    b=f"`{other.arg}`",
                )

    def _axes(self, call: ast.Call, place: int) -> Iterator[Change]:
        """Yield the other axes that a call may run along."""
        own = call.keywords[place]
        expected = ast.unparse(own.value)
        for axis in AXES:
            if str(axis) == expected:
                continue
            keywords = list(call.keywords)
            keywords[place] = ast.keyword("axis", ast.Constant(axis))
            yield self._change(
                ast.Call(call.func, call.args, keywords),
                "axis",
                what=self._named(call),
                got=str(axis),
                expected=expected,
            )

    def _operations(self, node: ast.BinOp) -> Iterator[Change]:
        """Yield what may go wrong with a sum, a product and the like."""
        left, right = self._named(node.left), self._named(node.right)
        kind = OPERATIONS.get(type(node.op))
        if kind:
            yield self._change(node.left, f"no_{kind}", left=left, right=right)
            if isinstance(node.op, ast.Add | ast.Mult):
                yield self._change(node.right, f"no_{kind}", left=right, right=left)
            if isinstance(node.op, ast.Div):
                yield self._change(node.right, "not_inverted", what=right)
                again = ast.BinOp(node, node.op, node.right)
                yield self._change(again, "divided_twice", left=left, right=right)
                yield from self._small_numbers(node, right)
        if not isinstance(node.op, ast.Add | ast.Mult):
            turned = ast.BinOp(node.right, node.op, node.left)
            yield self._change(turned, "turned", left=left, right=right)
        for other in OTHER_OPERATORS.get(type(node.op), ()):
            words = {
                "got": f"`{_symbol(other())}`",
                "expected": f"`{_symbol(node.op)}`",
            }
            changed = ast.BinOp(node.left, other(), node.right)
            yield self._change(changed, "operator", left=left, right=right, **words)

    def _small_numbers(self, node: ast.BinOp, what: str) -> Iterator[Change]:
        """Yield a division that is kept from 0 where nothing is to be added."""
        for small in SMALL:
            below = ast.BinOp(node.right, ast.Add(), ast.Constant(small))
            divided = ast.BinOp(node.left, node.op, below)
            yield self._change(divided, "small_number", what=what, got=f"{small:g}")

    def _signs(self, node: ast.UnaryOp) -> Iterator[Change]:
        """Yield what is left when a minus is lost. A negative number is one thing."""
        is_number = isinstance(node.operand, ast.Constant)
        if isinstance(node.op, ast.USub) and not is_number:
            yield self._change(node.operand, "sign", what=self._named(node.operand))

    def _choices(self, node: ast.IfExp) -> Iterator[Change]:
        """Yield one side of a choice."""
        if asked := _asked_for_none(node.test):
            what = f"`{asked}`"
            yield self._change(node.body, "none", what=what)
            yield self._change(node.orelse, "none", what=what)
            return
        what = self._named(node.body)
        yield self._change(node.body, "always", what=what)
        yield self._change(node.orelse, "never", what=what)

    def _comparisons(self, node: ast.Compare) -> Iterator[Change]:
        """Yield what else may be asked."""
        sides = [node.left, *node.comparators]
        for i, operator in enumerate(node.ops):
            for other in OTHER_COMPARISONS.get(type(operator), ()):
                operators = [*node.ops[:i], other(), *node.ops[i + 1 :]]
                yield self._change(
                    ast.Compare(node.left, operators, node.comparators),
                    "comparison",
                    left=self._named(sides[i]),
                    right=self._named(sides[i + 1]),
                    got=f"`{_sign(other())}`",
                    expected=f"`{_sign(operator)}`",
                )

    def _questions(self, node: ast.BoolOp) -> Iterator[Change]:
        """Yield what is asked when one of several questions is forgotten."""
        for i, left_out in enumerate(node.values):
            rest = [*node.values[:i], *node.values[i + 1 :]]
            asked = rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
            what = f"`{ast.unparse(left_out)}`"
            yield self._change(asked, "not_asked", what=what)

    def _constants(self, node: ast.Constant) -> Iterator[Change]:
        """Yield what is easily taken for a number, or the other flag."""
        value = node.value
        if isinstance(value, bool):
            yield self._change(ast.Constant(not value), "flag", got=str(not value))
            return
        if not isinstance(value, int | float):
            return
        for other in dict.fromkeys(
            (value + 1, value - 1, 2 * value, value / 2, -value)
        ):
            if other != value and (isinstance(value, float) or other == int(other)):
                number = type(value)(other)
                words = {"got": f"{number:g}", "expected": f"{value:g}"}
                yield self._change(ast.Constant(number), "number", **words)

    def _names(self, node: ast.Name | ast.Attribute) -> Iterator[Change]:
        """Yield what is easily taken for a name."""
        if isinstance(node.ctx, ast.Store):
            return
        if isinstance(node, ast.Attribute) and node.attr == "T":
            yield self._change(node.value, "not_transposed", what=self._named(node))
            ends = [ast.Constant(0), ast.UnaryOp(ast.USub(), ast.Constant(1))]
            yield self._change(_helped("reshaped", [node.value, *ends]), "reshaped")
            return
        own = node.id if isinstance(node, ast.Name) else node.attr
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "args":
            yield from self._of_one_model(node)
        if own in SPREAD:
            for kind in AXES_ADDED:
                spread = _helped(kind, [node])
                yield self._change(spread, kind, what=self._named(node))
        for family in FAMILIES:
            for other in family if own in family else ():
                if other == own or other not in self.known:
                    continue
                taken: ast.expr = ast.Name(other, ast.Load())
                if isinstance(node, ast.Attribute):
                    taken = ast.Attribute(node.value, other, ast.Load())
                words = {"got": self._named(taken), "expected": self._named(node)}
                yield self._change(taken, "instead", **words)

    def _of_one_model(self, node: ast.Attribute) -> Iterator[Change]:
        """Yield what one model has, where the model at hand is to be asked."""
        if node.attr in OF_QWEN2:
            number = OF_QWEN2[node.attr]
            words = {"what": f"`{node.attr}`", "got": f"{number:g}"}
            yield self._change(ast.Constant(number), "of_one_model", **words)

    def _functions(self, function: ast.FunctionDef) -> Iterator[Change]:
        """Yield what may go wrong with a function as a whole."""
        for changed, kind, words in changed_functions(function, self.known):
            yield self._change(changed, kind, **words)

    def _lookups(self, node: ast.Subscript) -> Iterator[Change]:
        """Yield a look-up along the second axis in place of the first."""
        if isinstance(node.ctx, ast.Load) and isinstance(node.slice, ast.Name):
            along = ast.Tuple([ast.Slice(), node.slice], ast.Load())
            columns = ast.Subscript(node.value, along, ast.Load())
            yield self._change(columns, "columns", what=self._named(node.value))

    def _slices(self, node: ast.Slice) -> Iterator[Change]:
        """Yield other ends of a range."""
        if node.lower:
            yield self._change(ast.Slice(None, node.upper), "slice")
        if node.upper:
            yield self._change(ast.Slice(node.lower, None), "slice")
        for operator in (ast.Add(), ast.Sub()):
            if node.lower:
                lower = ast.BinOp(node.lower, operator, ast.Constant(1))
                yield self._change(ast.Slice(lower, node.upper), "slice")
            if node.upper:
                upper = ast.BinOp(node.upper, operator, ast.Constant(1))
                yield self._change(ast.Slice(node.lower, upper), "slice")

    def _subscripts(self, node: ast.Subscript) -> Iterator[Change]:
        """Yield the whole of what only a part belongs of."""
        yield from self._lookups(node)
        if isinstance(node.ctx, ast.Load) and _has_slice(node.slice):
            yield self._change(node.value, "whole", what=self._named(node.value))

    def _returns(self, node: ast.Return) -> Iterator[Change]:
        """Yield what may be done to a result that is right."""
        value = node.value
        if value is None or isinstance(value, ast.Tuple | ast.Constant):
            return
        for kind in RESULTS:
            yield self._change(ast.Return(_helped(kind, [value])), kind)

    def _statements(self, node: ast.stmt) -> Iterator[Change]:
        """Yield what may go wrong with a whole statement."""
        match node:
            case ast.Expr(ast.Call() as call):
                yield self._change(ast.Pass(), "missing", what=self._named(call))
            case ast.AugAssign(target):
                yield self._change(ast.Pass(), "unchanged", what=self._named(target))
            case ast.Assign(value=value):
                yield self._change(ast.Expr(value), "not_kept", what=self._named(value))
            case ast.For(target, over, body):
                turned = ast.Call(ast.Name("reversed", ast.Load()), [over], [])
                yield self._change(ast.For(target, turned, body, []), "backwards")
                fewer = ast.Subscript(over, ast.Slice(ast.Constant(1)), ast.Load())
                yield self._change(ast.For(target, fewer, body, []), "not_the_first")
                fewer = ast.Subscript(
                    over, ast.Slice(None, ast.Constant(-1)), ast.Load()
                )
                yield self._change(ast.For(target, fewer, body, []), "not_the_last")
            case ast.If(test, body, orelse):
                asked = _asked_for_none(test)
                kind = "none" if asked else "condition"
                words = {"what": f"`{asked or ast.unparse(test)}`"}
                for always in (True, False):
                    branch = ast.If(ast.Constant(always), body, orelse)
                    yield self._change(branch, kind, **words)
            case _:
                pass


def _asked_for_none(test: ast.expr) -> str:
    """Return what a condition compares with None, if it does nothing else."""
    match test:
        case ast.Compare(
            ast.Name(name), [ast.Is() | ast.IsNot()], [ast.Constant(None)]
        ):
            return name
        case _:
            return ""


def _has_slice(index: ast.expr) -> bool:
    """Tell whether an index leaves the number of axes as it is, or adds some."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return any(isinstance(one, ast.Slice) for one in parts)


def _none(node: ast.AST) -> Iterator[Change]:
    """Yield nothing: nobody gets this wrong by itself."""
    del node
    yield from ()


def _helped(helper: str, arguments: list[ast.expr]) -> ast.Call:
    """Call one of `HELPERS`."""
    return ast.Call(ast.Name(helper, ast.Load()), arguments, [])


def _receiver(call: ast.Call) -> ast.expr | None:
    """Return the value whose method is called, if it is one."""
    if not isinstance(call.func, ast.Attribute):
        return None
    owner = call.func.value
    is_named = isinstance(owner, ast.Name) and owner.id in {"mx", "self", "math"}
    return None if is_named or isinstance(owner, ast.Attribute) else owner


def _in_place_of(function: ast.expr, other: str) -> ast.expr:
    """Return another function, of the same module or of one that it names."""
    if isinstance(function, ast.Name) and function.id in {"max", "min", "sum"}:
        return ast.Name(other, ast.Load())
    if "." in other or not isinstance(function, ast.Attribute):
        module, _, name = other.rpartition(".")
        owner: ast.expr = ast.Name(module or "mx", ast.Load())
        return ast.Attribute(owner, name, ast.Load())
    return ast.Attribute(function.value, other, ast.Load())


def _exchangeable(a: ast.expr, b: ast.expr, num_arguments: int) -> bool:
    """Tell whether somebody may take one argument for the other."""
    if isinstance(a, ast.Starred) or isinstance(b, ast.Starred):
        return False
    return num_arguments <= 4 or ast.unparse(a)[:1] == ast.unparse(b)[:1]


def _symbol(operator: ast.operator) -> str:
    """Return how an operator is written."""
    nobody = ast.Name("a", ast.Load())
    return ast.unparse(ast.BinOp(nobody, operator, nobody))[2:-2]


def _sign(operator: ast.cmpop) -> str:
    """Return how a comparison is written."""
    nobody = ast.Name("a", ast.Load())
    return ast.unparse(ast.Compare(nobody, [operator], [nobody]))[2:-2]
