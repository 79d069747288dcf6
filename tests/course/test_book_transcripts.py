"""What the check of the book runs again, and its complaint if that fails."""

from pathlib import Path

import pytest

from tiny_llm_course.book import checking, checkouts, transcripts, typed_commands
from tiny_llm_course.book.facts import counts
from tiny_llm_course.book.markdown import blocks
from tiny_llm_course.editing.lookup import is_untouched
from tiny_llm_course.errors import CourseError
from tiny_llm_course.syllabus import tasks

CHAPTER = "week-1-day-4-rmsnorm-and-mlp"
NOTHING_DONE = f"0 of {counts()['num_tasks']} tasks are done."


def complaints(text: str, folder: Path) -> list[str]:
    chapter = folder / f"{CHAPTER}.md"
    chapter.write_text(text, encoding="utf-8")
    return list(transcripts.verify(chapter))


def shown(solution: str, output: str, command: str = "test --week 1 --day 4") -> str:
    head = f"```{{transcript}}\n:solution: {solution}\n$ pdm run {command}\n"
    return f"{head}{output}\n```\n"


@pytest.mark.parametrize(
    ("solution", "first"),
    [
        ("starter", "not started"),
        ("reference", "done         ... tests pass"),
        ("eps-outside-the-root", "wrong        ... tests pass"),
    ],
)
def test_a_transcript_that_is_true_passes(
    solution: str, first: str, tmp_path: Path
) -> None:
    task = "test --week 1 --day 4 --task 1"
    output = f"week 1, day 4: ...\n  task 1  RMSNorm  {first}\n..."

    assert complaints(shown(solution, output, task), tmp_path) == []


def test_a_transcript_that_is_not_true_is_shown_beside_the_truth(
    tmp_path: Path,
) -> None:
    (complaint,) = complaints(shown("starter", "All done", "next"), tmp_path)

    assert complaint.startswith(
        f"{CHAPTER}.md:3: $ pdm run next\nexpected:\nAll done\n"
    )
    assert f"got:\n{NOTHING_DONE}" in complaint


def test_a_transcript_is_brought_up_to_date(tmp_path: Path) -> None:
    chapter = tmp_path / f"{CHAPTER}.md"
    chapter.write_text(f"Before.\n\n{shown('starter', 'Done.', 'next')}\nAfter.\n")

    assert transcripts.update(chapter)
    text = chapter.read_text(encoding="utf-8")
    assert text.startswith(
        "Before.\n\n```{transcript}\n:solution: starter\n$ pdm run n"
    )
    assert f"{NOTHING_DONE}\n" in text
    assert text.endswith("\n```\n\nAfter.\n")
    assert not transcripts.update(chapter)


def test_a_mistake_of_another_day_is_named_with_its_chapter(tmp_path: Path) -> None:
    mistake = "week-1-day-1-attention#scores-not-scaled"

    checkout = checkouts.lay_out(tmp_path, CHAPTER, mistake)

    text = (checkout.starter / "attention.py").read_text(encoding="utf-8")
    name = "scaled_dot_product_attention_simple"
    assert f"{name} = mistake('week_1_day_1', 'scores_not_scaled')\n" in text


def test_at_the_end_of_a_day_later_tasks_are_not_begun(tmp_path: Path) -> None:
    """Nor are optional ones, which a learner may have left out."""
    checkout = checkouts.lay_out(tmp_path, CHAPTER, "so-far")

    begun = [
        str(task.address)
        for task in tasks()
        if not all(is_untouched(checkout, part) for part in task.parts)
    ]
    assert begun == [
        str(task.address)
        for task in tasks()
        if task.address.week == 1 and task.address.day <= 4 and not task.optional
    ]


MISTAKE = ":solution: expected starter, reference, so-far or a known mistake, got "
COMMAND = "expected `pdm run` and a command of the course, got "


@pytest.mark.parametrize(
    ("solution", "command", "complaint"),
    [
        ("eps-in-the-soup", "pdm run next", f"{MISTAKE}'eps-in-the-soup'"),
        ("day-9#scores-not-scaled", "pdm run next", f"{MISTAKE}'day-9#scores-not-sc"),
        ("", "pdm run next", f"{MISTAKE}''"),
        ("starter", "pdm run tset", f"{COMMAND}'pdm run tset'"),
        ("starter", "pdm run", f"{COMMAND}'pdm run'"),
        ("starter", "ls", f"{COMMAND}'ls'"),
        ("starter", "pdm run 'test", f'{COMMAND}"pdm run \'test"'),
    ],
)
def test_what_cannot_be_run_is_a_complaint_like_others(
    solution: str, command: str, complaint: str, tmp_path: Path
) -> None:
    """It is not a stack trace, and other chapters are still checked."""
    text = f"```{{transcript}}\n:solution: {solution}\n$ {command}\n...\n```\n"

    (found,) = complaints(text, tmp_path)

    assert found.startswith(f"{CHAPTER}.md:3: {complaint}")


