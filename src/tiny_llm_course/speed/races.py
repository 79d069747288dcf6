"""What the kernel of each task is timed beside."""

from collections.abc import Iterable
from dataclasses import dataclass

from tiny_llm_course.catalogue import say
from tiny_llm_course.syllabus import Task, name_of, tasks


@dataclass(frozen=True)
class Race:
    """A kernel, what it is timed beside, and the program that calls all of them.

    Attributes:
        program: The name of the program.
        rungs: Kernels of ours, from the plain loop to the one that the task asks for.
        limit: What no kernel can beat, as the program "limits" calls it.
        unit: What the work is counted in, a key of the catalogue.
    """

    program: str
    rungs: tuple[str, ...]
    limit: str
    unit: str = "bytes"

    @property
    def kernel(self) -> str:
        """The kernel that is timed for both, the learner and us."""
        return self.rungs[-1]

    @property
    def is_on_all_cores(self) -> bool:
        """Whether the task asks for all cores."""
        return self.limit.endswith("_all")

    @property
    def adds_only_threads(self) -> bool:
        """Whether the last rung is the one before it, on all cores."""
        return self.kernel.endswith("_threaded")


_MATVEC = ("matvec_naive", "matvec_blocked", "matvec_simd", "matvec_int8")
_MATMUL = ("matmul_naive", "matmul_blocked", "matmul_int8")
_CACHED = ("cache_online", "cache_tiled", "attention_split")

RACES = {
    "week 2, day 4, task 1": Race("matvec", _MATVEC[:2], "read_one"),
    "week 2, day 4, task 2": Race("matvec", _MATVEC[:3], "read_one"),
    "week 2, day 4, task 3": Race("matvec", _MATVEC, "read_one"),
    "week 2, day 4, task 4": Race("matvec", (*_MATVEC, "matvec_threaded"), "read_all"),
    "week 2, day 5, task 1": Race("matmul", _MATMUL[:2], "floats_one", "operations"),
    "week 2, day 5, task 2": Race("matmul", ("pack_plain", "pack_panel"), "read_one"),
    "week 2, day 5, task 3": Race("matmul", _MATMUL, "bytes_one", "operations"),
    "week 2, day 5, task 4": Race(
        "matmul", (*_MATMUL, "matmul_threaded"), "bytes_all", "operations"
    ),
    "week 2, day 6, task 1": Race(
        "attention", ("attention_online",), "floats_one", "operations"
    ),
    "week 2, day 6, task 2": Race(
        "attention", ("attention_online", "attention_tiled"), "floats_all", "operations"
    ),
    "week 2, day 6, task 3": Race("attention", _CACHED, "read_all"),
    "week 2, day 7, task 1": Race("fused", ("norm_plain", "add_rms_norm"), "pass_896"),
    "week 2, day 7, task 2": Race("fused", ("rope_plain", "rope"), "pass_896"),
    "week 2, day 7, task 3": Race("fused", ("swiglu_plain", "swiglu"), "pass_4864"),
    "week 3, day 4, task 1": Race("paged", ("paged_attention_online",), "read_one"),
    "week 3, day 4, task 2": Race(
        "paged", ("paged_attention_online", "paged_attention_tiled"), "read_all"
    ),
}
"""By the address of the task."""


def races_of(chosen: Iterable[Task]) -> dict[Task, Race]:
    """Return the races of some tasks, of those that have one."""
    found = ((task, RACES.get(str(task.address))) for task in chosen)
    return {task: race for task, race in found if race}


def name_of_rung(rung: str) -> str:
    """Return what a level is called, such as "blocked"."""
    return say(f"speed.level.{rung}")


def section_of(rung: str, task: Task) -> str:
    """Return the command that opens the chapter where a level is explained.

    Args:
        rung: The kernel of ours that reaches it.
        task: Whose section it is if no task asks for this kernel.
    """
    asking = (one for one in tasks() if rung in map(name_of, one.kernels))
    return next(asking, task).chapter_command()
