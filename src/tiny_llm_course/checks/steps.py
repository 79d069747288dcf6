"""The steps of `pdm run check`: what has to hold before a change goes in."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tiny_llm_course.book.building import BUILT, NUMBERS
from tiny_llm_course.book.languages import languages
from tiny_llm_course.book.markdown import chapters
from tiny_llm_course.book.typed_commands import call, scripts
from tiny_llm_course.checks import translations, twins
from tiny_llm_course.checks.sources import PAGES as BUILT_PAGES
from tiny_llm_course.grading.engine.session import grade
from tiny_llm_course.grading.results import NOT_STARTED
from tiny_llm_course.language import ENGLISH
from tiny_llm_course.places import ROOT, TESTS
from tiny_llm_course.syllabus import Day, select_days

PYTHON = ("*.py", "*.pyi", "pyproject.toml")

PYTEST = (
    *("-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"),
    *("--disable-plugin-autoload", "-p", "pytest_timeout"),
)
"""Without the list of all tests that have ever run, which grows with each step, and
without looking for plugins: both took a third of a step with one small file."""

_BOOK = "tiny_llm_course.book.checking"


@dataclass(frozen=True)
class Step:
    """One program that must succeed.

    Args:
        claim: What holds if it succeeds, and so do all other steps with this claim.
        arguments: What follows `python` on the command line.
        part: The name of this step among those with the same claim.
        reads: The files that it depends on in addition to those that Python opens.
        makes: What it creates. While that is missing, no result is cached.
        may_be_kept: Whether it need not run again once it has succeeded.
        is_light: Whether it imports little, and so need not wait for what is imported
            for the others.
        is_long: Whether it shows under more conditions what another step shows: with
            all sanitizers, in another language. `pdm run check --long` and CI run it.
    """

    claim: str
    arguments: tuple[str, ...]
    part: str = ""
    reads: tuple[str, ...] = ()
    makes: Path | None = None
    may_be_kept: bool = True
    is_light: bool = False
    is_long: bool = False


@dataclass(frozen=True)
class Outcome:
    """How a step ended.

    Args:
        succeeded: Whether the exit code was 0.
        output: All that it printed, on stdout and stderr.
        duration_s: How long it took.
        was_kept: Whether that was in an earlier check.
    """

    succeeded: bool
    output: str
    duration_s: float
    was_kept: bool = False

    @property
    def last_line(self) -> str:
        """The summary line of the output, without its frame."""
        lines = self.output.split("\n")
        return next((line.strip("= ") for line in reversed(lines) if line.strip()), "")


def _command(name: str, *arguments: str) -> tuple[str, ...]:
    """Return the arguments for `python` that do what `pdm run NAME` does."""
    return call(scripts()[name], *arguments)


FIRST = (
    Step(
        "the kernels compile",
        _command("build-ext-ref"),
        may_be_kept=False,
        is_light=True,
    ),
    Step(
        "the chapters have their numbers",
        call("tiny_llm_course.book.chapter_data:keep_numbers"),
        makes=NUMBERS,
    ),
    Step(
        "pyright finds nothing",
        ("-m", "pyright", "--pythonpath", sys.executable),
        reads=PYTHON,
        is_light=True,
    ),
    Step("so do their stubs", _command("build-ext"), may_be_kept=False),
)
"""The steps that the others need. Compiling does nothing if nothing has changed.

