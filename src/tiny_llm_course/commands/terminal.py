"""Shared by all commands: how they start and how they fail."""

import errno
import gc
import math
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, NoReturn

import click

from tiny_llm_course import language
from tiny_llm_course.catalogue import lines, say
from tiny_llm_course.commands import help_page
from tiny_llm_course.day_number import DayNumber
from tiny_llm_course.doctor.libraries import pdm_install
from tiny_llm_course.errors import CourseError
from tiny_llm_course.untrusted import visible

OF_THE_DISK = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS),
    *(errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENOTDIR, errno.EISDIR),
    errno.ENAMETOOLONG,
}
"""Errors that the user can fix: disk full, read-only, missing, no permission."""


Function = Callable[..., Any]
"""What becomes a click command."""


LANGUAGE = "--lang"


class CourseCommand(click.Command):
    """A click command whose every misuse is one line on stderr and exit code 2.

    Args:
        *args: Those of click.
        texts: The table of `help.toml` with what `--help` says, if it has not its name.
        **extra: Those of click.
    """

    context_class = help_page.Context

    def __init__(self, *args: Any, texts: str | None = None, **extra: Any) -> None:  # noqa: ANN401 - click's own
        super().__init__(*args, **extra)
        self.params.append(click.Option([LANGUAGE], metavar="CODE", expose_value=False))
        self._texts = texts or self.name or ""

    def main(self, *args: Any, **extra: Any) -> NoReturn:  # noqa: ANN401 - click's own
        """Run the command and leave the interpreter with its exit code."""
        (given,) = args or (extra.pop("args", None),)
        if given is None:
            gc.freeze()  # a program keeps what it has imported: 0.02 s of a verdict
        words = list(sys.argv[1:] if given is None else given)
        wanted = wanted_language(words)
        with language.speaking(wanted):
            if known := language.known(wanted or ""):
                language.remember(known)
            self._main(words, **extra)

    def _main(self, words: list[str], **extra: Any) -> NoReturn:  # noqa: ANN401 - click's own
        """Run the command in the language that is chosen."""
        extra |= {"standalone_mode": False, "prog_name": f"pdm run {self.name}"}
        try:
            refuse_unknown_language()
            code = super().main(words, **extra)
        except click.ClickException as error:
            self.misused(in_own_words(one_line(error.format_message())))
        except CourseError as error:
            self.misused(str(error))
        except OSError as error:
            if error.errno not in OF_THE_DISK:
                raise
            self.misused(disk_problem(error))
        except click.Abort:
            sys.exit(130)
        sys.exit(code or 0)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first line of the help page."""
        arguments = " ".join(self.collect_usage_pieces(ctx))
        prefix = say("help.common.usage")
        formatter.write_usage(ctx.command_path, arguments, prefix)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help page."""
        help_page.fill_in(self, self.get_params(ctx), self._texts)
        super().format_help(ctx, formatter)

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the list of options."""
        with formatter.section(say("help.common.options")):
            formatter.write_dl(list(help_page.records(self.get_params(ctx), ctx)))

    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        """Accept `-h` as well as `--help`."""
        del ctx
        return ["-h", "--help"]

    def misused(self, message: str) -> NoReturn:
        """Print what is wrong in one line on stderr, and exit with code 2."""
        print(f"{self.name}: {visible(one_line(message))}", file=sys.stderr)
        sys.exit(2)


def wanted_language(words: Sequence[str]) -> str | None:
    """Return what `--lang` is given, before anything is parsed, or says anything.

    What comes after a `--` belongs to another program.
    """
    own = list(words[: words.index("--")] if "--" in words else words)
    for word, following in pairwise([*own, ""]):
        if word == LANGUAGE:
            return following or None
        if word.startswith(f"{LANGUAGE}="):
            return word.partition("=")[2]
    return None


def refuse_unknown_language() -> None:
    """Check that the language exists that was chosen.

    Raises:
        CourseError: It does not. What the locale asks for may be missing.
    """
    name = language.unknown_choice()
    if name:
        codes = ", ".join(language.languages())
        raise CourseError(say("commands.no_language", name=name, codes=codes))


def with_options(*options: Callable[[Function], Function]) -> Callable[..., Any]:
    """Return a decorator that gives a command some options, in this order."""

    def add(command: Function) -> Function:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def disk_problem(error: OSError) -> str:
    """Say which file cannot be read or written, and why."""
    reason = error.strerror or str(error)
    if error.filename is None:
        return say("commands.disk", reason=reason)
    return say("commands.disk_at", path=error.filename, reason=reason)


def do_all(steps: Iterable[Callable[[], object]]) -> None:
    """Run independent steps, all of them even if some fail.

    Raises:
        OSError: Some steps failed. This is the error of the first.
    """
    errors: list[OSError] = []
    for step in steps:
        try:
            step()
        except OSError as error:
            errors.append(error)
    if errors:
        raise errors[0]


class FiniteRange(click.FloatRange):
    """A range of numbers that excludes NaN, which click's range would let pass."""

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's own
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """Read a number."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(say("commands.no_number", value=value), param, ctx)
        return number


class _Day(click.ParamType[DayNumber]):
    """The number of a day, such as 4, or G1 on the track for GPUs."""

    name = "day"

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's own
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> DayNumber:
        """Read it."""
        try:
            return DayNumber(value)
        except ValueError:
            self.fail(say("commands.no_day", value=value), param, ctx)


DAY = _Day()


SEEDS = click.IntRange(0, 2**32 - 1)
"""The seeds that every library accepts."""


def need(*packages: str) -> None:
    """Check that packages are installed which `pdm install --prod` leaves out.

    Args:
        *packages: Their import names.

    Raises:
        CourseError: Some are not installed.
    """
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        names = ", ".join(missing)
        raise CourseError(say("commands.needs", names=names, command=pdm_install()))


def in_own_words(message: str) -> str:
    """Return what click says of a command line, in the learner's language."""
    for entry in lines("misuse.patterns"):
        kind, _, pattern = entry.partition(" ")
        if found := re.fullmatch(pattern, message):
            return say(f"misuse.means.{kind}", **found.groupdict())
    return message


def one_line(message: str) -> str:
    """Join the lines of `message`, and drop the full stop that click ends with."""
    return " ".join(message.split()).removesuffix(".")
