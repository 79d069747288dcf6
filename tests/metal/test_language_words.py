"""Every word that the simulator knows has an entry, and both of its readers know it.

The check of the dialect and the C++ that is run have headers of their own. A word that
one of them lacks would be refused, or would not compile, in the middle of a task.
"""

import subprocess
import tomllib
from collections.abc import Iterable

import mlx.core as mx
import pytest
from clang.cindex import CursorKind, Index

from tiny_llm_course.metal import headers
from tiny_llm_course.metal.arguments import Kind
from tiny_llm_course.metal.dialect import check
from tiny_llm_course.metal.signature import Assembled, Definition, assemble

LANGUAGE = headers.DIALECT.parent / "language"
GROUPS = tomllib.loads((LANGUAGE / "words.toml").read_text())["group"]

# The variables that the examples speak of.
BEFORE = """\
float k = x[0]; float f = float(k), g = float(k);
threadgroup float t[256]; half h = half(k); bfloat b = bfloat(k); int i = int(k);
uint u = uint(k); ushort s = ushort(k); bool p = k > 1; float4 v = k;
float4 w = k; int4 m = int4(v); device float* d = out;
device atomic_uint* a = (device atomic_uint*)out;
simdgroup_matrix<float, 8, 8> matrix(k); simdgroup_matrix<half, 8, 8> halves(h);
int about = x_shape[0] + int(x_strides[0]) + x_ndim;
"""


def kernel_of(examples: Iterable[str], before: str = BEFORE) -> Assembled:
    """Put each example on a line of its own."""
    body = before + "\n".join(f"(void)({text});" for text in examples)
    definition = Definition("words", ["x"], ["out"], body)
    return assemble(definition, [Kind(mx.float32, 1, 100)], [mx.float32])


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group["about"])
def test_the_check_knows_every_word(group: dict) -> None:
    refused = check(kernel_of(group["examples"].values()))

    assert [(each.line, each.sentence) for each in refused] == []


def compiled(kernel: Assembled) -> str:
    """Return what the compiler says of a kernel: nothing if it is right."""
    return subprocess.run(
        [
            *("g++", "-std=c++20", "-fsyntax-only", "-w", "-ffp-contract=off"),
            *(f"-I{LANGUAGE}", "-x", "c++", "-"),
        ],
        input=kernel.text,
        text=True,
        capture_output=True,
        check=False,
    ).stderr


ALL = [text for group in GROUPS for text in group["examples"].values()]


def test_the_compiler_knows_every_word() -> None:
    assert compiled(kernel_of(ALL)) == ""


@pytest.mark.parametrize(
    "type_", ["half", "bfloat", "float2", "half3", "short", "ulong"]
)
def test_what_the_check_allows_of_other_types_compiles(type_: str) -> None:
    """The examples are of floats and ints; most words have more types."""
    before = BEFORE.replace(
        "float f = float(k), g = float(k)", f"{type_} f = {type_}(k), g = {type_}(k)"
    )
    refused = {each.line for each in check(kernel_of(ALL, before))}
    first = before.count("\n") + 1
    allowed = [text for line, text in enumerate(ALL, first) if line not in refused]

    said = compiled(kernel_of(allowed, before))

    assert len(allowed) > len(ALL) / 2
    assert [line for line in said.splitlines() if "error:" in line] == []


def test_every_function_that_is_declared_is_in_the_list() -> None:
    """A word without an entry would have no section that it can be looked up in."""
    unit = Index.create().parse(
        str(headers.DIALECT / "metal.h"),
        args=["-x", "c++", "-std=c++14", "-nostdinc", "-w"],
    )
    assert unit.cursor is not None

    declared: set[str] = set()
    for outer in unit.cursor.get_children():
        is_metal = outer.kind == CursorKind.NAMESPACE and outer.spelling == "metal"
        for cursor in outer.get_children() if is_metal else [outer]:
            if cursor.kind in {CursorKind.FUNCTION_DECL, CursorKind.FUNCTION_TEMPLATE}:
                declared.add(cursor.spelling)

    ours = {"make_vec", "operator|", "operator*"}
    assert declared - ours <= {word for group in GROUPS for word in group["examples"]}


def test_every_group_names_its_section() -> None:
    for group in GROUPS:
        assert set(group) == {"section", "about", "sure", "seen", "examples"}
