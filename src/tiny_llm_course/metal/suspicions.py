"""Variables that may be used before they have a value: it is tried.

The compiler suspects right code too: a variable that a loop sets in its first round. So
a suspect kernel is run twice, once with all such variables 0 and once with all of them
something else. If that makes a difference, what nobody has stored was used.
"""

import re
from dataclasses import replace

from tiny_llm_course.metal import compiling, process
from tiny_llm_course.metal.faults import NOTHING, Fault, Side, fault_of
from tiny_llm_course.metal.process import Job
from tiny_llm_course.metal.signature import SOURCE_FILE, Assembled

_WARNING = re.compile(
    rf"^{SOURCE_FILE}:(?P<line>\d+):\d+: warning: (?P<said>.*) "
    r"\[-Wmaybe-uninitialized\]$",
    re.MULTILINE,
)
_VALUES = ("-ftrivial-auto-var-init=zero", "-ftrivial-auto-var-init=pattern")


def confirmed(assembled: Assembled, job: Job) -> tuple[Fault, ...]:
    """Return the use of a variable without a value, if it makes a difference.

    Args:
        assembled: The kernel.
        job: What is run, with the kernel as it was compiled.
    """
    found = _WARNING.search(compiling.warnings_of(job.library))
    if found is None or _answer(assembled, job, 0) == _answer(assembled, job, 1):
        return ()
    number = int(found["line"])
    text = assembled.kernel.source.splitlines()[number - 1]
    side = Side(SOURCE_FILE, number, text)
    return (fault_of("uninitialised_read", side, None, NOTHING, found["said"]),)


def _answer(assembled: Assembled, job: Job, which: int) -> object:
    """Run the kernel with one value for all variables that have none."""
    text, option = assembled.text, _VALUES[which]
    known = compiling.known_library(text, option)
    library = known or compiling.kernel_library(text, option)
    answer = process.run(replace(job, library=library, seeds=job.seeds[:1]))
    return answer.outputs, [one["kind"] for one in answer.faults]
