"""Runs bodies of kernels for the tests of the language."""

from collections.abc import Callable, Sequence

import mlx.core as mx
import pytest

from tiny_llm_course.metal.kernel import metal_kernel

RunBody = Callable[..., list[mx.array]]


@pytest.fixture
def run_body() -> RunBody:
    """Run a body in so many threads. Its outputs are `out`, `out1`, `out2` ..."""

    def run(
        source: str,
        inputs: dict[str, mx.array],
        outputs: Sequence[tuple[tuple[int, ...], mx.Dtype]],
        threads: int = 32,
        header: str = "",
    ) -> list[mx.array]:
        names = ["out", *(f"out{number}" for number in range(1, len(outputs)))]
        kernel = metal_kernel("body", list(inputs), names, source, header)
        result = kernel.run(
            inputs=list(inputs.values()),
            output_shapes=[shape for shape, _ in outputs],
            output_dtypes=[dtype for _, dtype in outputs],
            grid=(threads, 1, 1),
            threadgroup=(min(threads, 256), 1, 1),
            seeds=(0,),
            limit_s=60,
        )
        assert result.faults == ()
        assert result.outputs is not None
        return result.outputs

    return run
