"""Directives for the chapters of the days: tasks, mistakes and questions.

    {task} N              the file, the stub and the commands of a task of this day
    {mistakes}            known mistakes of one kind, folded; see `mistakes.py`
    {mistake} NAME Title  one of them
    {question} Why ...?   a question with its answer folded away

A day whose chapter lacks a task or a known mistake, or has fewer than three questions,
fails the build.
"""

from collections.abc import Iterable
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
from tiny_llm_course.syllabus import Day, Task, is_kernel, tasks_of, weeks

NUM_QUESTIONS = 3

_log = logging.getLogger(__name__)


def day_of(chapter: str) -> Day | None:
    """Return the day that a chapter belongs to. None for other chapters."""
    days = [day for week in weeks() for day in week.days]
    return next((day for day in days if day.chapter == chapter), None)


class TaskDirective(SphinxDirective):
    """Say where a task is written, what its stub looks like and how it is graded."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Make the block from the syllabus and the stub."""
        day = day_of(self.env.docname)
        number = self.arguments[0]
        found = (
            [one for one in day.tasks if str(one.address.task) == number] if day else []
        )
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
        day = day_of(name)
        if day:
            for complaint in complaints(day, env.get_doctree(name)):
                _log.warning("%s", complaint, location=name, type="teaching")


def complaints(day: Day, chapter: nodes.document) -> Iterable[str]:
    """Yield what the chapter of a day lacks, or has but should not."""
    tasks = {f"task-{task.address.task}" for task in day.tasks}
    known, explained = set(anchors(day.tasks)), anchors_in(chapter)
    for missing in sorted(tasks - set(_ids(chapter, "task"))):
        yield f"expected a {{task}} for {missing}"
    for missing in sorted(known - set(explained)):
        yield f"no {{mistakes}} explain {missing}"
    for unknown in sorted(set(explained) - known):
        yield f"there is no known mistake {unknown} in the tasks of this day"
    for twice in sorted({one for one in explained if explained.count(one) > 1}):
        yield f"the mistake {twice} is explained twice"
    num_questions = len(_blocks(chapter, "container_classes", "question"))
    if num_questions < NUM_QUESTIONS:
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
