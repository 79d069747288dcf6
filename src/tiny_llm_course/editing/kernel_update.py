"""What `update` is going to write in C++, worked out before it does."""

from collections.abc import Iterator
from pathlib import Path

from tiny_llm_course.editing.cpp import CppSource, is_stub, meaning
from tiny_llm_course.editing.cpp_editing import put
from tiny_llm_course.editing.kernels import graded_names, not_cpp
from tiny_llm_course.editing.plans import GIVEN, KEPT, NEW, RENEWED, FileUpdate
from tiny_llm_course.editing.starter import generate_kernels
from tiny_llm_course.extension.sources import sources
from tiny_llm_course.places import Checkout


def plan_kernel_update(checkout: Checkout) -> Iterator[FileUpdate]:
    """Bring new files, new functions, and the new stubs of what is not started yet.

    What the course has for all takes no room among the learner's files any more.
    """
    for shared in sources(checkout.shared_kernels):
        path = checkout.kernels / shared.relative_to(checkout.shared_kernels)
        if path.exists():
            yield FileUpdate(path, None, ((GIVEN, ""),))
    for name, stub in generate_kernels(checkout.reference_kernels).items():
        path = checkout.kernels / name
        if not path.exists():
            yield FileUpdate(path, stub, ((NEW, ""),))
            continue
        try:
            text = path.read_bytes().decode("utf-8")
            yield _update(path, text, stub)
        except UnicodeDecodeError as error:
            problem = not_cpp(checkout, path, SyntaxError(str(error)))
            yield FileUpdate(path, problem=problem)
        except SyntaxError as error:
            yield FileUpdate(path, problem=not_cpp(checkout, path, error))


def _update(path: Path, text: str, stub: str) -> FileUpdate:
    """Bring what is new in the stub into one file."""
    news: list[tuple[str, str]] = []
    giver, graded = CppSource.parse(stub), graded_names(path)
    for name in dict.fromkeys(one.name for one in giver.functions):
        what = _news(CppSource.parse(text), giver, name, is_graded=name in graded)
        if what:
            news.append((what, name))
        if what in {NEW, RENEWED}:
            text = put(text, stub, name)
    return FileUpdate(path, text, tuple(news))


def _news(target: CppSource, giver: CppSource, name: str, *, is_graded: bool) -> str:
    """Say what a function of the stub is to the learner's file, "" for no news."""
    theirs = [target.text_of(one) for one in target.named(name)]
    ours = [giver.text_of(one) for one in giver.named(name)]
    if not theirs:
        return NEW
    if is_graded:
        is_old = theirs != ours and is_stub(target, target.named(name))
        return RENEWED if is_old else ""
    return "" if list(map(meaning, theirs)) == list(map(meaning, ours)) else KEPT
