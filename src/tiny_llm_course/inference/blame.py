"""Reports errors of a learner's solution while it generates text."""

import contextlib
import traceback
from collections.abc import Generator
from pathlib import Path

from tiny_llm_course.catalogue import say
from tiny_llm_course.errors import CourseError
from tiny_llm_course.inference.mixture import Mixture
from tiny_llm_course.solution import BrokenFileError, Solution
from tiny_llm_course.unsolved import Unsolved
from tiny_llm_course.untrusted import visible


class SolutionError(Exception):
    """A solution does not run. The message is for its author."""


@contextlib.contextmanager
def blame(solution: Solution) -> Generator[None]:
    """Turn errors of the solution into a `SolutionError`.

    A task that is not started, or a file that cannot be imported, is reported in one
    line. Any other error is reported with the lines of the solution that led to it. An
    error without such a line is ours and passes through, except in a mixture, where the
    learner's code may have given ours wrong values.
    """
    try:
        yield
    except (Unsolved, BrokenFileError) as error:
        raise SolutionError(str(error)) from error
    except (CourseError, SolutionError, BrokenPipeError):
        raise
    except Exception as error:
        frames = [
            frame
            for frame in traceback.extract_tb(error.__traceback__)
            if Path(frame.filename).is_relative_to(solution.folder)
        ]
        if not frames and isinstance(solution, Mixture):
            told = " ".join(traceback.format_exception_only(error)).strip()
            misfit = say("commands.talking.misfit", error=visible(told))
            raise SolutionError(misfit) from error
        if not frames:
            raise
        lines = traceback.format_list(frames) + traceback.format_exception_only(error)
        told = visible("".join(lines).rstrip())
        raise SolutionError(say("commands.talking.error", lines=told)) from error
