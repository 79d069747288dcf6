"""Which known mistake explains a wrong output."""

from collections.abc import Iterator
from typing import Any

import mlx.core as mx
import numpy as np

from tiny_llm_course.grading.call import Call
from tiny_llm_course.grading.closeness import Truth, is_close
from tiny_llm_course.misconceptions.registry import Misconception, of_task
from tiny_llm_course.syllabus import Address


def matching(
    task: Address, call: Call, got: mx.array, truth: Truth
) -> Iterator[Misconception]:
    """Go through the misconceptions of a task that answer `call` with `got`.

    Two outputs are the same by the closeness that tells them from the truth.

    Args:
        task: Whose misconceptions to try.
        call: What was answered wrongly.
        got: The wrong answer.
        truth: The right one.
    """
    for one in of_task(task):
        output = _answer(one, call)
        if not isinstance(output, mx.array) or output.dtype != got.dtype:
            continue
        as_truth = Truth(_exact(output), _scale(truth, output))
        if got.shape == output.shape and is_close(got, as_truth):
            yield one


def _answer(one: Misconception, call: Call) -> Any:  # noqa: ANN401 - whatever it returns
    """Run a misconception on the input of `call`. It may fail on it."""
    try:
        output = call.run(one.as_solution())
        if isinstance(output, mx.array):
            mx.eval(output)
    except Exception:  # noqa: BLE001 - a wrong solution may raise anything
        return None
    return output


def _exact(output: mx.array) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return an array in float64, which numpy has for every dtype of MLX."""
    return np.array(output.astype(mx.float32), dtype=np.float64)


def _scale(truth: Truth, output: mx.array) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the scale of the truth, or of the output if that has another shape."""
    if truth.value.shape == output.shape:
        return truth.scale
    return np.abs(_exact(output)).max(initial=0.0, keepdims=True)
