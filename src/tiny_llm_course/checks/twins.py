"""What a translation has in common with its English, and how it is to be written.

Headings, blocks, formulas, data, links and questions of a chapter are those of its
twin; a sentence of the catalogue has the fields of its English. A language with a style
of its own, as in `chinese.py`, is read for that, too. For a translator:

    pdm run python -m tiny_llm_course.checks.twins zh week-1-day-1-attention
"""

import argparse
import functools
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

import yaml
from rich.cells import cell_len

from tiny_llm_course.book.markdown import Block, blocks, chapters
from tiny_llm_course.book.prose import FORMULA, marked_up, prose
from tiny_llm_course.book.sections import sections
from tiny_llm_course.catalogue import entry_of, sentences
from tiny_llm_course.checks import chinese, wording
from tiny_llm_course.checks.translations import FIELD, fields
from tiny_llm_course.checks.wording import OBJECT
from tiny_llm_course.language import CATALOGUE, ENGLISH, languages
from tiny_llm_course.places import BOOK
from tiny_llm_course.units import of_file, units

STYLES: Mapping[str, Callable[[str, bool], Iterator[str]]] = {"zh": chinese.complaints}
"""Languages whose sentences are read, by what finds fault with a text of theirs.

It is told whether the text is for a terminal, which has no style sheet.
"""

WIDTH = 88
"""Cells of a line in a text of several lines. One of a single line is folded."""

_TEXTS = {"{drawing}", "{interactive}", "{diagram}"}
"""Blocks with the words of a figure."""

_KEY = re.compile(r"(?:\"[^\"]*\"|'[^']*'|[^\s:\"'][^:]*):(?:\s|$)")
_LABELS = ("hint", "chapter", "again")
_WORDY = {"alt", "caption"}
"""Options that are sentences."""

_OUTER = {"{question}", "{mistake}", "{mistakes}", "{glossary}", "{toctree}"}
_LEVEL = re.compile(r"^(#+) ")
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_ROLE = re.compile(r"(?<!`)\{(?!term\b)([\w-]+)\}`([^`]+)`")
_ANY_ROLE = re.compile(r"(?<!`)\{[\w-]+\}`[^`]+`")
_WORDS = re.compile(r"\\(?:text|operatorname|mathrm)\{[^{}]*\}")
_SHARED = {
    "data": re.compile(r"<<[^<>\n]+>>"),
    "formulas of their own": re.compile(r"\$\$.+?\$\$(?: ?\([\w-]+\))?", re.DOTALL),
    "links": re.compile(r"\]\(([^)\s]+)\)|<(https?://[^>\s]+)>"),
    "cited numbers": re.compile(r"^% cited .*$", re.MULTILINE),
}
"""What a chapter has as often as its twin."""


def of_chapter(english: str, own: str, style: str) -> Iterator[str]:
    """Yield what a chapter has and its twin has not, and how it should be written.

    Args:
        english: The twin.
        own: The translation.
        style: Its language.
    """
    yield from _differ("headings", _headings(english), _headings(own))
    wordless = {
        one.argument
        for one in blocks(english)
        if one.kind in _TEXTS and not _keys(one.body)
    }
    yield from _differ("blocks", _shapes(english, wordless), _shapes(own, wordless))
    for what, pattern in _SHARED.items():
        ours, theirs = (_found(pattern, one) for one in (english, own))
        for one, number in (ours - theirs).items():
            yield f"{what}: {number} times missing: {one}"
        for one, number in (theirs - ours).items():
            yield f"{what}: {number} times too often: {one}"
    for what, kept in (("code", _code), ("roles", _roles), ("formulas", _formulas)):
        yield from _differ(what, sorted(kept(english)), sorted(kept(own)))
    yield from _of_code(english, own, style)
    if style in STYLES:
        text = _read_aloud(own)
        for number, line in enumerate(text.splitlines(), 1):
            for complaint in STYLES[style](line, False):
                yield f"line {number}: {complaint}"


