"""What kernels in Metal cost is printed beside what ours cost."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import mlx.core as mx
import pytest

from tiny_llm_course.commands import test as command
from tiny_llm_course.grading.report.standing import DONE, WRONG, TaskReport
from tiny_llm_course.kernel_costs import gpu_times, table
from tiny_llm_course.kernel_costs.calls import CALLS
from tiny_llm_course.kernel_costs.counted import counted, rows_of
from tiny_llm_course.metal.kernel import metal_kernel
from tiny_llm_course.solution import load_solution
from tiny_llm_course.specimens import UNCHANGED
from tiny_llm_course.speed import timing
from tiny_llm_course.syllabus import Address, Task

SILU = """
import mlx.core as mx

SOURCE = '''
const uint t = thread_position_in_grid.x;
const uint i = {index};
const float g = float(gate[i]);
y[i] = half(g / (1.0f + exp(-g)) * float(up[i]));
'''


def silu_times_up(gate, up):
    kernel = mx.fast.metal_kernel(
        name="silu_times_up",
        input_names=["gate", "up"],
        output_names=["y"],
        source=SOURCE,
    )
    return kernel(
        inputs=[gate, up],
        output_shapes=[gate.shape],
        output_dtypes=[gate.dtype],
        grid=(gate.size, 1, 1),
        threadgroup=(64, 1, 1),
    )[0]
"""
NEIGHBOURS, FAR_APART = "t", "t % 14 * 64 + t / 14"
TASK = Task(Address(2, 1, 1), "a-chapter", ("metal_elementwise.silu_times_up",))


def folder(path: Path, index: str) -> Path:
    """Write a solution that has one kernel."""
    path.mkdir()
    text = SILU.replace("{index}", index)
    (path / "metal_elementwise.py").write_text(text, encoding="utf-8")
    (path / "basics.py").touch()  # a file of a day that the course has
    return path


@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = folder(tmp_path / "ours", NEIGHBOURS)
    monkeypatch.setattr(table, "REFERENCE", found)
    return found


@pytest.mark.usefixtures("ours")
def test_yours_stands_above_ours(tmp_path: Path) -> None:
    """The lanes of yours are 128 bytes apart: 14 lines, not one."""
    lines = table.costs([TASK], folder(tmp_path / "yours", FAR_APART))

    assert lines[1:4] == [
        "                      read  written  lines  conflicts  barriers  flops",
        "silu_times_up  yours     4        2     14          0         0      4",
        "               ours      4        2      1          0         0      4",
    ]


@pytest.mark.usefixtures("ours")
def test_what_costs_the_same_is_one_line(tmp_path: Path) -> None:
    lines = table.costs([TASK], folder(tmp_path / "yours", NEIGHBOURS))

    assert lines[2].split() == ["silu_times_up", "both", "4", "2", "1", "0", "0", "4"]
    assert len(lines) == 4


def test_ours_alone_is_called_so(ours: Path) -> None:
    assert table.costs([TASK], ours)[2].split()[1] == "ours"


@pytest.mark.usefixtures("ours")
@pytest.mark.parametrize("index", ["t + 1", "x", "t"])
def test_a_kernel_that_does_not_run_has_no_costs(tmp_path: Path, index: str) -> None:
    """The report has said why."""
    yours = folder(tmp_path / "yours", index)

    assert bool(table.costs([TASK], yours)) == (index == "t")


def test_days_without_kernels_in_metal_start_no_process(tmp_path: Path) -> None:
    task = Task(Address(1, 4, 2), "a-chapter", ("basics.silu",))

    assert table.costs([task], tmp_path / "nowhere") == []


@pytest.mark.parametrize(("status", "is_told"), [(DONE, True), (WRONG, False)])
def test_only_what_is_done_is_counted(
    status: str, is_told: bool, ours: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = cast("TaskReport", SimpleNamespace(task=TASK, status=status))

    command.tell_costs([report], str(ours))

    assert ("silu_times_up" in capsys.readouterr().out) == is_told


@pytest.mark.parametrize("symbol", CALLS)
def test_each_call_has_arguments_that_can_be_read(symbol: str) -> None:
    for make in (CALLS[symbol].small, CALLS[symbol].large):
        arrays = [one for one in make(UNCHANGED) if isinstance(one, mx.array)]

        assert arrays
        assert all(one.dtype == mx.float16 for one in arrays)


def test_all_kernels_of_a_call_count(ours: Path) -> None:
    silu = load_solution(str(ours)).get("metal_elementwise.silu_times_up")
    x = mx.ones(64, mx.float16)

    with counted() as found:
        silu(silu(x, x), x)

    assert len(found.costs) == 2
    assert found.row() == {
        "read": 8.0,
        "written": 4.0,
        "lines": 1.0,
        "conflicts": 0,
        "barriers": 0,
        "flops": 8.0,
    }


@pytest.mark.parametrize("symbol", CALLS)
def test_what_is_timed_beside_a_kernel_does_the_same(
    symbol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mx.fast, "metal_kernel", metal_kernel)
    given = CALLS[symbol].small(UNCHANGED)

    ours, of_mlx = UNCHANGED.get(symbol)(*given), CALLS[symbol].of_mlx(*given)

    for one, other in zip(results(ours), results(of_mlx), strict=True):
        assert one.shape == other.shape
        size = mx.linalg.norm(other.astype(mx.float32))
        off = mx.linalg.norm(one.astype(mx.float32) - other)  # MLX may add in float16
        assert (off < 0.01 * size).item()


def results(found: mx.array | Sequence[mx.array]) -> Sequence[mx.array]:
    """Return the arrays of one that may be alone."""
    return [found] if isinstance(found, mx.array) else found


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the simulator stand in for MLX's call of a GPU."""
    small = {one: replace(call, large=call.small) for one, call in CALLS.items()}
    monkeypatch.setattr(gpu_times, "CALLS", small)
    monkeypatch.setattr(timing, "ROUNDS", 1)
    monkeypatch.setattr(gpu_times, "has_gpu", lambda: True)
    monkeypatch.setattr(mx, "gpu", mx.cpu)
    monkeypatch.setattr(mx.fast, "metal_kernel", metal_kernel)


