"""What `pdm run test` hands on to pytest, and what is a slip of the pen."""

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
"""The options of pytest that are known without a `--` before them."""

SHORT = "kmxsqvlrpWchoV"
"""The options of one letter that pytest has. Letters and a value may follow."""


def refuse_unknown(words: Sequence[str], own: Iterable[str]) -> None:
    """Make sure that each option is one of the command or of pytest.

    What stands behind a `--` is for pytest, whatever it is.

    Args:
        words: All that was typed behind the name of the command.
        own: The options of the command.

    Raises:
        CourseError: One is neither.
    """
    known = {*own, *OF_PYTEST}
    for word in words[: words.index("--")] if "--" in words else words:
        name = word.partition("=")[0]
        is_fine = name in known or re.match(rf"-[{SHORT}\d]|[^-]|-?$", word)
        if not is_fine:
            close = nearest(name, sorted(known)) or say("commands.test.after_dashes")
            raise CourseError(say("commands.test.no_option", name=name, close=close))


def with_task(task: int | None, arguments: Sequence[str]) -> list[str]:
    """Return arguments for pytest that leave the tests of one task of a day alone.

    Args:
        task: Its number. None leaves the arguments as they are.
        arguments: What was typed for pytest. A `-k` in it narrows further.
    """
    if task is None:
        return list(arguments)
    rest, words = list(arguments), [f"task_{task}"]
    while "-k" in rest[:-1]:
        at = rest.index("-k")
        words.append(f"({rest[at + 1]})")
        del rest[at : at + 2]
    return ["-k", " and ".join(words), *rest]
