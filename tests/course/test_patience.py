"""The diagnosis of a kernel in Metal may take long, but not for ever."""

import time
from pathlib import Path

import mlx.core as mx
import pytest

from tiny_llm_course.grading.engine.patience import keeping_alive
from tiny_llm_course.metal import cache, compiling
from tiny_llm_course.metal.ahead import NotRunError, noting

SOURCE = "out[thread_position_in_grid.x] = 2 * x[thread_position_in_grid.x];"


def age_s(path: Path) -> float:
    return time.time() - path.stat().st_mtime


def test_a_file_is_kept_young_while_a_diagnosis_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "results"
    path.touch()

    with keeping_alive(path, each_s=0.05):
        time.sleep(1)
        assert age_s(path) < 0.5

    time.sleep(0.6)
    assert age_s(path) > 0.5


def test_a_diagnosis_that_never_ends_is_not_kept_alive(tmp_path: Path) -> None:
    path = tmp_path / "results"
    path.touch()

    with keeping_alive(path, each_s=0.05, longest_s=0.1):
        time.sleep(1)

        assert age_s(path) > 0.5


def call(source: str) -> None:
    kernel = mx.fast.metal_kernel("doubled", ["x"], ["out"], source)
    kernel(  # pyright: ignore[reportCallIssue] - noted, and not MLX's
        inputs=[mx.ones(32)],
        output_shapes=[(32,)],
        output_dtypes=[mx.float32],
        grid=(32, 1, 1),
        threadgroup=(32, 1, 1),
    )


def test_noted_kernels_are_compiled_before_they_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of them is no Metal, which is said to whoever runs it."""
    monkeypatch.setattr(cache, "CACHE", tmp_path / "metal")
    with noting() as notes:
        for source in (SOURCE, SOURCE, SOURCE.replace("2", "3"), "nothing at all"):
            with pytest.raises(NotRunError):
                call(source)

    notes.compile()

    are_there = [compiling.known_library(one.text) for one in notes.kernels]
    assert [one is not None for one in are_there] == [True, True, True, False]
    assert are_there[0] == are_there[1] != are_there[2]


def test_what_notes_kernels_is_gone_afterwards() -> None:
    usual = mx.fast.metal_kernel

    with noting():
        assert mx.fast.metal_kernel is not usual

    assert mx.fast.metal_kernel is usual
