"""Sorts options of `pdm run test` into those for pytest and misspelt ones."""

import re
from collections.abc import Iterable, Sequence

from tiny_llm_course.catalogue import say
from tiny_llm_course.errors import CourseError, nearest

OF_PYTEST = {
    *("--exitfirst", "--maxfail", "--quiet", "--verbose", "--verbosity", "--version"),
    *("--help", "--markers", "--fixtures", "--co", "--collect-only", "--setup-plan"),
    *("--setup-show", "--setup-only", "--durations", "--durations-min", "--capture"),
    *("--pdb", "--pdbcls", "--trace", "--tb", "--full-trace", "--showlocals"),
    *("--lf", "--last-failed", "--ff", "--failed-first", "--nf", "--new-first"),
    *("--sw", "--stepwise", "--deselect", "--ignore", "--color", "--no-header"),
    *("--no-summary", "--log-level", "--log-cli-level", "--basetemp", "--debug"),
}
"""The options of pytest that are accepted without a `--` before them."""

SHORT = "kmxsqvlrpWchoV"
"""The one-letter options of pytest. More letters and a value may follow."""


def refuse_unknown(words: Sequence[str], own: Iterable[str]) -> None:
    """Check that each option belongs to the command or to pytest.

    Everything after a `--` is for pytest and is not checked.

    Args:
        words: Everything that was typed after the name of the command.
        own: The options of the command.

    Raises:
        CourseError: An option belongs to neither.
    """
    known = {*own, *OF_PYTEST}
    for word in words[: words.index("--")] if "--" in words else words:
        name = word.partition("=")[0]
        is_fine = name in known or re.match(rf"-[{SHORT}\d]|[^-]|-?$", word)
        if not is_fine:
            close = nearest(name, sorted(known)) or say("commands.test.after_dashes")
            raise CourseError(say("commands.test.no_option", name=name, close=close))


def with_task(task: int | None, arguments: Sequence[str]) -> list[str]:
    """Return arguments for pytest that select the tests of one task of a day.

    Args:
        task: Its number. None returns the arguments unchanged.
        arguments: What was typed for pytest. A `-k` in it selects among the task's
            tests.
    """
    if task is None:
        return list(arguments)
    rest, words = list(arguments), [f"task_{task}"]
    while "-k" in rest[:-1]:
        at = rest.index("-k")
        words.append(f"({rest[at + 1]})")
        del rest[at : at + 2]
    return ["-k", " and ".join(words), *rest]
