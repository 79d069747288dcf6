"""A small book with planted mistakes: what the strict build says about each."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import mlx.core as mx
import pytest

from tiny_llm_course.book import chapter_data
from tiny_llm_course.book.chapter_data import (
    fill_in,
    keep_numbers,
    kept_numbers,
    path_of,
    sources_of,
    values_of,
)
from tiny_llm_course.book.formulas import FormulaError, render
from tiny_llm_course.book.links import external
from tiny_llm_course.book.sources import address, line_of, listing, pages
from tiny_llm_course.book.tables import lacking
from tiny_llm_course.places import BOOK, CHAPTERS, RESULTS
from tiny_llm_ref import kernels

DAY = "week-1-day-3-grouped-query-attention"


def write_book(book: Path, chapter: str, text: str = "# A chapter\n") -> Path:
    """Copy the book without its chapters, give it one, and return its folder."""
    shutil.copytree(
        BOOK, book, ignore=shutil.ignore_patterns("build", "en", "zh", "katex")
    )
    (book / "en").mkdir()
    toctree = f"# A book\n\n```{{toctree}}\n{chapter}\n```\n"
    (book / "en" / "index.md").write_text(toctree, encoding="utf-8")
    (book / "en" / f"{chapter}.md").write_text(text, encoding="utf-8")
    return book


def warnings(book: Path, language: str = "en") -> str:
    """Build a book, and return Sphinx's warnings."""
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "sphinx", "-q", "--nitpicky", "-c", str(book)),
            *(str(book / language), str(book / "built" / language)),
        ],
        env={**os.environ, "TINY_LLM_LANG": language},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return ran.stdout


PLANTED = {
    r"A formula: $\frac{1$.": "KaTeX parse error",
    "A file: {source}`layer_norm.py#RSMNorm`.": "expected a file or symbol",
    "A chapter: [there](week-1-day-9.md).": "week-1-day-9.md",
    "A number: <<no_such_number>>.": "expected a number 'no_such_number'",
    "A wrong name: <<Total.Of-All>>.": "expected a name like",
    "A term: {term}`no such term`.": "term not in glossary",
    "```{task} 9\n```": "there is no task 9 here",
    "```{drawing} gate\nCaption.\n```": "gate: expected",
    "```{drawing} biases\n:alt: A.\nx: y\n---\nB.\n```": "biases: expected a text head",
    "```{drawing} masks\n:alt: A.\nx: y\n---\nB.\n```": "masks: the text x is not sh",
    "```{drawing} masks\n:alt: A.\nx: y: z\n---\nB.\n```": "masks: mapping values are",
    "```{tabulated} no-such\n:columns: a | b\n```": "no-such: expected a table",
    "```{listing} src/worked_examples/timing.h#no_such\n```": "functions of a file",
    "```{interactive} no-such\n:alt: Nothing.\n```": "expected a file no-such.js",
    ":::{mistakes} eaten-by-the-dog\n**Dogs.** Yes.\n:::": "no known mistake eaten-by",
    ":::{mistakes}\nIt happens.\n:::": "expected **A title.** first",
    ":::{mistake} ones-and-zeros A mask\n:try: 1\nIt is.\n:::": "got 1 both times",
}
"""Mistakes in a chapter, and the warning about each."""

WITH_TABLES = "week-1-day-4-rmsnorm-and-mlp"
COLUMNS = ["changed", "to", "loss", "gap", "rate"]


@dataclass(frozen=True)
class Spoilt:
    """A book in one language with planted mistakes, and a table that is right.

    Attributes:
        said: Sphinx's warnings.
        pages: The folder of its pages.
    """

    said: str
    pages: Path


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory: pytest.TempPathFactory) -> Spoilt:
    """Build such a book."""
    text = "# A chapter\n\n" + "\n\n".join(PLANTED)
    book = write_book(tmp_path_factory.mktemp("spoilt") / "book", DAY, text)
    wide, narrow = (
        f"```{{tabulated}} lab-ablation\n:columns: {' | '.join(names)}\nLoss.\n```\n"
        for names in (COLUMNS, COLUMNS[1:])
    )
    tables = book / "en" / f"{WITH_TABLES}.md"
    tables.write_text(f"# A chapter\n\n{wide}\n{narrow}", encoding="utf-8")
    return Spoilt(warnings(book), book / "built" / "en")


