"""Rules of Metal's that clang does not know, looked for in its tree of a source."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from clang.cindex import Cursor, Type  # pyright: ignore[reportMissingTypeStubs]

Found = tuple[str, int, dict[str, str]]

_POINTERS = {"POINTER", "LVALUEREFERENCE", "RVALUEREFERENCE"}
_FUNCTIONS = {"FUNCTIONPROTO", "FUNCTIONNOPROTO"}
_ARRAYS = {
    "CONSTANTARRAY",
    "INCOMPLETEARRAY",
    "DEPENDENTSIZEDARRAY",
}
_DECLARATIONS = {"VAR_DECL", "PARM_DECL", "FIELD_DECL"}
_CASTS = {
    "CSTYLE_CAST_EXPR",
    "CXX_STATIC_CAST_EXPR",
    "CXX_REINTERPRET_CAST_EXPR",
    "CXX_CONST_CAST_EXPR",
    "CXX_FUNCTIONAL_CAST_EXPR",
}
_CHANGES = {
    "BINARY_OPERATOR",
    "COMPOUND_ASSIGNMENT_OPERATOR",
    "UNARY_OPERATOR",
}
_NAMED_FUNCTIONS = {
    "FUNCTION_DECL",
    "CXX_METHOD",
    "FUNCTION_TEMPLATE",
}
_CONSTANT_SPACE = 2

# Where a variable belongs to the program: at the top a declaration is its own parent.
_PROGRAM = {
    "VAR_DECL",
    "NAMESPACE",
    "STRUCT_DECL",
    "CLASS_DECL",
    "CLASS_TEMPLATE",
}
_SPACES = re.compile(r"\b(?:device|constant|threadgroup|thread|auto)\b")
_WORDS_BEFORE = re.compile(r"(?:\b(?:thread|const|volatile)\s+)*$")
_ASSIGNED = re.compile(r"(?<![=!<>])=(?!=)|\+\+|--")


@dataclass(frozen=True)
class _Node:
    """A node of the tree, with what a rule may ask about its surroundings."""

    cursor: Cursor
    parent: Cursor
    text: str  # the whole source
    kind: str  # of the cursor, which each rule asks for
    parent_kind: str

    @property
    def type(self) -> Type:
        return self.cursor.type

    def written(self, end: int | None = None) -> str:
        """Return the node's own text, up to a place.

        For clang, `thread` is an empty macro: one in front is no part of the node.
        """
        extent = self.cursor.extent
        start = extent.start.offset
        before = _WORDS_BEFORE.search(self.text, max(0, start - 40), start)
        assert before is not None
        return self.text[before.start() : end or extent.end.offset]


def broken_rules(cursors: Iterable[Cursor], text: str) -> Iterator[Found]:
    """Yield what is refused: its kind, its line, and the words of the sentence.

    Args:
        cursors: The declarations of the source.
        text: What was parsed.
    """
    declarations = list(cursors)
    for declaration in declarations:
        for node in _nodes(declaration, declaration, text, declaration.kind.name):
            for kind, rule in _RULES:
                if rule(node):
                    word = node.cursor.spelling or node.written().split("\n")[0]
                    yield kind, node.cursor.location.line, {"word": word}
    yield from _recursion(declarations, text)


def _nodes(
    cursor: Cursor, parent: Cursor, text: str, parent_kind: str
) -> Iterator[_Node]:
    kind = cursor.kind.name
    yield _Node(cursor, parent, text, kind, parent_kind)
    for child in cursor.get_children():
        yield from _nodes(child, cursor, text, kind)


def _kind(type_: Type) -> str | None:
    """Return the kind of a type. The binding has no names for 16-bit floats."""
    try:
        return str(type_.kind.name)
    except ValueError:
        return None


def _own_space(type_: Type) -> int:
    """Return the address space that a value lies in; libclang dies of no type."""
    canonical = type_.get_canonical()
    is_none = _kind(canonical) == "INVALID"
    return 0 if is_none else canonical.get_address_space()


def _space(type_: Type) -> int:
    """Return the address space that a pointer, reference or array leads to."""
    canonical = type_.get_canonical()
    if _kind(canonical) in _ARRAYS:
        return _own_space(canonical.element_type)
    return _own_space(canonical.get_pointee())


def _is_static(node: _Node) -> bool:
    """A variable of a function that outlives it."""
    return (
        node.kind == "VAR_DECL"
        and node.cursor.storage_class.name == "STATIC"
        and node.parent_kind == "DECL_STMT"
        and _own_space(node.type) == 0
        and "threadgroup" not in node.written()
        and "constant" not in node.written()
    )


def _is_of_program(node: _Node) -> bool:
    """A variable of the whole program that is not in constant memory."""
    return (
        node.kind == "VAR_DECL"
        and node.parent_kind != "DECL_STMT"
        and _own_space(node.type) == 0
        and not re.search(r"\b(?:constant|threadgroup)\b", node.written())
        and node.parent_kind in _PROGRAM
    )


def _is_lambda(node: _Node) -> bool:
    return node.kind == "LAMBDA_EXPR"


def _is_function_pointer(node: _Node) -> bool:
    if node.kind not in _DECLARATIONS:
        return False
    type_ = node.type.get_canonical()
    return _kind(type_) in _POINTERS and _kind(type_.get_pointee()) in _FUNCTIONS


def _is_variable_array(node: _Node) -> bool:
    if node.kind != "VAR_DECL":
        return False
    return _kind(node.type.get_canonical()) == "VARIABLEARRAY"


def _lacks_space(node: _Node) -> bool:
    """A pointer or reference that does not say which memory it points into."""
    cursor = node.cursor
    if node.kind in _NAMED_FUNCTIONS:
        written = node.written(cursor.location.offset)
        result = cursor.result_type
        return _kind(result) in _POINTERS and not _SPACES.search(written)
    is_argument = node.kind == "PARM_DECL"
    if node.kind not in _DECLARATIONS or _is_function_pointer(node):
        return False
    kind = _kind(node.type)
    is_pointer = kind in _POINTERS or (is_argument and kind in _ARRAYS)
    return is_pointer and _says_nothing(node.type, node.written(cursor.location.offset))


def _says_nothing(type_: Type, written: str) -> bool:
    return _space(type_) == 0 and not _SPACES.search(written)


def _changes_space(node: _Node) -> bool:
    """A cast that makes a pointer into one memory a pointer into another."""
    operand = _operand(node)
    if operand is None or _kind(node.type) not in _POINTERS:
        return False
    source = operand.type.get_canonical()
    return _kind(source) == "POINTER" and _space(source) != _space(node.type)


def _lacks_space_in_cast(node: _Node) -> bool:
    operand = _operand(node)
    if operand is None or _kind(node.type) not in _POINTERS or _changes_space(node):
        return False
    return _says_nothing(node.type, node.written(operand.extent.start.offset))


def _operand(node: _Node) -> Cursor | None:
    """Return what a cast is applied to."""
    if node.kind not in _CASTS:
        return None
    children = node.cursor.get_children()
    operands = [child for child in children if child.kind.is_expression()]
    return operands[-1] if operands else None


def _writes_constant(node: _Node) -> bool:
    """An assignment to memory of the address space `constant`."""
    if node.kind not in _CHANGES:
        return False
    target = next(iter(node.cursor.get_children()))
    if _own_space(target.type) != _CONSTANT_SPACE:
        return False
    if node.kind == "BINARY_OPERATOR":
        rest = node.text[target.extent.end.offset : node.cursor.extent.end.offset]
        return bool(re.match(r"\s*=(?!=)", rest))
    return node.kind != "UNARY_OPERATOR" or bool(_ASSIGNED.search(node.written()))


def _makes_bfloat(node: _Node) -> bool:
    """A float or half that becomes a bfloat without being asked."""
    if node.kind != "UNEXPOSED_EXPR" or node.parent_kind in _CASTS:
        return False
    if _name(node.type) != "__bf16":
        return False
    children = list(node.cursor.get_children())
    return len(children) == 1 and _name(children[0].type) in {"float", "_Float16"}


def _name(type_: Type) -> str:
    """Return a type's own name, without `const`."""
    return type_.get_canonical().spelling.removeprefix("const ")


