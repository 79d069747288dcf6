"""Whether a source is Metal: a check before it is compiled as C++, which allows more.

The source is parsed by clang with headers of its own, in `src/metal_simulator/dialect`,
in which an address space is a part of a type, as in Metal. What clang reports and what
the rules find in its tree is refused, with a line and a sentence.

libclang comes from PyPI; it is needed by this module and those that it imports.
"""

import re
from collections.abc import Iterator

from clang.cindex import Diagnostic  # pyright: ignore[reportMissingTypeStubs]

from tiny_llm_course.metal.forbidden_words import forbidden_words, misplaced_variables
from tiny_llm_course.metal.parsing import CHECKED_FILE, parse
from tiny_llm_course.metal.refusals import Refusal
from tiny_llm_course.metal.signature import HEADER_FILE, SOURCE_FILE, Assembled
from tiny_llm_course.metal.tree_rules import broken_rules

# What clang says, and what a source is refused for.
_SAID = (
    (r"use of undeclared identifier '(?P<word>\w+)'", "unknown"),
    (r"no member named '(?P<word>\w+)' in namespace", "unknown"),
    (r"unknown type name '(?P<word>\w+)'", "unknown"),
    (r"no type named '(?P<word>\w+)' in", "unknown"),
    (r"no template named '(?P<word>\w+)'", "unknown"),
    (r"call to '(?P<word>\w+)' is ambiguous", "ambiguous"),
    (r"no matching function for call to 'make_vec'", "vector"),
    (r"no matching function for call to '(?P<word>\w+)'", "arguments"),
    (r"const-qualified|read-only|const qualifier", "const"),
    (r"changes address space", "space"),
)

# What Metal allows and plain clang does not: a structure copied from one address space
# to another, a vector of truths from a comparison, a vector written `float4 v(x, y)`,
# a half made a bfloat, a vector made one of another type.
# Whether it is right after all is seen by the C++ compiler.
_ALLOWED = re.compile(
    r"no matching constructor for initialization of"
    r"|no viable overloaded '='"
    r"|excess elements in scalar initializer"
    r"|'bool[234]' .*vector of \d '(?:int|short|char|long)'"
    r"|(?:_Float16|half)'.*(?:__bf16|bfloat)'.* not allowed"
    r"|(?:__bf16|bfloat)'.*(?:_Float16|half)'.* not allowed"
    r"|static_cast from '[^']*'.*(?:\bvec<|vector of \d).* not allowed"
    r"|invalid operands to binary expression \('bool"
    r"|from vector .* of different size"
)


_SPACE = re.compile(r"\b(?:device|threadgroup|constant|address_space\(\d\))")
_NUMBERS = {
    "address_space(1)": "device",
    "address_space(2)": "constant",
    "address_space(3)": "threadgroup",
}


def check(assembled: Assembled) -> list[Refusal]:
    """Return what of a kernel is not Metal, in the order of its lines."""
    kernel = assembled.kernel
    found: list[Refusal] = []
    for file, source in ((HEADER_FILE, kernel.header), (SOURCE_FILE, kernel.source)):
        found += forbidden_words(source, file)
        found += misplaced_variables(source, file, is_body=file == SOURCE_FILE)
    found += _parsed(assembled)
    return _in_order(found)


def _parsed(assembled: Assembled) -> Iterator[Refusal]:
    """Let clang read the kernel."""
    parsed = parse(assembled)
    for diagnostic in parsed.unit.diagnostics:
        refused = _refused_for(diagnostic)
        if refused is not None:
            file, line = parsed.place(_own_line(diagnostic)) or (SOURCE_FILE, 1)
            yield Refusal(refused[0], file, line, refused[1])
    for kind, line, values in broken_rules(parsed.declarations, parsed.text):
        place = parsed.place(line)
        if place is not None:
            yield Refusal(kind, *place, values)


def _own_line(diagnostic: Diagnostic) -> int:
    """Return the line of the text that a message is about, or 0.

    A message about a template of ours has notes that say where it was asked for.
    """
    for message in (diagnostic, *diagnostic.children):
        file = message.location.file
        is_include = message.spelling.startswith("in file included from")
        if file is not None and file.name == CHECKED_FILE and not is_include:
            return message.location.line
    return 0


def _refused_for(diagnostic: Diagnostic) -> tuple[str, dict[str, str]] | None:
    """Say what a message of clang's means for the source."""
    said = str(diagnostic.spelling)
    if diagnostic.severity < Diagnostic.Error or _ALLOWED.search(said):
        return None
    messages = [said, *(note.spelling for note in diagnostic.children)]
    if any(_mixes_spaces(message) for message in messages):
        return "space", {"said": said}
    for pattern, kind in _SAID:
        found = re.search(pattern, said)
        if found is not None:
            return kind, {"said": said, **found.groupdict()}
    return "compiler", {"said": said}


def _mixes_spaces(said: str) -> bool:
    """Tell whether a message names two pointers or references of different spaces."""
    types = re.findall(r"'([^']*[*&][^']*|[^']*\[\d*\])'", said)
    spaces = {
        _NUMBERS.get(found.group(), found.group())
        if (found := _SPACE.search(type_))
        else "thread"
        for type_ in types
    }
    return len(spaces) > 1


def _in_order(found: list[Refusal]) -> list[Refusal]:
    """Sort by place, and keep the first of each line: the others follow from it."""
    order = {HEADER_FILE: 0, SOURCE_FILE: 1}
    kept: dict[tuple[int, int], Refusal] = {}
    for refusal in found:
        kept.setdefault((order[refusal.file], refusal.line), refusal)
    return [kept[place] for place in sorted(kept)]