def _of_code(english: str, own: str, style: str) -> Iterator[str]:
    """Yield what is English in blocks of code, and how to write its words."""
    worded = (
        [one for one in blocks(text) if one.kind in wording.WORDED]
        for text in (english, own)
    )
    for theirs, ours in zip(*worded, strict=False):
        for words in wording.untranslated(theirs, ours):
            yield f"line {ours.line}: English: {words}"
        for number, line in enumerate(wording.words(ours), ours.line):
            for complaint in STYLES[style](line, True) if style in STYLES else ():
                yield f"line {number}: {complaint}"


def _differ(
    what: str, english: Sequence[object], own: Sequence[object]
) -> Iterator[str]:
    """Yield where two lists part, and what only one of them has."""
    if list(english) == list(own):
        return
    missing, added = Counter(english) - Counter(own), Counter(own) - Counter(english)
    for one in missing:
        yield f"{what}: missing: {one}"
    for one in added:
        yield f"{what}: English has no: {one}"
    if not missing and not added:
        pairs = zip(english, own, strict=True)
        yield f"{what}: another order, from {next(a for a, b in pairs if a != b)} on"


def _headings(text: str) -> list[str]:
    """Return the anchors with the levels of their headings."""
    return [
        f"{level[0] if (level := _LEVEL.match(body)) else ''}{anchor}"
        for anchor, body in sections(text).items()
    ]


def _shapes(text: str, wordless: Container[str]) -> list[str]:
    """Return what blocks have in common in all languages.

    Args:
        text: Of a chapter.
        wordless: Figures whose words are a lab's, so that only translations have them.
    """
    return [_shape(one, wordless) for one in blocks(text)]


def _shape(block: Block, wordless: Container[str]) -> str:
    """Return what a block has in common with its twin: names, code, no words."""
    options = {key: value for key, value in block.options.items() if key not in _WORDY}
    if "columns" in options:
        options["columns"] = f"{options['columns'].count('|') + 1}"
    told = [block.kind, str(options) if options else ""]
    if block.kind in {"{mistake}", "{mistakes}"}:
        told.append(block.argument.partition(" ")[0])
    elif block.kind in _TEXTS:
        own = [] if block.argument in wordless else _keys(block.body)
        told += [block.argument, *own]
    elif block.kind == "{transcript}":
        told += [line for line in block.body if line.startswith("$ ")]
    elif block.kind in wording.WORDED:
        told += [block.argument, *wording.code(block)]
    elif block.kind not in _OUTER and block.kind.startswith("{"):
        told.append(block.argument)
    elif block.kind not in _OUTER:
        told += [block.argument, *block.body]
    return " ".join(filter(None, told))


def _keys(body: Sequence[str]) -> list[str]:
    """Return the names of the texts of a figure."""
    head = "\n".join(body).partition("\n---\n")[0]
    try:
        found = yaml.safe_load(head)
    except yaml.YAMLError as error:
        return [f"no YAML: {str(error).splitlines()[0]}"]
    return sorted(map(str, found)) if isinstance(found, dict) else []


def _found(pattern: re.Pattern[str], text: str) -> Counter[str]:
    """Count what a pattern finds, whatever its words are."""
    return Counter(
        " ".join(_WORDS.sub("", next(filter(None, one.groups()), one[0])).split())
        for one in pattern.finditer(text)
    )


def _code(text: str) -> set[str]:
    """Return the pieces of code in sentences, but for what reports say in a word."""
    plain = _ANY_ROLE.sub("", marked_up(text))
    found = {" ".join(one[2].split()) for one in _CODE.finditer(plain)}
    return found - _of_reports()


@functools.cache
def _of_reports() -> set[str]:
    """Return the words of a report that chapters quote: states, and first words."""
    found = set[str]()
    for one in languages():
        report = entry_of(one, "report") or {}
        found |= {*report.get("status", {}).values()}
        found |= {report.get(key, "").partition("{")[0].strip() for key in _LABELS}
    return found | {word.rstrip(":\uff1a") for word in found}


def _roles(text: str) -> set[str]:
    """Return what roles name, but for terms: these are translated."""
    return {
        f"{one[1]} {one[2].partition('<')[2] or one[2]}" for one in _ROLE.finditer(text)
    }


