"""What is wrong with a checkpoint."""

from tiny_llm_course.errors import CourseError


class CheckpointError(CourseError, ValueError):
    """A checkpoint of no use: a ValueError to code, one line to a person."""
