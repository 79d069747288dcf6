"""The machinery of the course: syllabus, grading, commands, checkpoint, labs.

Importing this package loads a fast BLAS where there is one (`blas.py`), so it has
to be imported before `mlx.core`. A solution uses a single name from here: `todo`.
"""

from tiny_llm_course.blas import load_system_openblas
from tiny_llm_course.unsolved import Unsolved, todo

__all__ = ["Unsolved", "todo"]

load_system_openblas()