@pytest.mark.parametrize("complaint", PLANTED.values())
def test_every_planted_mistake_is_reported(spoilt: Spoilt, complaint: str) -> None:
    assert complaint in spoilt.said


@pytest.mark.parametrize(
    "complaint",
    [
        "expected a {task} for task-1",
        "no {mistakes} explain key-heads-taken-in-turns",
        "expected 3 {question}, got 0",
    ],
)
def test_what_the_chapter_of_a_day_lacks_is_reported(
    spoilt: Spoilt, complaint: str
) -> None:
    assert complaint in spoilt.said


def test_a_table_stands_under_the_column_names_of_the_chapter(spoilt: Spoilt) -> None:
    rows = values_of(WITH_TABLES, "tables")["lab-ablation"]

    page = (spoilt.pages / f"{WITH_TABLES}.html").read_text(encoding="utf-8")

    cells = re.findall(r"<t[hd][^>]*><p>(.*?)</p></t[hd]>", page.replace("\n", ""))
    assert cells[:5] == COLUMNS
    assert cells[5:10] == rows[0]
    assert len(cells) == 5 * (1 + len(rows))
    assert "lab-ablation: expected as many :columns: as cells, 5" in spoilt.said


@pytest.mark.parametrize(
    ("row", "lacks"),
    [(["a", "`?`"], None), (["a"], "as many :columns:"), (["a", "`?\n`"], "one line")],
)
def test_the_rows_of_a_table_fit_its_columns_and_lines(
    row: list[str], lacks: str | None
) -> None:
    """A token may hold a new line, which would end the table."""
    said = lacking([row], ["step", "text"])

    assert lacks in said if lacks and said else said == lacks


def test_one_language_shows_no_switch(spoilt: Spoilt) -> None:
    english = (spoilt.pages / "index.html").read_text(encoding="utf-8")

    assert 'class="languages"' not in english


def test_a_formula_is_there_for_the_eye_and_the_ear() -> None:
    text = render("x^2", display=False)

    assert "<math " in text
    assert 'class="katex-html" aria-hidden="true"' in text


def test_tex_that_is_not_understood_is_an_error() -> None:
    with pytest.raises(FormulaError, match="KaTeX parse error"):
        render(r"\frac{1", display=True)


def test_numbers_are_written_as_the_text_asks() -> None:
    numbers = {"rms": 3.53553, "rows": [[1, 2], [3, 4]], "of": {"weight": 0.25}}

    text = fill_in("<<rms:.2f>>, <<rows.1.0>>, <<of.weight:.0%>>, a << b", numbers)

    assert text == "3.54, 3, 25%, a << b"


