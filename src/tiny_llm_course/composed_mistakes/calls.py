"""What may go wrong with a call and its arguments."""

import ast
from collections.abc import Iterator

from tiny_llm_course.composed_mistakes.change import Change, Place, helped
from tiny_llm_course.composed_mistakes.tables import (
    ADDED,
    AXES,
    DONE_TWICE,
    OTHER_FUNCTIONS,
)
from tiny_llm_course.composed_mistakes.words import function_of


def calls(place: Place, call: ast.Call) -> Iterator[Change]:
    """Yield what may go wrong with a call."""
    function, what = function_of(call), place.named(call)
    receiver = _receiver(call)
    if isinstance(call.func, ast.Attribute) and function == "astype":
        owner = call.func.value
        yield place.change(owner, "no_cast", what=place.named(owner))
    elif receiver is not None:
        yield place.change(receiver, "left_out", what=what)
    elif call.args:
        yield place.change(call.args[0], "left_out", what=what)
    if function in DONE_TWICE and call.args:
        again = ast.Call(call.func, [call, *call.args[1:]], call.keywords)
        yield place.change(again, "twice", what=what)
    if function == "swapaxes" and receiver is not None:
        yield place.change(helped("reshaped", [receiver, *call.args]), "reshaped")
    if function == "unflatten":
        yield place.change(helped("cut_otherwise", call.args), "cut_otherwise")
    if function == "flatten" and len(call.args) == 3:
        changed = helped("joined_otherwise", call.args)
        yield place.change(changed, "joined_otherwise")
    if function == "linear":
        what = place.named(call.args[1])
        stored = helped("linear_as_stored", call.args)
        yield place.change(stored, "not_transposed", what=what)
    for other in OTHER_FUNCTIONS.get(function, ()):
        called = _in_place_of(call.func, other)
        words = {"got": f"`{other.split('.')[-1]}`", "expected": f"`{function}`"}
        yield place.change(
            ast.Call(called, call.args, call.keywords), "instead", **words
        )
    yield from _as_stored(place, call)
    yield from _parentheses(place, call)
    yield from _arguments(place, call)
    yield from _keywords(place, call)


def _as_stored(place: Place, call: ast.Call) -> Iterator[Change]:
    """Yield the weight of a layer as it is stored."""
    if function_of(call) == "dequantize_linear":
        layer = call.args[0]
        stored = ast.Attribute(layer, "weight", ast.Load())
        yield place.change(stored, "as_stored", what=place.named(layer))


def _parentheses(place: Place, call: ast.Call) -> Iterator[Change]:
    """Yield what comes out when an operand slips out of a call."""
    if not call.args or not isinstance(call.args[0], ast.BinOp):
        return
    inner = call.args[0]
    outer = ast.Call(call.func, [inner.left, *call.args[1:]], call.keywords)
    yield place.change(
        ast.BinOp(outer, inner.op, inner.right),
        "outside",
        what=place.named(inner.right),
        function=f"`{function_of(call).strip('_')}`",
    )


def _arguments(place: Place, call: ast.Call) -> Iterator[Change]:
    """Yield what may go wrong with the arguments of a call that have no name."""
    args, function = call.args, f"`{function_of(call).strip('_')}`"
    if len(args) >= 2 and not isinstance(args[-1], ast.Starred):
        fewer = ast.Call(call.func, args[:-1], call.keywords)
        words = {"what": place.named(args[-1]), "function": function}
        yield place.change(fewer, "not_handed_on", **words)
    if args and isinstance(args[-1], ast.Name) and args[-1].id in ADDED:
        twice = helped("adding_twice", [call.func, *args])
        what = place.named(args[-1])
        yield place.change(twice, "twice", what=what)
    for i in range(len(args)):
        for j in range(i + 1, len(args)):
            is_likely = _exchangeable(args[i], args[j], len(args))
            is_one_each = not isinstance(args[i], ast.Starred)
            if not (is_likely or (is_one_each and j == i + 1)):
                continue
            swapped = list(args)
            swapped[i], swapped[j] = args[j], args[i]
            yield place.change(
                ast.Call(call.func, swapped, call.keywords),
                "exchanged" if is_likely else "neighbours",
                a=place.named(args[i]),
                b=place.named(args[j]),
            )


def _keywords(place: Place, call: ast.Call) -> Iterator[Change]:
    """Yield what may go wrong with the named arguments of a call."""
    keywords, what = call.keywords, place.named(call)
    for i, one in enumerate(keywords):
        rest = [*keywords[:i], *keywords[i + 1 :]]
        without = ast.Call(call.func, call.args, rest)
        if one.arg == "axis":
            yield from _axes(place, call, i)
            yield place.change(without, "no_axis", what=what)
        elif one.arg == "keepdims":
            yield place.change(without, "no_keepdims", what=what)
        elif one.arg is not None:
            function = f"`{function_of(call).strip('_')}`"
            words = {"what": f"`{one.arg}`", "function": function}
            yield place.change(without, "not_handed_on", **words)
        for other in keywords[i + 1 :]:
            if not (one.arg and other.arg):
                continue
            is_likely = one.arg[0] == other.arg[0]
            if not (is_likely or other is keywords[i + 1]):
                continue
            swapped = [ast.keyword(one.arg, other.value)]
            swapped.append(ast.keyword(other.arg, one.value))
            kept = [each for each in rest if each is not other]
            yield place.change(
                ast.Call(call.func, call.args, [*kept, *swapped]),
                "exchanged" if is_likely else "neighbours",
                a=f"`{one.arg}`",
                b=f"`{other.arg}`",
            )


def _axes(place: Place, call: ast.Call, index: int) -> Iterator[Change]:
    """Yield the other axes that a call may run along."""
    own = call.keywords[index]
    expected = ast.unparse(own.value)
    for axis in AXES:
        if str(axis) == expected:
            continue
        keywords = list(call.keywords)
        keywords[index] = ast.keyword("axis", ast.Constant(axis))
        yield place.change(
            ast.Call(call.func, call.args, keywords),
            "axis",
            what=place.named(call),
            got=str(axis),
            expected=expected,
        )


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
