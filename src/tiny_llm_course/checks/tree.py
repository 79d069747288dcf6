"""Writes the part of CONTRIBUTING.md that shows the package's parts and imports.

A part is a folder, or a file beside the folders. The graph is made of the imports and
drawn by Mermaid; an arrow that other arrows imply is left out (transitive reduction).
`python -m tiny_llm_course.checks.tree` brings the page up to date.
"""

import ast
import functools
import re
from pathlib import Path

from tiny_llm_course.imports import COURSE, imported_files
from tiny_llm_course.places import ROOT

PAGE = ROOT / "CONTRIBUTING.md"
Uses = dict[str, set[str]]
"""The parts that each part uses."""

BEGIN, END = "<!-- tree: begin -->\n", "<!-- tree: end -->\n"


def uses() -> Uses:
    """Return, for each part of the course, the parts whose files it imports."""
    found: Uses = {}
    for file in sorted(COURSE.rglob("*.py")):
        others = {part_of(one) for one in imported_files(file)}
        found[part_of(file)] = found.get(part_of(file), set()) | others
    del found[COURSE.name]  # its `__init__.py` only loads what all parts need
    return {part: others - {part, COURSE.name} for part, others in found.items()}


def part_of(file: Path) -> str:
    """Return the part that a file belongs to: "grading/engine", or "syllabus.py"."""
    package = next(one for one in file.parents if (one / "__init__.py").exists())
    if package != COURSE:
        return package.relative_to(COURSE).as_posix()
    return COURSE.name if file.stem == "__init__" else file.name


def needed(uses: Uses) -> Uses:
    """Drop the arrows that other arrows imply."""

    @functools.cache
    def reached_from(part: str) -> set[str]:
        return uses[part].union(*map(reached_from, uses[part]))

    return {
        part: others.difference(*map(reached_from, others))
        for part, others in uses.items()
    }


def picture() -> str:
    """Return the graph in the language of Mermaid, a line for each part."""
    lines = ["flowchart TB"]
    for part, others in sorted(needed(uses()).items()):
        arrows = " & ".join(map(_node, sorted(others)))
        lines.append(f"  {_node(part)}" + (f" --> {arrows}" if arrows else ""))
    return "```mermaid\n" + "\n".join(lines) + "\n```\n"


def _node(part: str) -> str:
    """Return a part as a node in Mermaid, with a label if that differs from its id."""
    name = re.sub("[/.]", "_", part)
    return name if name == part else f'{name}["{part}"]'


def table() -> str:
    """Return a table of the parts, each with the first line of its docstring."""
    rows = [f"| `{part}` | {_sentence(part)} |" for part in sorted(uses())]
    return "\n".join(["| part | what it is |", "|---|---|", *rows]) + "\n"


def _sentence(part: str) -> str:
    """Return the first line of the docstring of a part."""
    path = COURSE / part
    source = path if path.suffix else path / "__init__.py"
    return (ast.get_docstring(ast.parse(source.read_bytes())) or "").split("\n")[0]


def drawn(page: str) -> str:
    """Return a page with graph and table filled in between its marks."""
    start, stop = page.index(BEGIN) + len(BEGIN), page.index(END)
    return f"{page[:start]}{picture()}\n{table()}{page[stop:]}"


def _redraw() -> None:
    PAGE.write_text(drawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    _redraw()
