"""What `reset`, `skip` and `update` are going to write, worked out before they do."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tiny_llm_course.editing import starter
from tiny_llm_course.editing.code import Code, Definition
from tiny_llm_course.editing.editing import put, without_leftovers
from tiny_llm_course.editing.lookup import (
    by_file,
    code_of,
    complaint,
    graded_names,
    language,
    read,
    reference_of,
    text_of,
)
from tiny_llm_course.editing.saving import Change
from tiny_llm_course.editing.stub_texts import with_words
from tiny_llm_course.editing.translation import (
    language_of,
    others,
    translated,
    translations,
)
from tiny_llm_course.extension.sources import sources
from tiny_llm_course.language import chosen
from tiny_llm_course.places import Checkout
from tiny_llm_course.syllabus import is_kernel

NEW = "new"
RENEWED = "renewed"
KEPT = "kept"
TRANSLATED = "translated"
GIVEN = "given"


@dataclass(frozen=True)
class FileUpdate:
    """What a new version of the course brings to one file.

    Attributes:
        path: The file.
        text: What it is going to hold. None if it goes.
        news: NEW, RENEWED, KEPT, GIVEN or TRANSLATED, and the name that this is said
            of, which is empty for a whole file.
        problem: One line that says why the file is left alone.
    """

    path: Path
    text: str | None = ""
    news: tuple[tuple[str, str], ...] = ()
    problem: str = ""


def plan(checkout: Checkout, parts: Iterable[str], *, to_stub: bool) -> list[Change]:
    """Replace some parts by their stubs, or by the reference's with what these need.

    Their docstrings are in the language of the learner's other files.

    Raises:
        CourseError: A file cannot be parsed, and not only because of these parts.
    """
    parts = list(parts)
    in_cpp = any(map(is_kernel, parts))
    hidden = starter.answer_files(checkout.reference_kernels) if in_cpp else frozenset()
    words = words_of(checkout)
    changes, brought = list[Change](), set[str]()
    for path, names in by_file(checkout, parts):
        parse = language(path).parse
        source = read(reference_of(checkout, path))
        reference = parse(with_words(source, path.name, words))
        stub = parse(starter.stub_of(path.name, reference.text, hidden))
        old = text_of(checkout, path)
        code = code_of(checkout, path, names)
        code = code if code.text else stub
        for name in names:
            others = graded_names(path) - {name}
            code = put(code, stub if to_stub else reference, name, others)
        code = without_leftovers(code, reference, stub)
        if code.text != old:
            changes.append(Change(path, code.text))
        brought |= {one for one in hidden if f'"{one}"' in code.text}
    for name in sorted(hidden if brought else ()):
        if not (checkout.kernels / name).exists():
            text = read(checkout.reference_kernels / name)
            changes.append(Change(checkout.kernels / name, text))
    return changes


def words_of(checkout: Checkout) -> dict[str, str]:
    """Return what the learner's files say in their language, by what others say."""
    if not others():
        return {}
    english = starter.files(checkout)
    return translations(english, language_of(english))


def plan_update(checkout: Checkout) -> Iterator[FileUpdate]:
    """Bring new files, new names, and the new stubs of what is not started yet.

    They come in the language that is chosen, or else in that of the learner's files. If
    it is another one, what the course has said in these files is said in it.
    What the course has for all takes no room among the learner's files any more.
    """
    for shared in sources(checkout.shared_kernels):
        path = checkout.kernels / shared.relative_to(checkout.shared_kernels)
        if path.exists():
            yield FileUpdate(path, None, ((GIVEN, ""),))
    english = starter.files(checkout)
    language_wanted = chosen() or language_of(english)
    words = translations(english, language_wanted) if others() else {}
    for path, stub in translated(english, language_wanted).items():
        if not path.exists():
            yield FileUpdate(path, stub, ((NEW, ""),))
            continue
        try:
            yield _update(path, stub, words)
        except SyntaxError as error:
            yield FileUpdate(path, problem=complaint(checkout, path, error))


def _update(path: Path, stub: str, words: Mapping[str, str]) -> FileUpdate:
    """Bring what is new in the stub into one file."""
    parse, graded, before = language(path).parse, graded_names(path), read(path)
    text = with_words(before, path.name, words)
    code, giver, news = parse(text), parse(stub), list[tuple[str, str]]()
    if text != before:
        news.append((TRANSLATED, ""))
    given = (one.names for one in giver.definitions if not one.is_import)
    for name in dict.fromkeys(name for names in given for name in names):
        what = _news(code, giver, name, is_graded=name in graded)
        if what:
            news.append((what, name))
        if what in {NEW, RENEWED}:
            code = put(code, giver, name, graded - {name})
    return FileUpdate(path, code.text, tuple(news))


def _news(
    code: Code[Definition], giver: Code[Definition], name: str, *, is_graded: bool
) -> str:
    """Say what a name of the stub is to the learner's file, "" for no news."""
    theirs, ours = code.named(name), giver.named(name)
    if name not in code.names:
        return NEW
    if is_graded:
        is_old = [one.text for one in theirs] != [one.text for one in ours]
        is_stub = bool(theirs) and all(one.is_stub for one in theirs)
        return RENEWED if is_old and is_stub else ""
    is_same = [one.meaning for one in theirs] == [one.meaning for one in ours]
    return "" if is_same else KEPT
