"""Tasks in C++ are found, skipped, reset, compared and updated like those in Python."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result as Ran

from tiny_llm_course import progress, syllabus
from tiny_llm_course.editing import fingerprints
from tiny_llm_course.editing.saving import write_whole
from tiny_llm_course.editing.starter import changes
from tiny_llm_course.places import Checkout
from tiny_llm_course.syllabus import Address, Day, Task, Week, weeks
from tiny_llm_course.watching import changed_tasks, read_texts

REFERENCE = """\
/// Sums and products.
#pragma once

#include "kernels/answer.h"

namespace tiny_llm {

namespace detail {
inline int helper(int n) { return n; }
}  // namespace detail

/// Add.
inline int add(int a, int b) { return detail::helper(a) + b; }

/// Subtract.
inline int subtract(int a, int b) { return a - b; }

/// Multiply.
inline int multiply(int a, int b) {
  return a * b;
}

}  // namespace tiny_llm
"""
ANSWER = "#pragma once\nnamespace tiny_llm::detail {\nint far();\n}\n"
STUB = 'todo("week 9, day 1, task {}");'
OWN = "return a + b;  // mine"
LINES = {"add": 9, "subtract": 14, "multiply": 19}
"""The positions of the functions in the stub."""

TASKS = (
    Task(
        Address(9, 1, 1),
        "a-chapter",
        (),
        kernels=("sums.h:add", "sums.h:subtract"),
    ),
    Task(
        Address(9, 1, 2),
        "a-chapter",
        (),
        builds_on=(Address(9, 1, 1),),
        kernels=("sums.h:multiply",),
    ),
)
SUMS, PRODUCTS = TASKS


@pytest.fixture
def file(
    checkout: Checkout,
    monkeypatch: pytest.MonkeyPatch,
    entitle: Callable[..., None],
) -> Path:
    """Add a day of C++ to the course and its files to the checkout."""
    names = {"week_9": "Kernels", "week_9_day_1": "Sums"}
    tasks = {"week_9_day_1_task_1": "Sums", "week_9_day_1_task_2": "Products"}
    entitle(**names, **tasks)
    day = Day(9, 1, "a-chapter", TASKS)
    course = (*weeks(), Week(9, (day,)))
    monkeypatch.setattr(syllabus, "weeks", lambda: course)
    folder = checkout.reference_kernels / "kernels"
    (folder / "sums.h").write_text(REFERENCE)
    (folder / "answer.h").write_text(ANSWER)
    for change in changes(checkout):
        change.path.write_text(change.text)
    return checkout.kernels / "kernels" / "sums.h"


@pytest.mark.parametrize("text", ["int given();\n", '#include "kernels/answer.h"\n'])
def test_a_file_with_nothing_to_write_is_an_answer(
    file: Path, checkout: Checkout, text: str
) -> None:
    """Files that are given to all are in the shared folder, whoever includes them."""
    (checkout.reference_kernels / "kernels" / "other.h").write_text(text)

    assert changes(checkout) == []
    assert not file.with_name("other.h").exists()


Run = Callable[[str], Ran]
HERE = "--week 9 --day 1 --task"
PLACE = "src/extensions/kernels/sums.h"


def copies(checkout: Checkout) -> list[str]:
    """Return the texts of all backup copies."""
    return [one.read_text() for one in checkout.copies.rglob("*.h")]


def with_own(file: Path) -> str:
    """Write one of the functions as a learner would."""
    text = file.read_text().replace(STUB.format(1), OWN, 1)
    file.write_text(text)
    return text


def test_a_stub_has_no_answers_and_nothing_of_them(file: Path) -> None:
    text = file.read_text()

    assert text.count(STUB.format(1)) == 2
    assert text.count(STUB.format(2)) == 1
    assert "detail" not in text
    assert "answer.h" not in text
    assert not file.with_name("answer.h").exists()
    lines = text.splitlines()
    assert all(f" {name}(" in lines[line - 1] for name, line in LINES.items())


def test_next_shows_files_and_lines(file: Path, pdm_run: Run) -> None:
    del file

    said = pdm_run(f"next {HERE} 1").stdout

    assert "Next: week 9, day 1, task 1: Sums (not started)" in said
    assert f"  write  {PLACE}:{LINES['add']}  add\n" in said
    assert f"  write  {PLACE}:{LINES['subtract']}  subtract\n" in said


def test_a_task_is_started_when_a_stub_is_gone(file: Path, checkout: Checkout) -> None:
    statuses = [progress.status(checkout, progress.Progress(), SUMS)]
    with_own(file)
    statuses.append(progress.status(checkout, progress.Progress(), SUMS))

    assert statuses == ["not started", "changed"]


def test_skip_puts_in_the_answer_with_its_helpers(
    file: Path, checkout: Checkout, pdm_run: Run
) -> None:
    mine = with_own(file)

    ran = pdm_run(f"skip {HERE} 1")

    text = file.read_text()
    assert ran.exit_code == 0
    assert f"{PLACE}:14  add is the course's now\n" in ran.stdout
    assert "return detail::helper(a) + b;" in text
    assert "inline int helper(int n)" in text
    assert STUB.format(2) in text
    assert file.with_name("answer.h").read_text() == ANSWER
    assert copies(checkout) == [mine]
    assert progress.statuses(checkout, progress.load(checkout)[0])[SUMS] == "skipped"


def test_reset_puts_back_the_stub_and_keeps_a_copy(
    file: Path, checkout: Checkout, pdm_run: Run
) -> None:
    stub = file.read_text()
    mine = with_own(file)

    ran = pdm_run(f"reset {HERE} 1")

    assert file.read_text() == stub
    assert ran.stdout.startswith(f"{PLACE}:{LINES['add']}  add is a stub again\n")
    assert copies(checkout) == [mine]


def test_reset_after_skip_leaves_no_helpers(file: Path, pdm_run: Run) -> None:
    stub = file.read_text()

    pdm_run(f"skip {HERE} 1")
    pdm_run(f"reset {HERE} 1")

    assert file.read_text().replace('#include "kernels/answer.h"\n', "") == stub


def test_reset_of_one_task_leaves_the_others_alone(file: Path, pdm_run: Run) -> None:
    mine = with_own(file)

    pdm_run(f"reset {HERE} 2")

    assert file.read_text() == mine


def test_reset_mends_a_function_without_its_brace(file: Path, pdm_run: Run) -> None:
    stub = file.read_text()
    file.write_text(stub.replace(STUB.format(2), "if (a) { return b;"))

    ran = pdm_run(f"reset {HERE} 2")

    assert ran.exit_code == 0
    assert file.read_text() == stub


def test_a_broken_file_is_one_line_with_its_place(file: Path, pdm_run: Run) -> None:
    file.write_text(file.read_text().replace(STUB.format(2), "if (a) { return b;"))

    ran = pdm_run(f"reset {HERE} 1")

    assert ran.exit_code == 2
    assert ran.stderr.startswith(f"reset: {PLACE}:")
    assert "is not C++ ('{' has no counterpart); fix it first" in ran.stderr


def test_solution_is_a_diff(file: Path, pdm_run: Run) -> None:
    with_own(file)

    said = pdm_run(f"solution {HERE} 1 --spoil").stdout

    assert said.startswith(
        f"--- {PLACE} (yours)\n+++ src/extensions_ref/kernels/sums.h"
    )
    assert f"-  {OWN}\n" in said
    assert "+inline int helper(int n) { return n; }\n" in said


def test_update_brings_what_is_new_and_keeps_what_was_written(
    file: Path, checkout: Checkout, pdm_run: Run
) -> None:
    with_own(file)
    reference = checkout.reference_kernels / "kernels" / "sums.h"
    new = REFERENCE.replace("/// Multiply.", "/// Multiply two.")
    end = "}  // namespace tiny_llm\n"
    reference.write_text(new.replace(end, f"inline int one() {{ return 1; }}\n\n{end}"))
    (file.parent / "int8.h").unlink()

    ran = pdm_run("update")

    text = file.read_text()
    assert ran.exit_code == 0
    assert "src/extensions/kernels/int8.h  new file\n" in ran.stdout
    assert f"{PLACE}:{LINES['multiply']}  multiply: the stub is updated" in ran.stdout
    assert f"{PLACE}:23  one is new" in ran.stdout
    assert OWN in text
    assert "/// Multiply two." in text
    assert (
        pdm_run("update").stdout == "src/tiny_llm and src/extensions are up to date.\n"
    )


def test_update_takes_out_what_is_shared_now_and_keeps_it_as_a_copy(
    file: Path, checkout: Checkout, pdm_run: Run
) -> None:
    """Earlier versions of the course gave these files to each learner."""
    own = file.with_name("own.h")
    own.write_text("int own();\n")
    for name in ("kernels/numbers.h", "glue/op.cpp"):
        given = checkout.kernels / name
        given.parent.mkdir(exist_ok=True)
        given.write_text(f"int mine;  // in {name}\n")

    ran = pdm_run("update")

    now = "is in src/extensions_shared now; your version is among the copies\n"
    assert ran.exit_code == 0
    assert ran.stdout.startswith(
        f"src/extensions/glue/op.cpp  {now}src/extensions/kernels/numbers.h  {now}"
    )
    assert "copies/" in ran.stdout
    assert {path.name: path.read_text() for path in checkout.copies.glob("*/*")} == {
        "numbers.h": "int mine;  // in kernels/numbers.h\n",
        "op.cpp": "int mine;  // in glue/op.cpp\n",
    }
    assert [path.name for path in checkout.kernels.iterdir()] == ["kernels"]
    assert own.exists()
    assert (
        pdm_run("update").stdout == "src/tiny_llm and src/extensions are up to date.\n"
    )


@pytest.mark.parametrize(
    ("old", "new", "changes_sums", "changes_products"),
    [
        ("/// Add.", "/// Add up.", False, False),
        (STUB.format(2), "return 6;", False, True),
        (STUB.format(2), "return add(a, b);", False, True),
        ("#pragma once", "#pragma once\nint own();", True, True),
    ],
)
def test_a_verdict_depends_on_the_code_behind_a_kernel(
    file: Path,
    checkout: Checkout,
    old: str,
    new: str,
    changes_sums: bool,
    changes_products: bool,
) -> None:
    texts = [read_texts(checkout.starter)]
    before = [fingerprints.of_verdict(checkout, task) for task in TASKS]
    file.write_text(file.read_text().replace(old, new))
    after = [fingerprints.of_verdict(checkout, task) for task in TASKS]
    texts.append(read_texts(checkout.starter))

    differs = [one != other for one, other in zip(before, after, strict=True)]
    assert differs == [changes_sums, changes_products]
    changed = changed_tasks(*texts)
    assert [task in changed for task in TASKS] == differs


def test_what_a_kernel_includes_is_behind_it(file: Path, checkout: Checkout) -> None:
    include = '#include "kernels/numbers.h"\n'
    file.write_text(file.read_text().replace("#include", f"{include}#include", 1))
    before = fingerprints.of_verdict(checkout, PRODUCTS)

    given = checkout.shared_kernels / "kernels" / "numbers.h"
    write_whole(given, f"{given.read_text()}int more;\n")

    assert fingerprints.of_verdict(checkout, PRODUCTS) != before


def test_what_a_kernel_calls_is_behind_it(file: Path, checkout: Checkout) -> None:
    file.write_text(file.read_text().replace(STUB.format(2), "return add(a, b);"))
    before = fingerprints.of_verdict(checkout, PRODUCTS)

    with_own(file)

    assert fingerprints.of_verdict(checkout, PRODUCTS) != before
