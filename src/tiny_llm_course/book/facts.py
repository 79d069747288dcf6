"""Counts that the book states about the course as a whole."""

from collections.abc import Callable

from tiny_llm_course.book.embedded import weights
from tiny_llm_course.specimens import Specimen, accepted, misconceptions
from tiny_llm_course.syllabus import Address, tasks, weeks


def counts() -> dict[str, int]:
    """Count parameters, weeks, tasks and known solutions, and say when C++ begins."""
    first_in_cpp = next(task.address for task in tasks() if task.kernels)
    return {
        "num_weeks": len(weeks()),
        "cpp_week": first_in_cpp.week,
        "cpp_day": first_in_cpp.day,
        "num_parameters": sum(weight.size for weight in weights().values()),
        "num_tasks": len([task for task in tasks() if not task.optional]),
        "num_optional": len([task for task in tasks() if task.optional]),
        "num_mistakes": _num_distinct(misconceptions),
        "num_variants": _num_distinct(accepted),
    }


def _num_distinct(known: Callable[[Address], tuple[Specimen, ...]]) -> int:
    """Count known solutions. One that belongs to two tasks counts once."""
    return len({one.implementation for task in tasks() for one in known(task.address)})
