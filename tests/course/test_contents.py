"""What the pages that greet a reader say about the course is what the syllabus says."""

import re
import tomllib
from pathlib import Path

import pytest

from tiny_llm_course.places import CHAPTERS, ROOT
from tiny_llm_course.syllabus import Week, tasks, weeks

README = (ROOT / "README.md").read_text(encoding="utf-8")
CHINESE = (ROOT / "README.zh.md").read_text(encoding="utf-8")
INDEX = (CHAPTERS / "index.md").read_text(encoding="utf-8")
PREFACE = (CHAPTERS / "preface.md").read_text(encoding="utf-8")

FOR_CONTRIBUTORS = {
    *("starter", "check", "build-ext-ref", "post_install", "train-checkpoint"),
}
"""Commands that learners do not need, besides those that begin with "test-"."""

each_week = pytest.mark.parametrize("week", weeks(), ids=lambda week: str(week.number))


def section(text: str, week: Week) -> str:
    """Return the part of a page that is about a week, below its heading."""
    found = re.split(r"^## ", text, flags=re.MULTILINE)
    (own,) = [one for one in found if one.startswith(f"Week {week.number},")]
    return own


def rows(text: str) -> list[str]:
    """Return the rows of a table that begin with a day, as they stand there."""
    return [row for row in text.splitlines() if re.match(r"\| (\[Day )?G?\d", row)]


def report(text: str) -> tuple[list[tuple[str, str]], str]:
    """Return the first report of a page: each task with its status, and the rest."""
    shown = text.partition("$ pdm run test")[2].partition("```")[0]
    status, _, rest = shown.partition("\n\n")
    return re.findall(r"  task \d  (.+?) {2,}(.+)", status), rest


@each_week
def test_the_readme_lists_each_day_of_a_week_once(week: Week) -> None:
    own = section(README, week)

    title = week.title[0].lower() + week.title[1:]
    assert own.splitlines()[0] == f"Week {week.number}, {title}"
    numbers = [row.split("|")[1].strip() for row in rows(own)]
    assert numbers == [str(day.number) for day in week.days]


def test_no_page_knows_a_week_that_there_is_not() -> None:
    numbers = {str(week.number) for week in weeks()}

    for text in (README, INDEX):
        assert set(re.findall(r"^## Week (\d+)", text, re.MULTILINE)) == numbers


@each_week
def test_the_first_page_links_each_day_of_a_week(week: Week) -> None:
    linked = re.findall(r"\| \[Day (G?\d+)\]\((\S+)\.md\)", section(INDEX, week))

    assert linked == [(str(day.number), day.chapter) for day in week.days]


@each_week
def test_the_table_of_contents_has_each_day_of_a_week(week: Week) -> None:
    """Pages about the whole week stand before, between and after its days."""
    title = week.title[0].lower() + week.title[1:]
    caption = f":caption: Week {week.number}, {title}\n"

    listed = INDEX.partition(caption)[2].partition("```")[0].split()

    assert all(page.startswith(f"week-{week.number}-") for page in listed)
    assert [page for page in listed if "-day-" in page] == [
        day.chapter for day in week.days
    ]


def test_every_page_of_the_book_is_in_a_table_of_contents() -> None:
    """Those of an optional task stand under the chapter of their day."""
    pages = {path.stem for path in CHAPTERS.glob("*.md")} - {"index"}

    texts = [path.read_text(encoding="utf-8") for path in CHAPTERS.glob("*.md")]
    listed = re.findall(r"```\{toctree\}\n((?:.*\n)*?)```", "\n".join(texts))

    assert pages <= set(" ".join(listed).split())


def test_who_needs_cpp_is_told_from_when_on() -> None:
    first = next(task.address for task in tasks() if task.kernels)

    assert f"From Day {first.day} of Week {first.week} on" in " ".join(README.split())
    for text in (INDEX, PREFACE):
        assert "Day <<cpp_day>> of Week <<cpp_week>>" in text


def test_the_readme_shows_the_report_of_the_first_page() -> None:
    """That one is run as the book is checked; nobody runs the README."""
    day = [task for task in tasks() if (task.address.week, task.address.day) == (1, 4)]
    statuses, rest = report(README)

    run, run_rest = report(INDEX)

    assert (statuses[: len(run)], rest) == (run, run_rest)
    left = [f"{task.title} (optional)" if task.optional else task.title for task in day]
    assert statuses[len(run) :] == [(one, "not started") for one in left[len(run) :]]


def test_the_preface_counts_the_weeks() -> None:
    assert "Weeks 1 to <<num_weeks>>" in PREFACE


def test_the_readme_has_every_command_of_a_learner() -> None:
    project = tomllib.loads(Path(ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    scripts = project["tool"]["pdm"]["scripts"]

    asked = {one for one in scripts if not one.startswith("test-")} - FOR_CONTRIBUTORS
    assert {one for one in asked if f"`pdm run {one}" not in README} == set()


def typed(text: str) -> list[str]:
    """Return what a page tells its reader to type, without comments."""
    shown = re.findall(r"^ *```sh\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE)
    return [line.partition("  #")[0].strip() for line in "".join(shown).splitlines()]


def test_the_readme_in_chinese_has_the_same_commands() -> None:
    """And the one that brings the docstrings in Chinese."""
    own = typed(CHINESE)

    own.remove("pdm run starter --lang zh")
    assert own == typed(README)


@pytest.mark.parametrize(
    ("what", "pattern"),
    [
        ("headings", r"^#+ "),
        ("rows of tables", r"^\|"),
        ("links", r"\]\((?!README)([^)]*)\)"),
        ("sizes and times", r"\d[\d.,]* (?:GB|MB|s|词元/s|tokens/s)\b"),
    ],
)
def test_the_readme_in_chinese_has_as_much(what: str, pattern: str) -> None:
    ours, theirs = (
        [
            one.replace("/zh/", "/en/").replace("词元", "tokens")
            for one in re.findall(pattern, text, re.MULTILINE)
        ]
        for text in (CHINESE, README)
    )

    assert ours == theirs, what


def test_the_readme_in_chinese_names_the_same_code() -> None:
    """In another order, and what only it has: how to choose the language."""
    ours, theirs = (set(re.findall(r"`([^`\n]+)`", text)) for text in (CHINESE, README))

    assert ours - {"--lang zh"} == theirs
