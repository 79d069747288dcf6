"""What the model says at the end of a day, when the day's code is changed in one place.

It is what a learner hears from `pdm run main --try` after the same change: the parts
that are written by then are the learner's, and the rest is ours.
"""

import contextlib
import functools
import io
import shutil
import tempfile
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

import mlx.core as mx

from tiny_llm_course import checkpoint as checkpoints
from tiny_llm_course.book.checkouts import solved_by
from tiny_llm_course.checkpoint import LoadedCheckpoint
from tiny_llm_course.inference.blame import SolutionError
from tiny_llm_course.inference.engine import Settings, combine, without_torch
from tiny_llm_course.inference.mixture import Mixture
from tiny_llm_course.inference.reply import reply
from tiny_llm_course.places import REFERENCE
from tiny_llm_course.records.replacing import Replacement, replaced

STORY = "Tell me a story about a fox in the forest."
"""What `pdm run main` asks for by default."""

GREEDY = Settings(temp=0, max_tokens=20)
"""`--temp 0 --max-tokens 20`: the same words each time, and few."""

NOTHING = "—"
"""What stands for an answer without a visible character."""


@dataclass(frozen=True)
class Change:
    """One place of our solution, and what a learner writes there instead.

    Attributes:
        file: Its name, without `.py`.
        old: What stands there, once.
        new: What takes its place.
    """

    file: str
    old: str
    new: str


def heard(
    page: str,
    changes: Mapping[str, Change],
    settings: Settings = GREEDY,
    prompt: str = STORY,
) -> dict[str, str]:
    """Return what the model answers after each change, and as "right" without any.

    Args:
        page: The chapter of the day.
        changes: One place each, by name.
        settings: The options of `pdm run main`.
        prompt: What it is asked.

    Returns:
        Each answer on a line, as it stands in a cell of a table in Markdown.
    """
    answers: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for path in REFERENCE.glob("*.py"):
            shutil.copy(path, folder)
        for name, change in {"right": None, **changes}.items():
            with _changed(page, Path(folder), change):
                answers[name] = _answer(page, Path(folder), settings, prompt)
    return answers


def _answer(page: str, folder: Path, settings: Settings, prompt: str) -> str:
    """Return one answer, up to its end or to an error in the loop.

    Args:
        page: The chapter of the day.
        folder: The files of a learner, as they are at its end.
        settings: The options of `pdm run main`.
        prompt: What the model is asked.
    """
    loaded, said = _checkpoint(), io.StringIO()
    text = loaded.chat_prompt([{"role": "user", "content": prompt}])
    yours = [part for task in solved_by(page) for part in task.parts]
    solution = Mixture(folder, "tiny_llm_heard", yours)
    with contextlib.redirect_stdout(said):
        engine = combine(solution, loaded, settings)
        with contextlib.suppress(SolutionError):
            reply(engine, text)
    return " ".join(said.getvalue().split()).replace("|", r"\|") or NOTHING


@contextlib.contextmanager
def _changed(page: str, folder: Path, change: Change | None) -> Generator[None]:
    """Let a copy of our solution have a change inside the `with` block."""
    if change is None:
        yield
        return
    path = folder / f"{change.file}.py"
    text = path.read_text(encoding="utf-8")
    old_and_new = [Replacement(change.old, change.new)]
    path.write_text(replaced(page, text, old_and_new), encoding="utf-8")
    yield
    path.write_text(text, encoding="utf-8")


@functools.cache
def _checkpoint() -> LoadedCheckpoint:
    """Load the embedded model for runs that convert its weights, in float32."""
    with without_torch():
        loaded = checkpoints.load()
    loaded.model.set_dtype(mx.float32)
    return loaded
