"""Kernels in Metal while a solution is graded: faults are shown in its own lines."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from tiny_llm_course.grading.engine import plugin
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.underway import Underway
from tiny_llm_course.grading.judgement.verdict import BrokenError, RaisedEvidence
from tiny_llm_course.metal.graded import KernelFaultError
from tiny_llm_course.solution import load_solution

RACING = '''"""A kernel."""

import mlx.core as mx

_TURNED = """
threadgroup float part[64];
const uint own = thread_index_in_threadgroup;
part[own] = x[own];
out[own] = part[63 - own];
"""


def row_sum_tree(x):
    """Turn an array."""
    kernel = mx.fast.metal_kernel(
        name="turned", input_names=["x"], output_names=["out"], source=_TURNED
    )
    (out,) = kernel(
        inputs=[x],
        output_shapes=[x.shape],
        output_dtypes=[x.dtype],
        grid=(64, 1, 1),
        threadgroup=(64, 1, 1),
    )
    return out
'''
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);\n"
RIGHT = RACING.replace("out[own] =", f"{BARRIER}out[own] =")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], mx.array]:
    """Return what calls the kernel of a solution with this text, as a test does."""
    monkeypatch.setattr(mx.fast, "metal_kernel", plugin._metal_kernel)

    def call(text: str) -> mx.array:
        (tmp_path / "metal_elementwise.py").write_text(text, encoding="utf-8")
        x = mx.arange(64, dtype=mx.float32)
        one = Call("metal_elementwise.row_sum_tree", (x,))
        return Grader(load_solution(str(tmp_path)), Underway(None)).run(one)

    return call


def test_a_race_is_shown_in_the_lines_of_the_solution(
    run: Callable[[str], mx.array],
) -> None:
    with pytest.raises(BrokenError) as error:
        run(RACING)

    said = " ".join(str(error.value).split())
    assert "A data race: thread" in said
    assert "part[" in said
    assert "Line 5 is metal_elementwise.py:9: `out[own] = part[63 - own];`" in said
    assert "Line 4 is metal_elementwise.py:8: `part[own] = x[own];`" in said


def test_a_right_kernel_gives_its_output(run: Callable[[str], mx.array]) -> None:
    assert run(RIGHT).tolist() == list(range(63, -1, -1))


def test_what_is_no_metal_is_shown_in_its_line(run: Callable[[str], mx.array]) -> None:
    with pytest.raises(BrokenError) as error:
        run(RIGHT.replace("const uint own =", "const uinnt own ="))

    assert "metal_elementwise.py:7: `const uinnt own" in str(error.value)


@pytest.mark.parametrize(
    ("start", "place"),
    [
        ("", "Line 6 is metal_elementwise.py:9: `out[own] = part[63 - own];`"),
        ("out[own] = part[63 - own];\n", "Line 6 of the kernel is `out[own]"),
    ],
)
def test_a_text_of_several_has_the_lines_that_stand_once_in_the_file(
    run: Callable[[str], mx.array], start: str, place: str
) -> None:
    """The first of these kernels has one such line, and the second has two."""
    own = 'source="\\n" + _TURNED'
    spare = f'\nSPARE = """\n{start}"""\n' if start else ""

    with pytest.raises(BrokenError) as error:
        run(RACING.replace("source=_TURNED", own) + spare)

    assert "A data race" in str(error.value)
    assert place in " ".join(str(error.value).split())


def test_a_kernel_that_is_not_compiled_is_told_apart(
    run: Callable[[str], mx.array],
) -> None:
    """The compiler has said what is wrong with it: no known mistake is compared."""
    kinds: list[str] = []
    for text in (RACING, RIGHT.replace("const uint own =", "const uinnt own =")):
        with pytest.raises(BrokenError) as error:
            run(text)
        evidence = error.value.evidence
        assert isinstance(evidence, RaisedEvidence)
        kinds.append(evidence.kind)

    assert kinds == ["KernelFaultError", "KernelNotCompiledError"]


def test_where_there_is_a_gpu_it_runs_the_kernel_as_well(
    run: Callable[[str], mx.array], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is replaced is MLX's own call, which cannot run here."""
    calls: list[tuple[str, str, tuple[int, int, int]]] = []

    def of_mlx(
        name: str, _: object, __: object, source: str
    ) -> Callable[..., list[mx.array]]:
        def kernel(*, grid: tuple[int, int, int], **_: Any) -> list[mx.array]:  # noqa: ANN401
            calls.append((name, source, grid))
            return [mx.zeros((64,))]

        return kernel

    monkeypatch.setattr(plugin, "METAL_KERNEL", of_mlx)
    monkeypatch.setattr(mx.metal, "is_available", lambda: True)
    monkeypatch.setattr(mx, "gpu", mx.cpu)

    output = run(RIGHT)

    assert calls == [("turned", RIGHT.split('"""')[3], (64, 1, 1))]
    assert output.tolist() == [0.0] * 64