def test_only_a_day_has_an_end(tmp_path: Path) -> None:
    with pytest.raises(checkouts.CannotRun, match=r"a page with tasks, got preface$"):
        checkouts.lay_out(tmp_path, "preface", "so-far")


def test_what_cannot_be_run_cannot_be_brought_up_to_date(tmp_path: Path) -> None:
    chapter = tmp_path / f"{CHAPTER}.md"
    text = shown("eps-in-the-soup", "...")
    chapter.write_text(text)

    with pytest.raises(CourseError, match=rf"^{CHAPTER}\.md:3: {MISTAKE}"):
        transcripts.update(chapter)

    assert chapter.read_text() == text


def test_examples_share_their_names_and_are_compared(tmp_path: Path) -> None:
    text = "```pycon\n>>> x = 2\n```\n\nThen:\n\n```pycon\n>>> x + 1\n{}\n```\n"

    assert complaints(text.format(3), tmp_path) == []
    (complaint,) = complaints(text.format(4), tmp_path)
    assert "line 8, in" in complaint
    assert "Expected:\n    4\nGot:\n    3\n" in complaint


def test_examples_see_the_reference_as_the_learners_package(tmp_path: Path) -> None:
    text = (
        "```pycon\n>>> import mlx.core as mx\n>>> from tiny_llm.basics import silu\n"
        ">>> silu(mx.array(0.0)).item()\n0.0\n```\n"
    )

    assert complaints(text, tmp_path) == []


@pytest.mark.parametrize(
    ("expected", "got", "same"),
    [
        ("a\nb", "a\nb", True),
        ("a\nb", "a\nc", False),
        ("a ... c", "a big c", True),
        ("a\n...\nd", "a\nb\nc\nd", True),
        ("a\n...", "a", True),
        ("a", "a\nb", False),
        ("1.5", "175", False),
    ],
)
def test_dots_stand_for_anything(expected: str, got: str, *, same: bool) -> None:
    assert transcripts.matches(expected, got) is same


@pytest.mark.parametrize(
    ("line", "refusal"),
    [
        ("pdm run test --week 1 --day 4 --task 1", None),
        ("pdm run main --help", None),
        ("pdm run tset", "there is no command tset"),
        ("pdm run hint --weak 1", "--weak"),
        ("pdm run hint --week", "requires an argument"),
        ("pdm run skip ...", "unexpected extra argument"),
        ('pdm run main --prompt "What', "quotation mark closed"),
        ("pdm run # the model", "expected a command"),
    ],
)
def test_a_command_that_would_be_refused_is_found(
    line: str, refusal: str | None
) -> None:
    found = typed_commands.refusal(line)

    assert found is None if refusal is None else refusal in (found or "")


@pytest.mark.parametrize("shown", ["`{}`", "{}", "   {}", "$ {}", "   $ {}"])
def test_a_command_is_found_however_it_is_shown(shown: str, tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text(f"Type:\n\n{shown.format('pdm run tset')}\n")

    assert list(typed_commands.verify(page)) == [
        "README.md:3: pdm run tset: there is no command tset"
    ]


def test_the_check_reads_what_stands_beside_the_book(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "README.md"
    page.write_text("`pdm run skip ...`\n")
    monkeypatch.setattr(checking.building, "complaints", list)
    monkeypatch.setattr(checking, "chapters_by_language", lambda: {"en": []})
    monkeypatch.setattr(typed_commands, "PAGES", [page])

    (complaint,) = checking.complaints()

    assert complaint.startswith("README.md:1: pdm run skip ...: Got unexpected")


def test_blocks_inside_a_fence_of_colons_are_found() -> None:
    text = ":::{question} Why?\n```pycon\n>>> 1\n1\n```\n:::\n"

    outer, inner = blocks(text)

    assert (outer.kind, outer.argument) == ("{question}", "Why?")
    assert (inner.kind, inner.body, inner.line) == ("pycon", (">>> 1", "1"), 3)
