"""Putting a definition of the course into a file of the learner.

The definition comes from a donor: the generated stub, or the reference. All else in
the learner's file stays: other definitions, helpers, imports.
"""

import re
from collections.abc import Collection
from itertools import dropwhile

from tiny_llm_course.editing.code import SUFFIX, Code, Definition


def put(
    code: Code[Definition],
    donor: Code[Definition],
    name: str,
    others: Collection[str] = (),
) -> Code[Definition]:
    """Replace one definition by the donor's, and bring what that one needs.

    Args:
        code: A file of the learner.
        donor: The course's version of that file.
        name: What to replace, or to add where the file has nothing of that name.
        others: What the learner writes as well. It is never brought along.
    """
    giver = _without_clashes(code, donor, name, others)
    code = _with_definition(code, giver, name)
    for helper in reversed(giver.dependencies(name, others)):
        if helper.is_import or name in helper.names or code.has(helper):
            continue
        if helper.start < giver.named(name)[0].start:
            code = _inserted(code, giver, helper, helper.text)
        else:
            end = code.line_end(code.named(name)[-1].end)
            code = code.replaced(end, end, code.GAP + helper.text)
    for line in donor.imports_for(name, others):
        code = code.with_import(line)
    return code


def without_leftovers(
    code: Code[Definition], reference: Code[Definition], stub: Code[Definition]
) -> Code[Definition]:
    """Take out what only came along with the reference, and nothing uses any more.

    Args:
        code: A file of the learner.
        reference: The course's version of that file, of which private helpers go.
        stub: The file that the learner began with, whose imports stay.
    """
    ours = {one.meaning for one in reference.definitions}
    while True:
        for helper in code.unused():
            as_ours = code.parse(helper.text.replace(SUFFIX, ""))
            if as_ours.definitions[0].meaning in ours:
                code = code.without(helper)
                break
        else:
            return _without_imports(code, reference.names - stub.names)


def _without_imports(
    code: Code[Definition], names: Collection[str]
) -> Code[Definition]:
    """Take out what is imported from other files of the solution and not used."""
    used = {name for one in code.definitions if not one.is_import for name in one.uses}
    for one in reversed(code.definitions):
        is_own = one.is_import and one.text.startswith("from .")
        if is_own and one.names <= set(names) - used:
            code = code.without(one)
    return code


def _without_clashes(
    code: Code[Definition],
    donor: Code[Definition],
    name: str,
    others: Collection[str],
) -> Code[Definition]:
    """Give longer names to helpers whose names stand for other code in a file.

    The learner's helpers may be in use.
    """
    ours = {one.meaning for one in donor.definitions}
    theirs = [one.names for one in code.definitions if one.meaning not in ours]
    taken = frozenset[str]().union(*theirs) - {name}
    clashes = {
        clash
        for one in donor.dependencies(name, others)
        if not (one.is_import or code.has(one))
        for clash in one.names & taken
    }
    if not clashes:
        return donor
    text = donor.text
    for clash in clashes:
        text = re.sub(rf"\b{clash}\b", clash + SUFFIX, text)
    return _without_clashes(code, donor.parse(text), name, others)


def _with_definition(
    code: Code[Definition], giver: Code[Definition], name: str
) -> Code[Definition]:
    """Put a definition in the place of that which a file has, or where it belongs."""
    own, wanted = code.named(name), giver.named(name)
    if len(own) == len(wanted):
        for old, new in reversed(list(zip(own, wanted, strict=True))):
            code = code.replaced(old.start, old.end, new.text)
        return code
    for old in reversed(own):
        code = code.without(old)
    text = code.GAP.join(one.text for one in wanted)
    if name in code.names:
        # Defined with others, whom it serves: the last one outweighs it.
        return code.appended(text)
    return _inserted(code, giver, wanted[0], text)


def _inserted(
    code: Code[Definition], giver: Code[Definition], definition: Definition, text: str
) -> Code[Definition]:
    """Put what the file has not where the donor has it.

    It is above all that stands below it there, and so may need it.
    """
    below = [
        code.top(own)
        for one in dropwhile(lambda one: one is not definition, giver.definitions)
        for own in code.counterparts(one)
        if not one.is_import
    ]
    if not below:
        return code.appended(text)
    return code.replaced(min(below), min(below), text + code.GAP)
