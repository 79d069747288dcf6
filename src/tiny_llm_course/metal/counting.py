"""Makes a kernel count its additions, multiplications and other operations of floats.

The text of the kernel is changed: `a * b` becomes `(metal::counted<0, 1, 0>(), a * b)`
where clang's tree says that it is a product of floats. Index arithmetic is none. In a
template of the header, whose types are not known yet, the type is asked for later.

Not counted: what the text of a macro does. A comparison and a choice are no operations.
"""

import re
from collections.abc import Callable, Iterator

from clang.cindex import Cursor, Type  # pyright: ignore[reportMissingTypeStubs]

from tiny_llm_course.metal.parsing import Parsed, parse
from tiny_llm_course.metal.signature import HEADER_FILE, SOURCE_FILE, Assembled
from tiny_llm_course.metal.tokens import Edit, apply

# Additions, multiplications and others, of each component.
Count = tuple[int, int, int]

_OPERATORS: dict[str, Count] = {
    "+": (1, 0, 0),
    "-": (1, 0, 0),
    "*": (0, 1, 0),
    "/": (0, 0, 1),
}

# Functions that are one operation each, of their own kind.
_OTHERS = """
acos acosh asin asinh atan atan2 atanh cos cosh cospi exp exp2 exp10 fmod log log2 log10
log1p pow powr rsqrt sin sincos sinh sinpi sqrt tan tanh tanpi
"""

# A fused step is two operations. A reduction is counted as one of each lane.
_FUNCTIONS: dict[str, Count] = dict.fromkeys(_OTHERS.split(), (0, 0, 1)) | {
    "fma": (1, 1, 0),
    "mix": (2, 1, 0),
    "simd_sum": (1, 0, 0),
    "simd_product": (0, 1, 0),
    "simd_prefix_inclusive_sum": (1, 0, 0),
    "simd_prefix_exclusive_sum": (1, 0, 0),
    # 8 x 8 sums of 8 products, by 32 lanes.
    "simdgroup_multiply": (16, 16, 0),
    "simdgroup_multiply_accumulate": (16, 16, 0),
}
_MATRICES = {"simdgroup_multiply", "simdgroup_multiply_accumulate"}

# Functions of whole vectors, by how many components these have.
_OF_VECTORS: dict[str, Callable[[int], Count]] = {
    "dot": lambda width: (width - 1, width, 0),
    "length_squared": lambda width: (width - 1, width, 0),
    "length": lambda width: (width - 1, width, 1),
    "distance_squared": lambda width: (2 * width - 1, width, 0),
    "distance": lambda width: (2 * width - 1, width, 1),
    "normalize": lambda width: (width - 1, 2 * width, 1),
    "cross": lambda width: (width, 2 * width, 0),
}
_NAMES = "OVERLOADED_DECL_REF"

_FLOAT = re.compile(
    r"(?:const )?(?:float|_Float16|__bf16)"
    r"(?: __attribute__\(\(ext_vector_type\((?P<width>\d)\)\)\))?"
)
_ARITHMETIC = re.compile(r"\s*\)*\s*(?P<sign>[-+*/])=?\s*\(*\s*")


def text_with_counts(assembled: Assembled) -> str:
    """Return the C++ file of a kernel that counts.

    Args:
        assembled: A kernel that the check of the dialect has accepted.
    """
    parsed = parse(assembled)
    sources = {
        HEADER_FILE: assembled.kernel.header,
        SOURCE_FILE: assembled.kernel.source,
    }
    starts: dict[str, list[Edit]] = {HEADER_FILE: [], SOURCE_FILE: []}
    ends: dict[str, list[Edit]] = {HEADER_FILE: [], SOURCE_FILE: []}
    for declaration in parsed.declarations:
        for cursor, count in _counted(declaration, parsed):
            found = parsed.origin(cursor.extent.start.offset, cursor.extent.end.offset)
            if found is None:
                continue
            file, start, end = found
            call = _call(cursor, count, sources[file][start:end])
            if call:
                starts[file].append(Edit(start, start, f"({call}, "))
                # Of two that end together, the inner one ends first.
                ends[file].insert(0, Edit(end, end, ")"))
    texts = {
        file: apply(sources[file], [*ends[file], *starts[file]]) for file in sources
    }
    return assembled.text_of(texts[HEADER_FILE], texts[SOURCE_FILE])


def _counted(cursor: Cursor, parsed: Parsed) -> Iterator[tuple[Cursor, Count]]:
    """Yield the operations of a tree, the outer ones first, and what each is."""
    count: Count | None = None
    kind = cursor.kind.name
    if kind in {"BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR"}:
        count = _OPERATORS.get(_sign(cursor, parsed.text))
    elif kind == "CALL_EXPR":
        count = _count_of_call(cursor)
    if count is not None:
        yield cursor, count
    for child in cursor.get_children():
        yield from _counted(child, parsed)


def _count_of_call(cursor: Cursor) -> Count | None:
    """Return what a call counts for: of a function, or in a template of an operator."""
    name = cursor.spelling
    if not name:
        # What a template calls is known by its name only.
        inner = [
            each for child in cursor.get_children() for each in child.get_children()
        ]
        names = [each.spelling for each in inner if each.kind.name == _NAMES]
        name = names[0] if names else ""
        if name.startswith("operator"):
            return _OPERATORS.get(name.removeprefix("operator").removesuffix("="))
    if name in _OF_VECTORS:
        width = _width(next(cursor.get_arguments()).type)
        return _OF_VECTORS[name](width) if width else None
    return _FUNCTIONS.get(name)


def _width(type_: Type) -> int:
    """Return how many floats a type holds; none if it is another or not known yet."""
    found = _FLOAT.fullmatch(type_.get_canonical().spelling)
    return int(found["width"] or 1) if found else 0


def _sign(cursor: Cursor, text: str) -> str:
    """Return what stands between two operands; nothing where a macro wrote it."""
    left, right = cursor.get_children()
    between = text[left.extent.end.offset : right.extent.start.offset]
    found = _ARITHMETIC.fullmatch(between)
    return found["sign"] if found else ""


def _call(cursor: Cursor, count: Count, written: str) -> str:
    """Write the call that counts. Nothing for an operation that is none of floats."""
    numbers = ", ".join(map(str, count))
    if cursor.spelling in _MATRICES | set(_OF_VECTORS):
        return f"metal::counted<{numbers}>()"
    if _is_unknown(cursor.type):
        return f"metal::counted_as<decltype({written}), {numbers}>()"
    width = _width(cursor.type)
    of_all = ", ".join(str(width * each) for each in count)
    return f"metal::counted<{of_all}>()" if width else ""


def _is_unknown(type_: Type) -> bool:
    """Tell whether a type depends on a template's parameters."""
    spelling = type_.get_canonical().spelling
    return spelling == "<dependent type>" or spelling.startswith("type-parameter")