@pytest.mark.usefixtures("gpu")
def test_on_a_gpu_both_and_the_one_of_mlx_are_timed(tmp_path: Path, ours: Path) -> None:
    yours = folder(tmp_path / "yours", FAR_APART)
    solutions = [load_solution(str(one)) for one in (yours, ours)]

    rows = rows_of(TASK.symbols[0], solutions)

    assert all(row and row["time"] > 0 for row in rows)
    assert [row and set(row) > {"time"} for row in rows] == [True, True, False]


@pytest.mark.usefixtures("gpu")
def test_the_device_is_only_lent_to_the_times(
    ours: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is counted next would otherwise be a kernel in CUDA, where there is one."""
    chosen: list[object] = []
    monkeypatch.setattr(mx, "gpu", "the GPU")
    monkeypatch.setattr(mx, "set_default_device", chosen.append)

    gpu_times.times(TASK.symbols[0], [load_solution(str(ours))])

    assert chosen == ["the GPU", mx.default_device()]


@pytest.mark.usefixtures("gpu")
def test_a_kernel_that_fails_on_the_gpu_alone_has_no_time(
    ours: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("Metal does not compile this")

    monkeypatch.setattr(mx.fast, "metal_kernel", refuse)

    counts, of_mlx = rows_of(TASK.symbols[0], [load_solution(str(ours))])

    assert counts is not None
    assert "time" not in counts
    assert of_mlx is not None
    assert of_mlx["time"] > 0


@pytest.mark.usefixtures("ours")
def test_times_have_a_column_where_there_are_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = dict.fromkeys(table.COLUMNS, 1.0)
    found = {TASK.symbols[0]: [{**counts, "time": 21.5}, counts, {"time": 140.2}]}
    monkeypatch.setattr(table, "_counted", lambda *_: found)

    lines = table.costs([TASK], tmp_path)

    assert [line.split() for line in lines[1:5]] == [
        ["read", "written", "lines", "conflicts", "barriers", "flops", "time"],
        ["silu_times_up", "yours", *"111111", "21.5"],
        ["ours", *"111111"],
        ["MLX", "140"],
    ]
    assert any("microseconds" in line for line in lines[5:])