Nothing needs pyright. It runs here so that no core waits while the numbers, which take
one, are worked out.
"""

BOOK = tuple(
    Step(
        "the book builds, and no warning",
        call("tiny_llm_course.book.building:build_here", language),
        part=language,
        makes=BUILT / language,
    )
    for language in languages()
)
"""The steps that come next. The languages have the same numbers."""


def steps() -> list[Step]:
    """Return the other steps, which may run in parallel, the long ones first.

    Where nothing is known of an earlier run, they start in this order. What PyTorch
    says is kept, and the proofs ask for it first: each for another day.
    """
    ruff = ("-m", "ruff")
    return [
        *reversed([_proof(day) for day in select_days(None, None)]),
        *_tests("kernels for GPUs are judged", "metal"),
        Step("the starter passes nothing", call(f"{__name__}:grade_starter")),
        Step("the book is spelt right", call(f"{_BOOK}:texts_are_right")),
        *_truths(),
        *_in_a_browser(),
        *_tests("the course's own tests pass", "course"),
        Step("the starter is up to date", _command("starter", "--check")),
        Step("translations are complete", call(f"{translations.__name__}:main")),
        Step("they are like their English", call(f"{twins.__name__}:main")),
        Step("ruff finds nothing", (*ruff, "check", "."), reads=PYTHON),
        Step("the code is formatted", (*ruff, "format", "--check", "."), reads=PYTHON),
    ]


def _proof(day: Day) -> Step:
    """Grade the reference and all known solutions, wrong and right, on one day."""
    return Step(
        "the tests tell right from wrong",
        _command("test-grader", "--week", f"{day.week}", "--day", f"{day.number}"),
        part=f"week {day.week}, day {day.number}",
    )


def _truths() -> Iterator[Step]:
    """Yield a step for each chapter that shows what was run, and one for the others.

    What a command prints in other languages is a long step.
    """
    for language in languages():
        others = list[str]()
        for page in chapters():
            text = page.read_text(encoding="utf-8")
            if "{transcript}" in text or "pycon" in text:
                yield _truth(language, page.stem)
            else:
                others.append(page.stem)
        yield _truth(language, *others)


def _truth(language: str, *pages: str) -> Step:
    """Run what pages show in a language."""
    return Step(
        "what the book shows is true",
        call(f"{_BOOK}:shown_is_true", language, *pages),
        part=f"{language}, {pages[0] if len(pages) == 1 else 'the others'}",
        is_long=language != ENGLISH,
    )


def _in_a_browser() -> Iterator[Step]:
    """Yield a step for the pages and figures of four days, and for each other file.

    A browser takes longer to start than to test a page, and a page that was changed has
    all tests of its step run again. Files that Python opens are traced; styles, scripts
    and fonts, which only the browser reads, are listed. Search has words of all pages.
    """
    claim, looks = "the book works in a browser", (f"{BUILT_PAGES}/en/_*",)
    pages, files = "tests/book/test_pages.py", set(_files("book"))
    days, search = select_days(None, None), "search"
    tested = [search]
    for first in range(0, len(days), 4):
        four = days[first : first + 4]
        names = [f"week_{day.week}_day_{day.number}".lower() for day in four]
        figures = [f for f in sorted(files) if any(f"_figure_{n}" in f for n in names)]
        of_days = " or ".join([*names, *(name.replace("_", "-") for name in names)])
        yield _pytest(claim, *figures, pages, "-k", of_days, reads=looks)
        files.difference_update(figures)
        tested.append(of_days)
    yield _pytest(claim, pages, "-k", f"not ({' or '.join(tested)})", reads=looks)
    yield _pytest(claim, pages, "-k", search, reads=(f"{BUILT_PAGES}/*",))
    for name in sorted(files - {pages}):
        yield from _file(claim, name, reads=looks)


def _tests(claim: str, folder: str) -> Iterator[Step]:
    """Yield the steps of each file of tests in a folder, those that compile first."""

    def has_no_compiler(name: str) -> bool:
        return "compiler" not in (ROOT / name).read_text(encoding="utf-8")

    for name in sorted(_files(folder), key=has_no_compiler):
        yield from _file(claim, name)


def _file(claim: str, name: str, reads: tuple[str, ...] = ()) -> Iterator[Step]:
    """Yield a step for a file of tests, and one for those that have the mark `long`."""
    if "pytest.mark.long" in (ROOT / name).read_text(encoding="utf-8"):
        yield _pytest(claim, name, "-m", "not long", reads=reads)
        yield replace(_pytest(claim, name, "-m", "long", reads=reads), is_long=True)
    else:
        yield _pytest(claim, name, reads=reads)


def _files(folder: str) -> list[str]:
    """Return the names of the files of tests in a folder."""
    found = sorted((TESTS / folder).glob("test_*.py"))
    return [path.relative_to(ROOT).as_posix() for path in found]


def _pytest(claim: str, *arguments: str, reads: tuple[str, ...] = ()) -> Step:
    """Run some tests."""
    return Step(claim, (*PYTEST, *arguments), part=" ".join(arguments), reads=reads)


def grade_starter() -> int:
    """Grade the starter, and print the tests that do not say "not started".

    A test that passes on a stub could not fail.
    """
    results = grade(select_days(None, None), "tiny_llm").tests.values()
    surprising = [result for result in results if result.status != NOT_STARTED]
    for result in surprising:
        print(f"{result.status}: {result.test}: {result.message}")
    print(f"{len(results) - len(surprising)} of {len(results)} tests say: not started")
    return 0 if results and not surprising else 1
