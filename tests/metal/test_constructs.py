"""`constructs.toml` gives account of each construct that the solutions' kernels use.

No Mac stands where they were written. So the list says of each construct which section
of the specification defines it and where kernels use it that run on Macs every day.
"""

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import mlx.core as mx
import mlx_lm
import pytest
from clang.cindex import Cursor, Type  # pyright: ignore[reportMissingTypeStubs]

from tiny_llm_course.metal.arguments import Kind, Role
from tiny_llm_course.metal.parsing import Parsed, parse
from tiny_llm_course.metal.signature import Assembled, Definition, Template, assemble
from tiny_llm_course.metal.tokens import tokens_of
from tiny_llm_course.places import REFERENCE

LIST = Path(__file__).with_name("constructs.toml")
TABLES = tomllib.loads(LIST.read_text(encoding="utf-8"))
AROUND, GROUPS = TABLES["around"], TABLES["group"]
ENTRIES: dict[str, str | list[str]] = {
    name: entry for group in GROUPS for name, entry in group["constructs"].items()
}

MLX = Path(mx.__file__).parent
# Where the texts are that an entry quotes. All of it is installed with the course.
FOLDERS = {
    "mlx": MLX,
    "kernels": MLX / "include/mlx/backend/metal/kernels",
    "mlx_lm": Path(mlx_lm.__file__).parent,
}

# The kernels are made for bfloat16, which converts least of the three.
T = mx.bfloat16


@dataclass
class Given:
    """Takes the place of `mx.fast.metal_kernel`, and keeps what is given to it."""

    kernels: dict[str, Assembled]

    def __call__(
        self, name: str, input_names: list[str], output_names: list[str], source: str
    ) -> Any:  # noqa: ANN401
        """Make a kernel that returns zeros."""

        def called(
            inputs: Sequence[Any],
            output_shapes: Sequence[Sequence[int]],
            output_dtypes: Sequence[mx.Dtype],
            template: Template,
            **_: object,
        ) -> list[mx.array]:
            arrays = [mx.array(one) for one in inputs]
            kinds = [Kind(one.dtype, one.ndim, one.size) for one in arrays]
            definition = Definition(name, input_names, output_names, source)
            self.kernels[name] = assemble(definition, kinds, output_dtypes, template)
            outputs = zip(output_shapes, output_dtypes, strict=True)
            return [mx.zeros(shape, dtype) for shape, dtype in outputs]

        return called


def of_reference(module: str) -> ModuleType | None:
    name = f"{REFERENCE.name}.{module}"
    return import_module(name) if find_spec(name) else None


def zeros(*shape: int) -> mx.array:
    return mx.zeros(shape, T)


@cache
def kernels() -> dict[str, Assembled]:
    """Call every function of the solutions that makes a kernel."""
    quantize = import_module(f"{REFERENCE.name}.quantize")
    weight, scales, biases = mx.quantize(zeros(64, 128), group_size=64, bits=4)
    matrix = quantize.QuantizedWeights(
        weight=weight, scales=scales, biases=biases, group_size=64, bits=4
    )
    heads = [zeros(1, 4, 5, 64), zeros(1, 2, 9, 64), zeros(1, 2, 9, 64)]
    calls: dict[str, dict[str, Sequence[Any]]] = {
        "metal_elementwise": {
            "silu_times_up": (zeros(64), zeros(64)),
            "row_sum_one_thread": (zeros(4, 64),),
            "row_sum_tree": (zeros(4, 64),),
            "row_sum_simd": (zeros(4, 64),),
        },
        "metal_norms": {
            "rms_norm": (zeros(4, 64), zeros(64), 1e-6),
            "add_rms_norm": (zeros(4, 64), zeros(4, 64), zeros(64), 1e-6),
            "rope": (zeros(1, 4, 2, 64), 0, 1e6),
        },
        "metal_matvec": {
            "quantized_matvec_words": (zeros(128), matrix),
            "quantized_matvec": (zeros(128), matrix),
        },
        "metal_matmul": {
            "quantized_matmul_tiled": (zeros(8, 128), matrix),
            "quantized_matmul_simdgroup": (zeros(8, 128), matrix),
        },
        "metal_attention": {
            "attention_one_token": (heads[0][:, :, :1], *heads[1:]),
            "attention_prompt": heads,
        },
    }
    given = Given({})
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(mx.fast, "metal_kernel", given)
        for module, functions in calls.items():
            found = of_reference(module)
            for function, arguments in functions.items() if found else ():
                getattr(found, function)(*arguments)
    return given.kernels


_SPACES = {0: "", 1: "device ", 2: "constant ", 3: "threadgroup "}
_TYPES = {
    "unsigned int": "uint",
    "unsigned long": "ulong",
    "__bf16": "T",
    "simdgroup_matrix<float, 8, 8>": "matrix",
}
_CASTS = {"CXX_FUNCTIONAL_CAST_EXPR", "CSTYLE_CAST_EXPR"}
_NUMBER = re.compile(r"(?:u?int|u?long|float|T|bool)\d?|vec<T, \d>")
_COMPONENT = re.compile(r"\.[xyzw]+")
_SPACE = re.compile(r"__attribute__\(\(address_space\((\d)\)\)\)")
_VECTOR = re.compile(r"(.+?) __attribute__\(\(ext_vector_type\((\d)\)\)\)")