@pytest.mark.parametrize("name", ["no", "rows.7", "rows.x", "rms.1", "of.height"])
def test_a_number_that_is_not_there_is_an_error(name: str) -> None:
    numbers = {"rms": 3.5, "rows": [1], "of": {"weight": 1}}

    with pytest.raises(KeyError, match=name):
        fill_in(f"<<{name}>>", numbers)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write chapter data as a package of two files, and return its folder."""
    folder = tmp_path / "chapter_data" / "a_chapter"
    folder.mkdir(parents=True)
    start = "from .part import VALUE\n\n"
    for kind in ("numbers", "phrases", "tables"):
        start += f"def {kind}():\n    return {{'value': VALUE}}\n"
    (folder / "__init__.py").write_text(start, encoding="utf-8")
    (folder / "part.py").write_text("VALUE = 1\n", encoding="utf-8")
    monkeypatch.setattr(chapter_data, "BOOK", tmp_path)
    return folder


def test_chapter_data_can_be_a_package(package: Path) -> None:
    assert {package / "__init__.py", package / "part.py"} <= {*sources_of(package)}
    assert values_of("a-chapter", "numbers") == {"value": 1}
    assert values_of("a-chapter", "data") == {}


def test_a_module_of_a_package_is_read_anew_when_it_has_changed(package: Path) -> None:
    """Also by `pdm run book`, which rebuilds after every change."""
    values_of("a-chapter", "numbers")

    changed = package / "part.py"
    changed.write_text("VALUE = 12\n", encoding="utf-8")
    later = changed.stat().st_mtime + 5
    os.utime(changed, (later, later))

    assert values_of("a-chapter", "numbers") == {"value": 12}


@pytest.mark.parametrize(
    ("kind", "then"), [("numbers", 1), ("tables", 1), ("phrases", 12)]
)
def test_what_all_languages_share_is_kept_for_one_who_asks_for_it(
    package: Path, monkeypatch: pytest.MonkeyPatch, kind: str, then: int
) -> None:
    """Phrases are said in the language of the book."""
    kept = package / "numbers.pickle"
    monkeypatch.setattr(chapter_data, "NUMBERS", kept)
    monkeypatch.setattr(chapter_data, "kept_numbers", kept_numbers.__wrapped__)
    keep_numbers()
    changed = package / "part.py"
    changed.write_text("VALUE = 12\n", encoding="utf-8")
    later = changed.stat().st_mtime + 5
    os.utime(changed, (later, later))

    now = values_of("a-chapter", kind)
    monkeypatch.setenv("BOOK_NUMBERS", str(kept))

    assert values_of("a-chapter", kind) == {"value": then}
    assert now == {"value": 12}


def test_a_folder_that_git_left_behind_is_no_package(package: Path) -> None:
    for one in package.iterdir():
        one.unlink()

    assert values_of("a-chapter", "numbers") == {}


def test_the_book_shows_stubs_and_no_solutions() -> None:
    """The learner's own changes are not shown."""
    assert 'todo("week 1, day 4, task 1")' in listing("layer_norm.RMSNorm")
    assert all("rsqrt(" not in text for name, text in pages().items() if "src" in name)


def test_a_source_link_names_page_and_line() -> None:
    page, anchor = address("layer_norm.py#RMSNorm.__call__")

    assert page == "source/src/tiny_llm/layer_norm"
    line = line_of("src/tiny_llm/layer_norm.py", "RMSNorm.__call__")
    assert anchor == f"line-{line}"
    assert (
        "def __call__" in pages()["src/tiny_llm/layer_norm.py"].splitlines()[line - 1]
    )


def test_links_that_leave_the_book_are_listed_with_their_chapters() -> None:
    listed = external()

    assert listed == sorted(listed)
    named = {chapter for line in listed for chapter in line.split("  ")[1].split(", ")}
    assert named <= {path.stem for path in CHAPTERS.glob("*.md")}
    assert any("arxiv.org/abs/1910.07467" in line for line in listed)


def test_operations_are_as_many_where_no_kernels_are_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There the book, as it is published, shows what was counted with them."""
    for name in ("TINY_LLM_KERNELS", "TINY_LLM_WATCH"):  # of a process that grades
        monkeypatch.delenv(name, raising=False)
    try:
        kernels.built()
    except kernels.NotBuiltError as error:
        pytest.skip(str(error))
    path = RESULTS / "operations.json"

    counted = values_of("week-2-day-7-fused-kernels", "numbers")["token"]

    kept = json.loads(path.read_text(encoding="utf-8"))["counts"]
    assert {name: counted[name] for name in kept} == kept


def test_what_mlx_keeps_of_freed_memory_does_not_count_as_used() -> None:
    """It hands out more than is asked for, where a larger piece lies at hand."""
    path = path_of("week-3-day-3-pages")
    data = chapter_data._load(path, 0.0)  # pyright: ignore[reportPrivateUsage]
    alone = data.allocated(64)["ours"]
    mx.clear_cache()
    mx.eval([mx.ones(300 * number) + 1 for number in range(1, 200)])

    assert data.allocated(64)["ours"] == alone
