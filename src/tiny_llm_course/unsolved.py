"""The marker in a stub, until the learner replaces it."""

from typing import NoReturn


class Unsolved(NotImplementedError):
    """A task that has not been started yet."""


def todo(task: str) -> NoReturn:
    """Mark a body that the learner is going to write.

    Args:
        task: The address of the task, such as "week 1, day 4, task 1".

    Raises:
        Unsolved: Always. The message names the chapter and the command to run.
    """
    from tiny_llm_course.syllabus import task_at

    raise Unsolved(task_at(task).not_started())
