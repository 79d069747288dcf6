"""Answers of the oracle are cached, and never returned for another question."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest

from tiny_llm_course.grading.judgement.inputs import normal
from tiny_llm_course.grading.scenarios.architecture import Architecture
from tiny_llm_course.grading.scenarios.parts import Norm
from tiny_llm_course.oracle import basics, cached

X = normal(2, 3)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Use an empty folder as cache."""
    monkeypatch.setattr(cached, "CACHE", tmp_path / "truths")
    cached._folder.cache_clear()
    yield tmp_path / "truths"
    cached._folder.cache_clear()


def kept_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def never() -> object:
    raise AssertionError("the oracle is asked again")


def test_an_answer_is_that_of_the_oracle_the_second_time_too(folder: Path) -> None:
    expected = basics.silu(X)

    answers = [cached.basics.silu(X) for _ in range(2)]

    for answer in answers:
        assert np.array_equal(answer.value, expected.value)
        assert np.array_equal(answer.scale, expected.scale)
    assert len(kept_files(folder)) == 1


def test_the_oracle_is_asked_once() -> None:
    first = cached._answer(("a question", X), lambda: "answer")

    assert cached._answer(("a question", X), never) == first == "answer"


@pytest.mark.parametrize(
    "other",
    [
        X + 1e-7,
        X.astype(mx.float16),
        X.reshape(3, 2),
        [X],
        (X, None),
        {"x": X},
        np.array(X),
        Norm(X),
        Norm(X, 1e-5),
        Architecture(),
        slice(0, 3),
        None,
        "X",
        mx.float32,
    ],
    ids=str,
)
def test_another_question_has_another_answer(other: object) -> None:
    cached._answer((X,), lambda: "answer")

    assert cached._answer((other,), lambda: "another") == "another"


def test_a_question_that_cannot_be_told_from_others_is_refused() -> None:
    with pytest.raises(TypeError, match="asked about a function"):
        cached._answer((never,), never)


@pytest.mark.parametrize("content", [b"", b"no answer", b"\x80\x05"])
def test_a_damaged_answer_is_asked_for_again(folder: Path, content: bytes) -> None:
    cached._answer((X,), lambda: "answer")
    (file,) = kept_files(folder)
    file.write_bytes(content)

    assert cached._answer((X,), lambda: "again") == "again"
    assert cached._answer((X,), never) == "again"


def test_answers_of_an_older_oracle_go(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached._answer((X,), lambda: "old")
    cached._folder.cache_clear()
    monkeypatch.setattr(cached, "LIBRARIES", (*cached.LIBRARIES, "pytest"))

    assert cached._answer((X,), lambda: "new") == "new"
    assert len(kept_files(folder)) == 1


def test_a_module_that_the_oracle_lacks_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no module 'nothing'"):
        _ = cached.nothing


def test_what_has_been_answered_needs_no_pytorch(tmp_path: Path) -> None:
    """The first process imports PyTorch, the second does not."""
    code = (
        "import sys, mlx.core as mx, pathlib; "
        "from tiny_llm_course.oracle import cached; "
        f"cached.CACHE = pathlib.Path({str(tmp_path)!r}); "
        "cached.basics.silu(mx.ones(3)); print('torch' in sys.modules)"
    )

    ran = [subprocess.check_output([sys.executable, "-c", code]) for _ in range(2)]

    assert [one.strip() for one in ran] == [b"True", b"False"]
