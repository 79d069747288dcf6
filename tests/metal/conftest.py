"""Runs bodies of kernels for the tests of the language, and counts the corpus."""

from collections import Counter, defaultdict
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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print which faults of the corpus were found, if it was run.

    A kernel counts as found if it was in every order of its threads.
    """
    found: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            said = dict(report.user_properties)
            if "fault" in said:
                kernels = found[said["fault"]]
                passed = outcome == "passed"
                kernels[said["kernel"]] = kernels.get(said["kernel"], True) and passed
    if not found:
        return
    terminalreporter.section("the corpus of kernels")
    terminalreporter.line(f"{'fault':30}{'kernels':>9}{'right':>7}{'wrong':>7}")
    for fault, kernels in sorted(found.items()):
        counts = Counter(kernels.values())
        numbers = f"{len(kernels):>9}{counts[True]:>7}{counts[False]:>7}"
        terminalreporter.line(f"{fault:30}{numbers}")
