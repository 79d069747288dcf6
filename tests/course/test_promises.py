"""A graded test holds each promise of a docstring or header, as listed."""

from collections.abc import Callable

import pytest

from tiny_llm_course.checks import promises

SILU, ITS_DTYPE = "basics.silu", "Shape and dtype are"


@pytest.fixture
def amiss_when(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Return a function that changes an entry of `silu`, and returns the problems."""

    def change(beginning: str, held_by: list[str] | str | None) -> list[str]:
        entries = promises.held_by()
        entries[SILU].pop(beginning, None)
        if held_by is not None:
            entries[SILU][beginning] = held_by
        monkeypatch.setattr(promises, "held_by", lambda: entries)
        return list(promises.problems())

    return change


def test_every_promise_is_held_by_a_test_of_its_task() -> None:
    assert list(promises.problems()) == []


def test_the_table_is_up_to_date() -> None:
    """`python -m tiny_llm_course.checks.promises` updates it."""
    assert promises.TABLE.read_text(encoding="utf-8") == promises.table()


def test_a_docstring_is_taken_apart() -> None:
    """Sentences, formulas, arguments, shapes and defaults, but not `Raises`."""
    found = promises.promises("layer_norm.RMSNorm")

    assert "`y = x / sqrt(mean(x * x over D) + eps) * weight`" in found
    assert "The result has the dtype of `x`." in found
    assert "weight: Learned gain, one per channel. 1.0 is the identity." in found
    assert "Default: eps = 1e-05" in found
    assert "Shapes: x `*N D` -> `*N D`" in found
    assert not any("ValueError" in promise for promise in found)


def test_so_are_the_comments_of_a_header() -> None:
    """That of the file is for all of its kernels."""
    kernel = promises.promises("int8.h:quantize_activations")

    assert "A group of zeros has the scale 0." in kernel
    assert "x must be finite." in promises.promises("int8.h")
    names = promises.public_names()
    assert names.index("int8.h") == names.index("int8.h:quantize_activations") - 1


@pytest.mark.parametrize(
    ("beginning", "held_by", "problem"),
    [
        (ITS_DTYPE, None, "no single entry holds 'Shape and dtype are those of `x`.'"),
        ("It is fast", "praise", "promises nothing that begins with 'It is fast'"),
        (
            ITS_DTYPE,
            ["week_1_day_4::task_2_x"],
            "there is no test week_1_day_4::task_2_x",
        ),
        (
            ITS_DTYPE,
            ["week_1_day_4::task_1_agrees_with_torch"],
            "week_1_day_4::task_1_agrees_with_torch has nothing to do with it",
        ),
    ],
)
def test_what_is_amiss_is_told(
    amiss_when: Callable[..., list[str]],
    beginning: str,
    held_by: list[str] | str | None,
    problem: str,
) -> None:
    assert amiss_when(beginning, held_by) == [f"{SILU}: {problem}"]