# What a source is refused for, and the question that is asked of each node of its tree.
_RULES: tuple[tuple[str, Callable[[_Node], bool]], ...] = (
    ("static", _is_static),
    ("program_scope", _is_of_program),
    ("lambda", _is_lambda),
    ("function_pointer", _is_function_pointer),
    ("variable_array", _is_variable_array),
    ("pointer", _lacks_space),
    ("pointer", _lacks_space_in_cast),
    ("space", _changes_space),
    ("const", _writes_constant),
    ("bfloat", _makes_bfloat),
)


def _recursion(declarations: Iterable[Cursor], text: str) -> Iterator[Found]:
    """Find calls by which a function comes back to itself."""
    functions = list(_functions(declarations))
    names = Counter(function.spelling for function in functions)
    # Most kernels are one function, and its name stands nowhere else.
    if "##" not in text and all(text.count(one) == names[one] for one in names):
        return
    known = {function.get_usr() for function in functions}
    # What a template calls may be known by its name alone.
    alone = {
        each.spelling: each.get_usr() for each in functions if names[each.spelling] == 1
    }
    calls: dict[str, list[tuple[str, str, int]]] = {}
    for function in functions:
        found = calls.setdefault(function.get_usr(), [])
        for call in _references(function):
            called = call.referenced.get_usr() if call.referenced else ""
            usr = called if called in known else alone.get(call.spelling)
            found += [(usr, call.spelling, call.location.line)] if usr else []
    for caller, called in calls.items():
        for usr, name, line in called:
            if caller in _reached(usr, calls):
                yield "recursion", line, {"word": name}
                break


def _functions(declarations: Iterable[Cursor]) -> Iterator[Cursor]:
    for declaration in declarations:
        if declaration.kind.name in _NAMED_FUNCTIONS:
            yield declaration
        else:
            yield from _functions(declaration.get_children())


def _references(cursor: Cursor) -> Iterator[Cursor]:
    """Yield the places where a function names others."""
    kinds = {"DECL_REF_EXPR", "OVERLOADED_DECL_REF", "MEMBER_REF_EXPR"}
    for child in cursor.get_children():
        if child.kind.name in kinds:
            yield child
        yield from _references(child)


def _reached(start: str, calls: dict[str, list[tuple[str, str, int]]]) -> set[str]:
    """Return all functions that a call of `start` leads to, itself included."""
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        function = waiting.pop()
        if function not in reached:
            reached.add(function)
            waiting += [called for called, _, _ in calls.get(function, [])]
    return reached
