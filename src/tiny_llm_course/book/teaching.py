"""Directives for the chapters of the days: tasks, mistakes and questions.

    {task} N              the file, the stub and the commands of a task of this page
    {mistakes}            known mistakes of one kind, folded; see `mistakes.py`
    {mistake} NAME Title  one of them
    {question} Why ...?   a question with its answer folded away

A page that lacks one of its tasks or known mistakes fails the build, and so does the
chapter of a day with fewer than three questions.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx_design.dropdown import DropdownDirective

from tiny_llm_course.book.mistakes import (
    MistakeDirective,
    MistakesDirective,
    anchors,
    anchors_in,
)
from tiny_llm_course.book.sources import listing, source_of
from tiny_llm_course.catalogue import say
from tiny_llm_course.syllabus import Task, is_kernel, tasks, tasks_of

NUM_QUESTIONS = 3

_log = logging.getLogger(__name__)


def tasks_on(page: str) -> list[Task]:
    """Return the tasks that a page of the book explains."""
    return [task for task in tasks() if task.chapter == page]


class TaskDirective(SphinxDirective):
    """Say where a task is written, what its stub looks like and how it is graded."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Make the block from the syllabus and the stub."""
        number = self.arguments[0]
        here = tasks_on(self.env.docname)
        found = [one for one in here if str(one.address.task) == number]
        if not found:
            _log.warning(
                "there is no task %s here", number, location=self.get_location()
            )
            return []
        parsed = self.parse_text_to_nodes(_described(found[0]))
        return [nodes.container("", *parsed, classes=["task"], ids=[f"task-{number}"])]


def _described(task: Task) -> str:
    """Describe a task in Markdown."""
    files = dict.fromkeys(map(source_of, task.parts))
    new = [part for part in task.parts if tasks_of(part)[0] == task]
    in_cpp = [part for part in new if is_kernel(part)]
    in_python = [part for part in new if not is_kernel(part)]
    blocks = {"cpp": "\n\n", "python": "\n\n\n"}
    stubs = {"cpp": in_cpp, "python": in_python}
    parts = [
        say(
            "book.task.files",
            files=", ".join(f"{{source}}`{file}`" for file in files),
            tests=f"{{source}}`tests/{task.test_file}`",
        ),
        *(
            f"```{language}\n{between.join(map(listing, stubs[language]))}\n```"
            for language, between in blocks.items()
            if stubs[language]
        ),
        *([] if new else [say("book.task.same_stub")]),
        f"```sh\n{task.test_command}\n{task.hint_command}\n```",
    ]
    return "\n\n".join(parts)


class QuestionDirective(DropdownDirective):
    """Ask something; the answer opens with a click."""

    def run_with_defaults(self) -> list[nodes.Node]:
        """Make a dropdown, marked so that the check can find it."""
        self.options["class-container"] = ["question"]
        return super().run_with_defaults()


def _check_chapters(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn about the tasks, mistakes and questions that a chapter lacks."""
    del app
    for name in env.found_docs:
        if explained := tasks_on(name):
            for complaint in complaints(explained, env.get_doctree(name)):
                _log.warning("%s", complaint, location=name, type="teaching")


def complaints(asked: Sequence[Task], chapter: nodes.document) -> Iterable[str]:
    """Yield what the page of some tasks lacks, or has but should not."""
    names = {f"task-{task.address.task}" for task in asked}
    known, explained = set(anchors(asked)), anchors_in(chapter)
    for missing in sorted(names - set(_ids(chapter, "task"))):
        yield f"expected a {{task}} for {missing}"
    for missing in sorted(known - set(explained)):
        yield f"no {{mistakes}} explain {missing}"
    for unknown in sorted(set(explained) - known):
        yield f"there is no known mistake {unknown} in the tasks of this page"
    for twice in sorted({one for one in explained if explained.count(one) > 1}):
        yield f"the mistake {twice} is explained twice"
    num_questions = len(_blocks(chapter, "container_classes", "question"))
    if num_questions < NUM_QUESTIONS and not all(task.optional for task in asked):
        yield f"expected {NUM_QUESTIONS} {{question}}, got {num_questions}"


def _ids(chapter: nodes.document, kind: str) -> list[str]:
    """Return the anchors of all blocks of one kind."""
    return [one for block in _blocks(chapter, "classes", kind) for one in block["ids"]]


def _blocks(chapter: nodes.document, attribute: str, name: str) -> list[nodes.Element]:
    """Return the parts of a chapter that have `name` in an attribute."""
    found = chapter.findall(nodes.Element)
    return [one for one in found if name in (one.attributes.get(attribute) or ())]


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directives and the check."""
    app.add_directive("task", TaskDirective)
    app.add_directive("mistakes", MistakesDirective)
    app.add_directive("mistake", MistakeDirective)
    app.add_directive("question", QuestionDirective)
    app.connect("env-check-consistency", _check_chapters)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
