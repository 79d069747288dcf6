"""What a stub does not show yet: names that a later day brings into its file.

The solution of a file is that of its last day. On the first one, a learner has no use
for packed weights or kernels that come days after. The parts of Week 1 are imported
from the beginning: they are what a model is made of.
"""

import ast
import re

from tiny_llm_course.editing.python_code import PythonCode, PythonDefinition
from tiny_llm_course.syllabus import brought_by, first_day_of, weeks


def without_later(code: PythonCode, file: str) -> PythonCode:
    """Take the types of later days out of the signatures, and imports without a use.

    Args:
        code: A file without its answers.
        file: Its name without `.py`, as symbols begin with it.
    """
    later = {name for one in code.definitions for name in _brought_later(one, file)}
    text = code.text
    for name in later:
        text = re.sub(rf" \| {name}\b", "", text)
    code = code.parse(text)
    gone = later - {name for one in code.definitions for name in one.uses}
    for one in reversed(code.definitions):
        if one.names & gone:
            code = _with_less(code, one, gone)
    return code


def _with_less(code: PythonCode, one: PythonDefinition, names: set[str]) -> PythonCode:
    """Take names out of an import, and its line if it brings no other."""
    assert isinstance(one.node, ast.ImportFrom)
    left = [name for name in one.node.names if name.name not in names]
    if left:
        less = ast.ImportFrom(one.node.module, left, one.node.level)
        return code.replaced(one.start, one.end, ast.unparse(less))
    if code.text.startswith("\n\n", one.end):
        return code.without(one)
    return code.replaced(one.start, one.end + 1, "")


def _brought_later(one: PythonDefinition, file: str) -> set[str]:
    """Return the names that an import brings from days after the first of its file."""
    node, first = one.node, first_day_of(file)
    if not isinstance(node, ast.ImportFrom) or not node.level or first is None:
        return set()
    folder = f"{node.module}." if node.module else ""
    days = {name.name: brought_by(folder + name.name) for name in node.names}
    last = max(first, (1, len(weeks()[0].days)))
    return {name for name, day in days.items() if day and day > last}
