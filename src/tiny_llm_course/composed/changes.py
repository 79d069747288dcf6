"""What may go wrong at a place of the reference's text."""

import ast
import copy
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tiny_llm_course.composed.statements import wrong_statements
from tiny_llm_course.composed.text import Slot, Text, slots
from tiny_llm_course.composed.words import OPERATIONS, function_of, named

OTHER_FUNCTIONS = {
    "mean": ("sum", "max"),
    "sum": ("mean", "max"),
    "max": ("min", "mean"),
    "min": ("max",),
    "maximum": ("minimum",),
    "minimum": ("maximum",),
    "argmax": ("argmin",),
    "rsqrt": ("sqrt", "square", "reciprocal"),
    "sqrt": ("square",),
    "sigmoid": ("tanh",),
    "silu": ("mx.sigmoid", "mx.tanh"),
    "softmax": ("mx.sigmoid",),
    "cos": ("sin",),
    "sin": ("cos",),
    "erf": ("tanh",),
    "tanh": ("erf", "sigmoid"),
    "exp": ("log", "square"),
    "round": ("floor", "ceil"),
    "stack": ("concatenate",),
    "repeat": ("tile",),
    "arange": ("ones",),
    "logsumexp": ("max",),
}
"""What is taken for what. Without a module it is another of the same."""

DONE_TWICE = {
    *("softmax", "silu", "rope", "rsqrt", "sigmoid", "embedding", "log"),
    *("norm", "input_layernorm", "post_attention_layernorm"),
}

OTHER_OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mod, ast.Mult),
    ast.Mod: (ast.FloorDiv,),
    ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,),
}

OTHER_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt, ast.GtE),
    ast.LtE: (ast.Lt, ast.GtE, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt, ast.LtE),
    ast.GtE: (ast.Gt, ast.LtE, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
}

FAMILIES = (
    ("query", "key", "value"),
    ("wq", "wk", "wv", "wo"),
    ("bq", "bk", "bv"),
    ("q_proj", "k_proj", "v_proj", "o_proj"),
    ("w_gate", "w_up", "w_down"),
    ("gate_proj", "up_proj", "down_proj"),
    ("gate", "up"),
    ("cos", "sin"),
    ("keys", "values"),
    ("_keys", "_values"),
    ("scales", "biases"),
    ("scale", "bias"),
    ("weight", "bias"),
    ("a", "b"),
    ("x", "h"),
    ("L", "S"),
    ("low", "high"),
    ("dim", "hidden_dim"),
    ("group_size", "bits"),
    ("flops", "num_bytes"),
    ("flops_per_s", "bytes_per_s"),
    ("compute_s", "memory_s"),
    ("start", "stop"),
    ("hidden_size", "intermediate_size"),
    ("num_heads", "num_kv_heads"),
    ("num_attention_heads", "num_key_value_heads", "num_kv_heads"),
    ("input_layernorm", "post_attention_layernorm"),
    ("w_input_layernorm", "w_post_attention_layernorm"),
    ("attention", "mlp"),
)
"""Names of one kind, of which one is easily taken for another."""

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

AXES = (-1, -2, 0, 1)


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
            ast.Subscript: self._lookups,
            ast.FunctionDef: self._exchanges,
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
        if function == "dequantize_linear":
            stored = ast.Attribute(call.args[0], "weight", ast.Load())
            yield self._change(stored, "as_stored", what=self._named(call.args[0]))
        if function == "unflatten":
            yield self._change(_helped("cut_otherwise", call.args), "cut_otherwise")
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
        yield from self._parentheses(call)
        yield from self._arguments(call)
        yield from self._keywords(call)

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

    def _signs(self, node: ast.UnaryOp) -> Iterator[Change]:
        """Yield what is left when a minus is lost. A negative number is one thing."""
        is_number = isinstance(node.operand, ast.Constant)
        if isinstance(node.op, ast.USub) and not is_number:
            yield self._change(node.operand, "sign", what=self._named(node.operand))

    def _choices(self, node: ast.IfExp) -> Iterator[Change]:
        """Yield one side of a choice."""
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

    def _exchanges(self, function: ast.FunctionDef) -> Iterator[Change]:
        """Yield two names of one kind that are taken for each other all along."""
        for family in FAMILIES:
            for a, b in itertools.combinations(self.known & set(family), 2):
                exchanged = Exchange(a, b).visit(copy.deepcopy(function))
                if ast.unparse(exchanged) != ast.unparse(function):
                    yield self._change(exchanged, "exchanged", a=f"`{a}`", b=f"`{b}`")

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

    def _statements(self, node: ast.stmt) -> Iterator[Change]:
        """Yield what may go wrong with a whole statement."""
        match node:
            case ast.Expr(ast.Call() as call):
                yield self._change(ast.Pass(), "missing", what=self._named(call))
            case ast.AugAssign(target):
                yield self._change(ast.Pass(), "unchanged", what=self._named(target))
            case ast.Assign(value=value):
                yield self._change(ast.Expr(value), "not_kept", what=self._named(value))
            case ast.Return(value) if value:
                cast = ast.Attribute(value, "astype", ast.Load())
                float32 = ast.Attribute(
                    ast.Name("mx", ast.Load()), "float32", ast.Load()
                )
                yield self._change(
                    ast.Return(ast.Call(cast, [float32], [])), "in_float32"
                )
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
                words = {"what": f"`{ast.unparse(test)}`"}
                yield self._change(
                    ast.If(ast.Constant(True), body, orelse), "condition", **words
                )
                yield self._change(
                    ast.If(ast.Constant(False), body, orelse), "condition", **words
                )
            case _:
                pass


@dataclass
class Exchange(ast.NodeTransformer):
    """Put two names in the place of each other wherever they are read.

    Attributes:
        a: The one.
        b: The other.
    """

    a: str
    b: str

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """Exchange a variable."""
        if isinstance(node.ctx, ast.Load):
            node.id = self._other(node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        """Exchange an attribute."""
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.attr = self._other(node.attr)
        return node

    def _other(self, name: str) -> str:
        return {self.a: self.b, self.b: self.a}.get(name, name)


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
