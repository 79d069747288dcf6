"""The page that `--help` shows, in the language of its reader.

A command's function says how it is called. What it says to newcomers stands in the
catalogue, under the command's name in `help.toml`.
"""

from collections.abc import Iterable, Iterator, Sequence

import click
from rich.cells import cell_len

from tiny_llm_course.catalogue import has, say
from tiny_llm_course.layout import pad, unfolded, widest, wrapped

COLUMN = 30
"""Where an option's name is longer, what it does begins on the next line."""


class Formatter(click.HelpFormatter):
    """Writes paragraphs and lists of options, in cells of the terminal."""

    def write_heading(self, heading: str) -> None:
        """Write a heading, which has its own colon."""
        self.write(f"{' ' * self.current_indent}{heading}\n")

    def write_text(self, text: str) -> None:
        """Write paragraphs, which blank lines part."""
        indent = " " * self.current_indent
        paragraphs = map(unfolded, text.split("\n\n"))
        self.write(
            "\n\n".join(
                "\n".join(wrapped(one, self.width, indent, indent))
                for one in paragraphs
            )
            + "\n"
        )

    def write_dl(
        self,
        rows: Iterable[tuple[str, str]],
        col_max: int = COLUMN,
        col_spacing: int = 2,
    ) -> None:
        """Write options, and beside each what it does."""
        rows = list(rows)
        names = [name for name, _ in rows]
        second = min(widest(names), col_max) + col_spacing
        indent = " " * self.current_indent
        below = indent + " " * second
        for name, text in rows:
            beginning = indent + pad(name, second)
            if cell_len(name) > second - col_spacing:
                self.write(f"{indent}{name}\n")
                beginning = below
            width = max(self.width, len(below) + 10)
            self.write("\n".join(wrapped(text, width, beginning, below)) + "\n")


class Context(click.Context):
    """Writes help with our formatter."""

    formatter_class = Formatter


def fill_in(
    command: click.Command, options: Iterable[click.Parameter], table: str
) -> None:
    """Give a command and its options their texts.

    Args:
        command: What the page is about.
        options: All that it takes.
        table: The command's own in `help.toml`. Some for authors have none, and
            keep the texts that they came with.
    """
    tables = (table, "shared", "common") if has(f"help.{table}") else ("common",)
    command.help = _first(tables, "about") or command.help
    for option in options:
        if isinstance(option, click.Option):
            name = max(option.opts, key=len).lstrip("-")
            option.help = _first(tables, name) or option.help


def records(
    options: Iterable[click.Parameter], ctx: click.Context
) -> Iterator[tuple[str, str]]:
    """Yield how each option is typed, and what it does."""
    for option in options:
        record = option.get_help_record(ctx)
        if record and isinstance(option, click.Option):
            extra = option.get_help_extra(ctx)
            default = extra.get("default")
            limits = [say("help.common.default", default=default)] if default else []
            limits += [extra["range"]] if "range" in extra else []
            more = f"  [{say('commands.semicolon').join(limits)}]" if limits else ""
            yield record[0], f"{option.help or ''}{more}"


def _first(tables: Sequence[str], name: str) -> str | None:
    """Return the first text that the tables have."""
    keys = (f"help.{table}.{name}" for table in tables)
    return next((say(key) for key in keys if has(key)), None)