def named(type_: Type) -> str:
    """Name a type as Metal does, whatever it is called by, without `const`."""
    own = type_.get_canonical()
    try:
        kind = own.kind.name
    except ValueError:  # libclang's binding has no name for numbers of 16 bits
        kind = ""
    if kind == "POINTER":
        return f"{named(own.get_pointee())}*"
    space = _SPACE.search(own.spelling)
    prefix = _SPACES[int(space[1]) if space else own.get_address_space()]
    if kind == "CONSTANTARRAY":
        return f"{prefix}{value(own.element_type)}[N]"
    spelling = re.sub(r"\b(?:metal::|const\b|device\b|constant\b)", "", own.spelling)
    spelling = " ".join(_SPACE.sub("", spelling).split())
    vector = _VECTOR.fullmatch(spelling)
    if vector is None:
        return prefix + _TYPES.get(spelling, spelling)
    of, size = _TYPES.get(vector[1], vector[1]), vector[2]
    return prefix + (f"vec<T, {size}>" if of == "T" else f"{of}{size}")


def value(type_: Type) -> str:
    """Name a type, wherever its value lies. A pointer leads somewhere in any case."""
    name = named(type_)
    spaces = r"^(?:device|constant|threadgroup) (?!.*[*\]])"
    return re.sub(spaces, "", name)


@dataclass(frozen=True)
class Node:
    """A node of clang's tree, and the text around it."""

    cursor: Cursor
    parent: str
    text: str

    @property
    def kind(self) -> str:
        return self.cursor.kind.name

    @property
    def children(self) -> list["Node"]:
        of = self.cursor.get_children()
        return [Node(child, self.kind, self.text) for child in of]

    @property
    def operands(self) -> list["Node"]:
        return [child for child in self.children if child.cursor.kind.is_expression()]

    @property
    def start(self) -> int:
        return self.cursor.extent.start.offset

    @property
    def end(self) -> int:
        return self.cursor.extent.end.offset

    @property
    def component(self) -> str:
        """What of a vector it takes: `.x`, if anything."""
        inner = self.operands
        rest = self.text[inner[0].end : self.end] if len(inner) == 1 else ""
        is_one = self.kind == "UNEXPOSED_EXPR" and _COMPONENT.fullmatch(rest)
        return rest if is_one else ""

    @property
    def written(self) -> "Node":
        """What stands in the source, without what clang converts it to."""
        node = self
        while node.kind in {"UNEXPOSED_EXPR", "PAREN_EXPR"} and not node.component:
            if len(node.operands) != 1:
                break
            node = node.operands[0]
        return node


def constructs_of(kernel: Assembled) -> list[str]:
    """List the words of a kernel, the arguments of its head, and what its body does."""
    parsed = parse(kernel)
    assert [str(one) for one in parsed.unit.diagnostics] == []
    function = Node(parsed.declarations[-1], "", parsed.text)
    found = [*_words(kernel, parsed), *_arguments(kernel), *_nodes(function)]
    return list(dict.fromkeys(found))


def _words(kernel: Assembled, parsed: Parsed) -> Iterator[str]:
    """Yield the words that the language defines: those that nobody has declared."""
    declared = {one.name for one in kernel.buffers}
    declared |= set(re.findall(r"(\w+)(?= =|;)", " ".join(kernel.given)))
    declared |= {
        one.spelling
        for one in parsed.declarations[-1].walk_preorder()
        if one.kind.name == "VAR_DECL"
    }
    before = ""
    for token in tokens_of(kernel.kernel.source):
        if token.kind == "word" and token.text not in declared and before != ".":
            yield f"word {token.text}"
        before = token.text


def _arguments(kernel: Assembled) -> Iterator[str]:
    for one in kernel.buffers:
        type_ = one.type.replace("bfloat16_t", "T").replace("int32_t", "int")
        mark = "&" if one.is_reference else "*"
        const = "" if one.role is Role.OUTPUT else "const "
        about = f" {one.role}" if one.role not in {Role.INPUT, Role.OUTPUT} else ""
        yield f"argument {const}{one.space} {type_}{mark}{about}"


def _nodes(node: Node) -> Iterator[str]:
    yield from _of_node(node)
    for child in node.children:
        yield from _nodes(child)


