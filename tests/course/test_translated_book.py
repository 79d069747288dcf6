"""A book of three chapters in English, and in a second language of wide letters."""

import json
import os
import re
import shutil
import string
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import quickjs  # pyright: ignore[reportMissingTypeStubs]

from tiny_llm_course.language import FURTHER, SETTING
from tiny_llm_course.places import BOOK

Say = Callable[[str], str]
DAY = "week-1-day-3-grouped-query-attention"
OTHER = "qps"
WIDE = {ord(one): ord(one) + 0xFEE0 for one in string.ascii_letters}
NAMES = {"tiny", "llm", "Furo", "English", "html", "Copyright", "Apache", "the"}
"""Words that are the same in all languages, and the line of the copyright."""


def wide(text: str) -> str:
    """Write a text in the second language, which nobody reads."""
    return text.translate(WIDE)


def heading(say: Say, level: int, text: str, anchor: str) -> str:
    """Write a heading. A translation names the section that it stands for."""
    note = f"% section {anchor}\n" if say is wide else ""
    return f"{note}{'#' * level} {say(text)}"


def day(say: Say) -> str:
    """Write a chapter with one of each thing that has words of its own."""
    return f"""
{heading(say, 1, "Many heads", "many-heads")}

{say("The weights take")} <<weights_mb:.2f>> {say("megabytes")}.

{heading(say, 2, "Where people slip", "where-people-slip")}

```{{drawing}} biases
:alt: {say("Four curves.")}
head: {say("head")} {{number}}
x: {say("distance")}
y: {say("score")}
---
{say("The caption.")}
```

```{{interactive}} grouped-heads
:alt: {say("Lines.")}
model: {say("Model")}
{"tokens: no twin" if say is wide else "head: Query head"}
```

{heading(say, 2, "Where people slip", "where-people-slip-2")}

:::::{{mistakes}}
**{say("The order.")}** {say("It is wrong.")}

::::{{mistake}} key-heads-taken-in-turns {say("In turns")}
:try: scaled_dot_product_attention_grouped(mx.ones((4, 1, 1)), mx.ones((2, 1, 1)), \
mx.array([[[1.0]], [[2.0]]])).flatten()
{say("It takes the wrong one.")}
::::
:::::

```{{task}} 2
```
"""


def plain(say: Say) -> str:
    """Write a chapter of words."""
    return f"""
{heading(say, 1, "Plain words", "plain-words")}

{say("A needle in the haystack.")} [{say("There")}]({DAY}.md#where-people-slip-2),
[{say("here")}](#plain-words).

:::{{note}}
{say("A remark.")}
:::
"""


