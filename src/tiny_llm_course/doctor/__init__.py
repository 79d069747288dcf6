"""Checks of this machine for `pdm run doctor`, with what to do where one fails."""

from collections.abc import Iterator

from tiny_llm_course.doctor.finding import Finding
from tiny_llm_course.doctor.libraries import check_mlx, check_pytorch
from tiny_llm_course.doctor.speed import check_blas
from tiny_llm_course.doctor.system import (
    check_checkpoint,
    check_cmake,
    check_compiler,
    check_python,
)

__all__ = ["Finding", "examine"]


def examine() -> Iterator[Finding]:
    """Run the checks one by one, beginning with what Week 1 needs."""
    yield check_python()
    mlx = check_mlx()
    yield mlx
    yield check_pytorch()
    yield check_checkpoint()
    if mlx.state != "fail":
        yield check_blas()
    yield check_compiler()
    yield check_cmake()