def _of_node(node: Node) -> Iterator[str]:
    operands = node.operands
    match node.kind:
        case "DECL_STMT":
            yield from _variables(node)
        case "CALL_EXPR":
            yield from _call(node)
        case "UNARY_OPERATOR" | "CONDITIONAL_OPERATOR":
            types = ", ".join(value(one.written.cursor.type) for one in operands)
            yield f"operator {_mark(node)} of {types}"
        case "BINARY_OPERATOR" | "COMPOUND_ASSIGNMENT_OPERATOR":
            left, right = (value(one.written.cursor.type) for one in operands)
            yield f"operator {left} {_mark(node)} {right}"
        case "ARRAY_SUBSCRIPT_EXPR":
            base, index = (one.written.cursor.type for one in operands)
            yield f"element of {named(base)} by {value(index)}"
        case kind if kind in _CASTS:
            of = value(operands[-1].written.cursor.type)
            yield f"cast {value(node.cursor.type)} of {of}"
        case "UNEXPOSED_EXPR" if node.component:
            yield f"component {node.component} of {value(operands[0].cursor.type)}"
        case "UNEXPOSED_EXPR" if len(operands) == 1 and node.parent not in _CASTS:
            of, to = value(operands[0].cursor.type), value(node.cursor.type)
            if of != to and _NUMBER.fullmatch(of) and _NUMBER.fullmatch(to):
                yield f"conversion {to} of {of}"
        case _:
            pass


def _variables(node: Node) -> Iterator[str]:
    variables = [one for one in node.children if one.kind == "VAR_DECL"]
    for one in variables:
        is_constant = "constexpr" in node.text[node.start : one.cursor.location.offset]
        yield f"variable {'constexpr ' if is_constant else ''}{named(one.cursor.type)}"
    if len(variables) > 1 and "threadgroup " in named(variables[0].cursor.type):
        yield "variables threadgroup, several in a declaration"


def _call(node: Node) -> Iterator[str]:
    arguments = node.cursor.get_arguments()
    given = [Node(one, node.kind, node.text).written for one in arguments if one]
    types = [value(one.cursor.type) for one in given]
    # A default argument has no place in the text.
    types = [type_ for type_, one in zip(types, given, strict=True) if one.end]
    name = node.cursor.spelling
    if name == "make_vec":
        yield f"cast {value(node.cursor.type)} of {', '.join(types)}"
    elif name.startswith("operator"):
        yield f"operator {types[0]} {name.removeprefix('operator')} {types[-1]}"
    else:
        yield f"call {name}({', '.join(types)})"


def _mark(node: Node) -> str:
    """Return the mark of an operator."""
    operands = node.operands
    if len(operands) == 3:
        return "? :"
    first = operands[0]
    ends = (
        (node.start, first.start)
        if len(operands) == 1
        else (first.end, operands[1].start)
    )
    between = re.sub(r"//.*", "", node.text[slice(*ends)])
    mark = re.search(r"[-+*/%&|^<>=!]+", between)
    if mark is not None:
        return mark[0]
    # After its operand, as in `i++`; or hidden in the parentheses of a vector.
    return node.text[first.end : node.end].strip() if len(operands) == 1 else "…"


@cache
def constructs() -> dict[str, list[str]]:
    return {name: constructs_of(kernel) for name, kernel in kernels().items()}


@pytest.mark.parametrize("name", kernels())
def test_every_construct_of_a_kernel_is_in_the_list(name: str) -> None:
    missing = [one for one in constructs()[name] if one not in ENTRIES]

    assert missing == []


def test_every_entry_names_the_kernels_that_use_it() -> None:
    users: dict[str, set[str]] = defaultdict(set)
    for name, found in constructs().items():
        for construct in found:
            users[construct].add(name)
    listed = {
        construct: set(kernels()) if names == "all" else set(names) & set(kernels())
        for construct, names in ENTRIES.items()
    }

    assert {one: names for one, names in listed.items() if names} == users


def test_every_kernel_of_the_solutions_is_taken_apart() -> None:
    sources = {
        text
        for path in REFERENCE.glob("metal_*.py")
        for name, text in vars(import_module(f"{REFERENCE.name}.{path.stem}")).items()
        if isinstance(text, str) and not name.startswith("__") and ";" in text
    }

    assert {one.kernel.source for one in kernels().values()} == sources


def test_a_construct_that_is_new_is_missing_in_the_list() -> None:
    """What the other tests would say of a kernel that uses something else."""
    source = "const float2 z = float2(x[1], fast::exp(x[0])); out[0] = z.y;"
    kinds = [Kind(mx.float32, 1, 100)]
    kernel = assemble(Definition("new", ["x"], ["out"], source), kinds, [mx.float32])

    missing = [one for one in constructs_of(kernel) if one not in ENTRIES]

    assert missing == [
        *("word float2", "word fast", "argument const device float*"),
        *("variable float2", "cast float2 of float, float"),
        *("element of device float* by int", "component .y of float2"),
    ]


QUOTES = [quote for one in [*AROUND, *GROUPS] for quote in one["seen"]]


@pytest.mark.parametrize("quote", QUOTES, ids=" ".join)
def test_what_runs_on_macs_every_day_says_what_is_quoted(quote: list[str]) -> None:
    place, file, text = quote

    assert text in (FOLDERS[place] / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group["about"])
def test_what_has_no_precedent_says_what_to_do(group: dict[str, Any]) -> None:
    must = {"about", "section", "sure", "right", "seen", "constructs"}

    assert must <= set(group) <= must | {"llama_cpp", "doubt"}
    assert group["seen"] or group["doubt"]