def _formulas(text: str) -> set[str]:
    """Return the formulas in sentences, without their words."""
    plain = _CODE.sub("", _ANY_ROLE.sub("", marked_up(text)))
    found = (one[0] for one in FORMULA.finditer(plain))
    return {"".join(_WORDS.sub("", one).split()) for one in found if one[:2] != "$$"}


def _read_aloud(text: str) -> str:
    """Return a chapter's sentences with their titles, marks in the place of code."""

    def aloud(written: str) -> str:
        return FORMULA.sub(
            lambda one: OBJECT + "\n" * one[0].count("\n"), prose(written, OBJECT)
        )

    lines = aloud(text).splitlines()
    for block in blocks(text):
        if block.kind in _TEXTS:
            for number, line in enumerate(block.body, block.line - 1):
                if key := _KEY.match(line):
                    lines[number] = aloud(line[key.end() :])
        if block.kind in {"{question}", "{mistake}"}:
            title = block.argument
            if block.kind == "{mistake}":
                title = title.partition(" ")[2]
            lines[block.line - len(block.options) - 2] = aloud(title)
    return "\n".join(lines)


def of_catalogue(
    english: Mapping[str, str], own: Mapping[str, str], style: str
) -> Iterator[str]:
    """Yield what is wrong with the sentences of a file of the catalogue, or its stubs.

    Args:
        english: The sentences, by key.
        own: Those of the translation.
        style: Its language.
    """
    yield from _differ("keys", list(english), list(own))
    for key in english.keys() & own.keys():
        theirs, ours = (fields(one[key]) for one in (english, own))
        if "stubs/" not in key and theirs != ours:
            yield f"{key}: fields {sorted(theirs)}, not {sorted(ours)}"
        lines = own[key].splitlines()
        for line in lines:
            if len(lines) > 1 and cell_len(FIELD.sub("{}", line)) > WIDTH:
                yield f"{key}: more than {WIDTH} cells: {line}"
            if style in STYLES and line not in english[key].splitlines():
                for complaint in STYLES[style](line, True):
                    yield f"{key}: {complaint}"


def complaints(language: str, names: Iterable[str] = ()) -> Iterator[str]:
    """Yield what is wrong with a translation, page by page and file by file.

    Args:
        language: Its language.
        names: Of chapters, or of files as in "catalogue/report.toml" and
            "stubs/basics.py.toml". None of them: whatever is there.
    """
    wanted = set(names)
    for chapter in chapters(BOOK / language):
        if not wanted or chapter.stem in wanted:
            english = (BOOK / ENGLISH / chapter.name).read_text(encoding="utf-8")
            own = chapter.read_text(encoding="utf-8")
            for one in of_chapter(english, own, language):
                yield f"{chapter.stem}: {one}"
    stubs = {key: text for key, text in units(ENGLISH).items() if "stubs/" in key}
    for path in sorted((CATALOGUE / language).rglob("*.toml")):
        is_stub = path.parent.name == "stubs"
        name = f"{'stubs' if is_stub else 'catalogue'}/{path.name}"
        if wanted and name not in wanted:
            continue
        try:
            own = of_file(path)
        except tomllib.TOMLDecodeError as error:
            yield f"{name}: {error}"
            continue
        if is_stub:
            own = {f"stubs/{key}": text for key, text in sentences(path).items()}
            english = {key: stubs[key] for key in own if key in stubs}
        else:
            english = of_file(CATALOGUE / ENGLISH / path.name)
        for one in of_catalogue(english, own, language):
            yield f"{name}: {one}"


def main(arguments: Sequence[str] | None = None) -> int:
    """List what is wrong with translations; return the exit code."""
    others = [one for one in languages() if one != ENGLISH]
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("language", nargs="?", help="all if left out")
    parser.add_argument("name", nargs="*", help="a chapter or a file; all if left out")
    given = parser.parse_args(arguments)
    found = [
        f"{language}: {one}"
        for language in ([given.language] if given.language else others)
        for one in complaints(language, given.name)
    ]
    print("\n".join(found) or f"{len(others)} translations are like their English")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