def test_a_test_for_the_cpu_starts_nothing_on_the_gpu(
    run: Callable[[str], mx.array], monkeypatch: pytest.MonkeyPatch
) -> None:
    """MLX refuses to run a kernel in Metal there."""

    def of_mlx(*_: Any) -> Callable[..., list[mx.array]]:  # noqa: ANN401
        def kernel(**_: Any) -> list[mx.array]:  # noqa: ANN401
            raise ValueError("Only supports the GPU.")

        return kernel

    monkeypatch.setattr(plugin, "METAL_KERNEL", of_mlx)
    monkeypatch.setattr(mx.metal, "is_available", lambda: True)

    assert run(RIGHT).tolist() == list(range(63, -1, -1))


def test_the_kernel_of_mlx_is_kept_before_another_takes_its_place() -> None:
    """In a process of its own: a grader that calls itself would never end."""
    code = """if True:
        import mlx.core as mx
        mx.metal.is_available = lambda: True
        mx.fast.metal_kernel = of_mlx = lambda *_, **__: None
        from tiny_llm_course.grading.engine import plugin
        mx.fast.metal_kernel = plugin._metal_kernel
        kernel = mx.fast.metal_kernel("a", ["x"], ["out"], "out[0] = x[0];")
        print(plugin.METAL_KERNEL is of_mlx, kernel.on_gpu)
    """

    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )

    assert ran.stdout == "True None\n", ran.stderr


def test_a_source_in_cuda_is_run_by_mlx(
    run: Callable[[str], mx.array], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On an NVIDIA GPU, for a kernel that has one. There is no simulator of CUDA."""
    made: list[str] = []

    def of_mlx(*, source: str, **_: object) -> Callable[..., list[mx.array]]:
        made.append(source)
        return lambda **given: [given["inputs"][0] + 1]

    monkeypatch.setattr(mx.cuda, "is_available", lambda: True)
    monkeypatch.setattr(mx.fast, "cuda_kernel", of_mlx)
    of_both = """(
        mx.fast.cuda_kernel if mx.cuda.is_available() else mx.fast.metal_kernel)"""

    output = run(RIGHT.replace("mx.fast.metal_kernel", of_both))

    assert made == [RIGHT.split('"""')[3]]
    assert output.tolist() == list(range(1, 65))


def test_a_fault_keeps_the_gpu_from_running_the_kernel(
    run: Callable[[str], mx.array], monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_mlx(*_: Any) -> Callable[..., list[mx.array]]:  # noqa: ANN401
        def kernel(**_: Any) -> list[mx.array]:  # noqa: ANN401
            raise AssertionError("this kernel may hang a GPU")

        return kernel

    monkeypatch.setattr(plugin, "METAL_KERNEL", of_mlx)
    monkeypatch.setattr(mx.metal, "is_available", lambda: True)
    monkeypatch.setattr(mx, "gpu", mx.cpu)

    with pytest.raises(BrokenError, match="A data race"):
        run(RACING)


def test_a_mistake_is_the_same_whatever_its_lines_and_arrays_are_called(
    run: Callable[[str], mx.array],
) -> None:
    found: list[RaisedEvidence] = []
    for text in (RACING, RACING.replace("part", "sums").replace("_TURNED", "_OTHER")):
        with pytest.raises(BrokenError) as error:
            run(text)
        assert isinstance(error.value.evidence, RaisedEvidence)
        found.append(error.value.evidence)

    assert found[0].kind == KernelFaultError.__name__
    assert found[0].matches(found[1])
