"""What a translation lacks, and what in it is out of date."""

import shutil
from pathlib import Path

import pytest

from tiny_llm_course.book.sections import sections
from tiny_llm_course.checks.translations import Translation, digest, main, sections_of
from tiny_llm_course.language import FURTHER

OTHER = "qps"
PAGES = {
    "en": "# Plain words\nOne.\n\n## More\nTwo.\n",
    OTHER: "% section plain-words\n# Ｐ\nＯ.\n\n% section more\n## Ｍ\nＴ.\n",  # noqa: RUF001
}


def test_a_section_goes_up_to_the_next_heading() -> None:
    text = "% x\n# A\nOne.\n```sh\n# no heading\n```\n## B `c`\nTwo.\n## B c\nThree.\n"

    assert sections(text) == {
        "a": "# A\nOne.\n```sh\n# no heading\n```",
        "b-c": "## B `c`\nTwo.",
        "b-c-2": "## B c\nThree.",
    }


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Write a book of one chapter in two languages."""
    for code, text in PAGES.items():
        (tmp_path / code).mkdir()
        (tmp_path / code / "page.md").write_text(text, encoding="utf-8")
    return tmp_path


def translation_of(book: Path) -> Translation:
    """Read both languages of a book."""
    folders = book / "en", book / OTHER
    return Translation(folders[1], *map(sections_of, folders))


def test_a_section_is_stale_until_it_is_marked(book: Path) -> None:
    assert translation_of(book).stale() == ["page#more", "page#plain-words"]

    translation_of(book).mark(["page#more"])

    assert translation_of(book).stale() == ["page#plain-words"]


def test_a_section_that_has_changed_in_english_is_stale(book: Path) -> None:
    translation_of(book).mark(["page#more", "page#plain-words"])
    page = book / "en" / "page.md"

    page.write_text(PAGES["en"].replace("Two", "Three"), encoding="utf-8")

    assert translation_of(book).stale() == ["page#more"]
    assert not translation_of(book).missing()


def test_a_section_without_a_translation_is_missing(book: Path) -> None:
    page = book / "en" / "page.md"

    page.write_text(f"{PAGES['en']}\n## New\nFour.\n", encoding="utf-8")

    assert translation_of(book).missing() == ["page#new"]
    assert not translation_of(book).left_over()


def test_a_digest_does_not_depend_on_where_lines_break() -> None:
    assert digest("one two\n") == digest("one\ntwo")
    assert digest("one two") != digest("one too")


@pytest.fixture
def catalogue(tmp_path: Path, languages: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the second language's own catalogue, which may be changed."""
    shutil.copytree(languages, tmp_path / "languages")
    monkeypatch.setenv(FURTHER, str(tmp_path / "languages"))
    return tmp_path / "languages" / OTHER


@pytest.mark.usefixtures("catalogue")
def test_a_translator_is_told_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    key = "grading.no_reason"

    assert main([]) == 0
    assert f"{OTHER}: stale: {key}\n" in capsys.readouterr().out
    assert main([OTHER, "--done", key]) == 0
    assert f"stale: {key}\n" not in capsys.readouterr().out
    assert main([OTHER, "--done", "all"]) == 0
    assert capsys.readouterr().out == (
        "2 languages besides English, and all is up to date\n"
    )
    assert main([OTHER, "--done", "grading.no_such"]) == 1
    assert capsys.readouterr().out.startswith("no such unit: grading.no_such\n")


def test_a_sentence_that_is_missing_fails(
    catalogue: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (catalogue / "watch.toml").write_text('no_such = "A."\n', encoding="utf-8")

    assert main([OTHER, "--done", "all"]) == 1

    said = capsys.readouterr().out
    assert "with another field" not in said
    assert f"{OTHER}: missing: watch." in said
    assert f"{OTHER}: without English: watch.no_such\n" in said


def test_a_sentence_that_cannot_be_filled_in_fails(
    catalogue: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grading = catalogue / "grading.toml"
    text = grading.read_text(encoding="utf-8")
    assert "{code}" in text
    grading.write_text(text.replace("{code}", "{coed}"), encoding="utf-8")

    assert main([OTHER]) == 1

    said = capsys.readouterr().out
    assert f"{OTHER}: with another field: grading.no_reason\n" in said