def write(book: Path, code: str, say: Say) -> None:
    """Write the chapters in one language."""
    folder = book / code
    folder.mkdir()
    index = f"""
{heading(say, 1, "A book", "a-book")}

```{{toctree}}
{DAY}
plain
```
"""
    for name, text in {"index": index, DAY: day(say), "plain": plain(say)}.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def build(book: Path, code: str, languages: Path) -> str:
    """Build the book in one language, and return what Sphinx warns of."""
    folders = [str(book / code), str(book / "built" / code)]
    ran = subprocess.run(
        [*(sys.executable, "-m", "sphinx", "-q", "-c", str(book)), *folders],
        env={**os.environ, SETTING: code, FURTHER: str(languages)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return ran.stdout


@dataclass(frozen=True)
class Built:
    """The book, built in both languages.

    Attributes:
        folder: Where it is; its pages are below `built`.
        said: What Sphinx warned of, in English and in the other language.
    """

    folder: Path
    said: tuple[str, str]

    def file(self, code: str, name: str) -> str:
        """Return a file of the built book."""
        return (self.folder / "built" / code / name).read_text(encoding="utf-8")

    def both(self, page: str) -> tuple[str, str]:
        """Return a page in English and in the other language."""
        return self.file("en", f"{page}.html"), self.file(OTHER, f"{page}.html")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, languages: Path) -> Built:
    """Write and build the book; one page of it is in English only."""
    book = tmp_path_factory.mktemp("translated") / "book"
    without = shutil.ignore_patterns("build", "en", "zh", "katex", "chapter_data")
    shutil.copytree(BOOK, book, ignore=without)
    write(book, "en", str)
    write(book, OTHER, wide)
    alone = "---\norphan: true\n---\n# Alone\n"
    (book / "en" / "alone.md").write_text(alone, encoding="utf-8")
    return Built(book, (build(book, "en", languages), build(book, OTHER, languages)))


def test_links_to_sections_have_the_same_anchors_in_each_language(built: Built) -> None:
    for page in built.both("plain"):
        assert f'href="{DAY}.html#where-people-slip-2"' in page
        assert 'href="#plain-words"' in page
    assert "xref_missing" not in "".join(built.said)


def test_a_chapter_without_its_twin_is_reported(built: Built) -> None:
    name = wide("English")

    assert f"alone.md: WARNING: expected a chapter in {name}" in built.said[0]
    assert "plain.md: WARNING" not in "".join(built.said)


def test_an_interactive_figure_has_the_same_texts_in_all_languages(
    built: Built,
) -> None:
    english, other = built.said

    assert "grouped-heads: " not in english
    assert "grouped-heads: expected a text head" in other
    assert "grouped-heads: English has no tokens" in other


def test_twins_are_linked(built: Built) -> None:
    english, other = built.both(DAY)

    assert f'<a href="../{OTHER}/{DAY}.html" lang="{OTHER}"' in english
    assert f'<a href="../en/{DAY}.html" lang="en"' in other
    assert f'<html class="no-js" lang="{OTHER}"' in other


def test_sections_have_the_same_anchors(built: Built) -> None:
    """So that the switch leads to where the reader was."""
    anchors = [
        re.findall(r'<section [^>]*\bid="([^"]+)"', page) for page in built.both(DAY)
    ]

    assert anchors[0] == ["many-heads", "where-people-slip", "where-people-slip-2"]
    assert anchors[1] == anchors[0]
    assert "switching.js" in built.file("en", f"{DAY}.html")


PAGE = """
const section = (id, top) => ({ id, getBoundingClientRect: () => ({ top }) });
const sections = [section("a", -900), section("b", -50), section("c", 390)];
const link = { addEventListener: (_, press) => { link.press = press; } };
const innerHeight = 700;
const document = {
  querySelectorAll: (asked) => asked.startsWith(".languages") ? [link] : sections,
};
"""


def test_the_switch_leads_to_the_section_that_is_being_read() -> None:
    script = (BOOK / "static" / "switching.js").read_text(encoding="utf-8")

    hash_ = quickjs.Context().eval(f"{PAGE}{script}\nlink.press(); link.hash")

    assert hash_ == "b"


def test_the_labels_of_a_drawing_are_translated(built: Built) -> None:
    english, other = (
        re.findall(r"<text [^>]*>([^<]*)</text>", page) for page in built.both(DAY)
    )

    assert {"head 0", "distance", "score"} <= set(english)
    assert other == list(map(wide, english))


def test_the_texts_of_an_interactive_figure_are_translated(built: Built) -> None:
    english, other = (
        json.loads(
            re.findall(r"<script type='application/json'>(.*?)</script>", page)[0]
        )
        for page in built.both(DAY)
    )

    assert (english["text"]["model"], other["text"]["model"]) == (
        "Model",
        wide("Model"),
    )
    assert other["more"] == wide(english["more"])
    assert other["data"] == english["data"]


def test_a_mistake_is_the_same_in_other_words(built: Built) -> None:
    english, other = (
        re.findall(r"<pre[^>]*>.*?</pre>", page, re.DOTALL) for page in built.both(DAY)
    )
    ours, theirs = (re.sub(r"<[^>]*>", "", found[0]) for found in (english, other))

    assert "key-heads-taken-in-turns" in built.file(OTHER, f"{DAY}.html")
    assert "right:" in ours
    assert theirs == ours.replace("right", wide("right")).replace(
        "with this mistake", wide("with this mistake")
    )


def test_a_task_shows_the_stub_in_the_language_of_the_page(built: Built) -> None:
    english, other = built.both(DAY)

    assert "You write:" in english
    assert f"{wide('You write')}:" in other
    assert wide("Return") in re.sub(r"<[^>]*>", "", other)


def test_numbers_are_equal(built: Built) -> None:
    english, other = (
        re.findall(r"([\d.]+) (?:megabytes|ｍｅｇａｂｙｔｅｓ)", page)  # noqa: RUF001
        for page in built.both(DAY)
    )

    assert english
    assert english == other


@pytest.mark.parametrize("page", ["plain", "index"])
def test_no_english_is_left_around_a_translated_chapter(
    built: Built, page: str
) -> None:
    """Neither what one reads, nor what a screen reader says."""
    text = built.file(OTHER, f"{page}.html")
    body = re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL)
    body = re.sub(r"<(span|a) [^>]*lang=\"en\".*?</\1>", "", body)
    shown = re.sub(r"<[^>]*>", " ", body)
    spoken = " ".join(re.findall(r'(?:title|aria-label|placeholder)="([^"]*)"', body))

    words = set(re.findall(r"(?<![\w&#/.-])[A-Za-z]{2,}", f"{shown} {spoken}"))

    assert sorted(words - NAMES) == []


def test_what_is_written_without_spaces_is_found(built: Built) -> None:
    """A query is cut as the index is."""
    index = json.loads(
        built.file(OTHER, "searchindex.js")
        .removeprefix("Search.setIndex(")
        .removesuffix(")")
    )
    script = built.file(OTHER, "_static/language_data.js")
    splitter = script[script.index("function splitQuery") :]
    context = quickjs.Context()
    context.eval(splitter)
    place = index["docnames"].index("plain")

    def asked(query: str) -> list[str]:
        context.set("query", query.lower())
        return json.loads(context.eval("JSON.stringify(splitQuery(query))"))

    def pages(term: str) -> list[int]:
        found = index["terms"].get(term, [])
        return found if isinstance(found, list) else [found]

    assert asked("ＡＢＣ and d") == ["ａｂ", "ｂｃ", "and", "d"]  # noqa: RUF001
    for term in asked(wide("haystack")):
        assert place in pages(term)
    assert pages("ｚｚ") == []  # noqa: RUF001
