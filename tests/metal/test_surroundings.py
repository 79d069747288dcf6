"""What is wrong around a kernel is said clearly, and nothing is left behind."""

import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

import tiny_llm_course.metal
from tiny_llm_course.errors import CourseError
from tiny_llm_course.metal import cache, compiler, headers, process
from tiny_llm_course.metal.arguments import Kind
from tiny_llm_course.metal.kernel import MOST_IN_GRID, Result, metal_kernel
from tiny_llm_course.metal.process import Buffer, Job
from tiny_llm_course.metal.program import simulator
from tiny_llm_course.metal.refusing import library_of
from tiny_llm_course.metal.signature import Definition, assemble

READ_BY_LIBCLANG = ("dialect", "parsing", "tree_rules")


def run(
    source: str,
    threads: int = 32,
    *,
    grid: tuple[int, int, int] | None = None,
    size: int = 64,
    limit_s: float = 2.0,
) -> Result:
    kernel = metal_kernel("around", ["x"], ["out"], source)
    return kernel.run(
        inputs=[mx.zeros(64)],
        output_shapes=[(size,)],
        output_dtypes=[mx.float32],
        grid=grid or (threads, 1, 1),
        threadgroup=(32, 1, 1),
        init_value=0,
        limit_s=limit_s,
    )


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the cache be empty, in a folder whose name has a space."""
    folder = tmp_path / "a folder" / "metal"
    monkeypatch.setattr(cache, "CACHE", folder)
    return folder


ENDLESS = {
    "nothing": "while (true) {\n}",
    "a calculation": "float y = x[0];\nwhile (y < 1)\ny = y * 0.5f;\nout[0] = y;",
    "reads": "while (x[thread_position_in_grid.x] == 0)\n;",
    "reads of one's own": (
        "float own[4] = {x[0], x[1], x[2], x[3]};\nuint i = 0;\n"
        "while (own[i] == 0) i = (i + 1) % 4;\nout[0] = own[i];"
    ),
    "a SIMD function": "float y = 0;\nwhile (y < 1)\ny = simd_sum(x[0] + y);",
    "another": "uint y = 0;\nwhile (y < 33)\ny = simd_max(y);",
    "a barrier": "while (x[0] == 0)\nthreadgroup_barrier(mem_flags::mem_none);",
    "a barrier of the SIMD group": (
        "uint i = 0;\nwhile (i < 1)\nsimdgroup_barrier(mem_flags::mem_none);"
    ),
}


@pytest.mark.parametrize("source", ENDLESS.values(), ids=ENDLESS)
def test_an_endless_loop_is_named_with_its_line(source: str) -> None:
    loop = next(n for n, text in enumerate(source.splitlines()) if "while" in text) + 1

    fault = run(source, limit_s=0.3).faults[0]

    assert fault.kind == "endless"
    assert fault.line in {loop, loop + 1}


def test_long_calculations_of_many_threads_are_not_endless() -> None:
    """None takes a millisecond, all take seconds, and each stores one number."""
    source = """
        float y = float(thread_position_in_grid.x);
        for (int i = 0; i < 250'000; ++i) y = y * 0.5f + 1.0f;
        out[thread_position_in_grid.x] = y;
    """

    result = run(source, threads=640, size=640, limit_s=60)

    assert result.faults == ()


CRASHES = {
    "division": "int zero = int(x[0]);\nout[thread_position_in_grid.x] = 7 / zero;",
    "remainder": "int zero = int(x[0]);\nout[thread_position_in_grid.x] = 7 % zero;",
}


@pytest.mark.parametrize("source", CRASHES.values(), ids=CRASHES)
def test_a_crash_is_named_with_its_line(source: str) -> None:
    fault = run(source).faults[0]

    assert (fault.kind, fault.line) == ("crash", 2)


def test_too_much_private_memory_is_named() -> None:
    """No line is: a thread takes all that it needs when it begins."""
    source = """
        uint n = thread_position_in_grid.x;
        float own[200000]; own[n] = 1; out[n] = own[n + uint(x[0])];
    """

    fault = run(source).faults[0]

    assert fault.kind == "crash"
    assert "more private memory than there is" in fault.sentence


def test_a_grid_that_nobody_waits_for_is_refused() -> None:
    with pytest.raises(ValueError, match=f"at most {MOST_IN_GRID} threads"):
        run("out[0] = 1;", grid=(2**20, 2**20, 1))


def test_a_grid_that_takes_too_long_is_ended() -> None:
    source = "if (x[0] == 1)\nout[0] = 1;"

    fault = run(source, grid=(2**31, 1, 1), limit_s=0.5).faults[0]

    assert (fault.kind, fault.line) == ("endless", 1)


def test_arrays_that_do_not_fit_are_said() -> None:
    kernel = assemble(
        Definition("around", ["x"], ["out"], "out[0] = 1;"),
        [Kind(mx.float32, 1, 64)],
        [mx.float32],
    )
    large = Buffer("out", "device", True, 4, 2**43, None)
    one = (1, 1, 1)
    job = Job(library_of(kernel), one, one, [large], (0,), 2.0, False, False)

    with pytest.raises(CourseError, match="do not fit into memory"):
        process.run(job)


def test_a_missing_compiler_is_said(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler, "COMPILER", None)
    asks = compiler.version.__wrapped__  # not what it has said before
    monkeypatch.setattr(compiler, "version", asks)
    monkeypatch.setattr(headers, "version", asks)

    with pytest.raises(CourseError, match=r"no C\+\+ compiler"):
        headers.language(())
    assert not empty_cache.exists()


def test_a_missing_libclang_is_said(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in READ_BY_LIBCLANG:
        monkeypatch.delitem(sys.modules, f"tiny_llm_course.metal.{name}", raising=False)
        monkeypatch.delattr(tiny_llm_course.metal, name, raising=False)
    monkeypatch.setitem(sys.modules, "clang", None)
    monkeypatch.setitem(sys.modules, "clang.cindex", None)

    with pytest.raises(CourseError, match="libclang is missing"):
        run("out[0] = 2;")
    assert not empty_cache.exists()


def test_a_cache_that_cannot_be_written_is_said(empty_cache: Path) -> None:
    empty_cache.parent.mkdir()
    empty_cache.write_text("a file, so no folder")

    with pytest.raises(CourseError, match="expected a folder that can be written"):
        run("out[0] = 3;")


def test_a_path_may_have_a_space_and_nothing_else_is_left_there(
    monkeypatch: pytest.MonkeyPatch, empty_cache: Path
) -> None:
    monkeypatch.undo()
    compiled = simulator()
    monkeypatch.setattr(cache, "CACHE", empty_cache)
    empty_cache.mkdir(parents=True)
    shutil.copy2(compiled, empty_cache)

    result = run("if (thread_position_in_grid.x == 0) out[0] = 4;")

    assert result.outputs is not None
    assert result.outputs[0][0].item() == 4
    kinds = {path.name.partition("-")[0] for path in empty_cache.iterdir()}
    assert kinds == {
        *("simulator", "kernel", "dialect", "dialect.lock"),
        *("headers", "headers.lock", "language", "language.lock"),
    }


def test_what_two_want_at_once_is_made_once(empty_cache: Path) -> None:
    made: list[Path] = []

    def make(path: Path) -> None:
        path.write_text("made")
        made.append(path)

    with ThreadPoolExecutor(8) as pool:
        paths = {one.result() for one in [
            pool.submit(cache.made_once, "thing", "1", make) for _ in range(8)
        ]}  # fmt: skip

    assert paths == {empty_cache / "thing-1"}
    assert len(made) == 1
    assert not list(empty_cache.glob("tmp*"))


def test_what_fails_is_made_again_and_leaves_nothing(empty_cache: Path) -> None:
    def fail(path: Path) -> None:
        path.write_text("half")
        raise compiler.CompileError("no")

    with pytest.raises(compiler.CompileError):
        cache.made_once("thing", "1", fail)

    assert [path.name for path in empty_cache.iterdir()] == ["thing.lock"]
    assert cache.made_once("thing", "1", Path.touch).exists()


def test_old_versions_are_removed(empty_cache: Path) -> None:
    for key in "1234567":
        cache.made_once("thing", key, Path.mkdir)

    assert len(list(empty_cache.glob("thing-*"))) == 5
    assert (empty_cache / "thing-7").exists()


def test_what_another_process_removes_meanwhile_is_no_error(empty_cache: Path) -> None:
    """A link to nothing stands in for a folder that is listed, and then gone."""
    empty_cache.mkdir(parents=True)
    for name in ("tmp_gone", "thing-0"):
        (empty_cache / name).symlink_to("nothing")

    assert cache.made_once("thing", "1", Path.mkdir).exists()


def test_a_kernel_is_made_and_called_with_the_arguments_that_mlx_takes() -> None:
    """All of a kernel's own may come without names, and a template may be None."""
    kernel = metal_kernel("k", ["x"], ["out"], "out[0] = x;", "", True, False)

    (out,) = kernel(
        inputs=[2.0],
        output_shapes=[(1,)],
        output_dtypes=[mx.float32],
        grid=(1, 1, 1),
        threadgroup=(1, 1, 1),
        template=None,
    )

    assert out.item() == 2


@pytest.mark.parametrize(("in_rows", "second"), [(True, 4.0), (False, 2.0)])
def test_an_array_with_gaps_is_read_as_it_lies(in_rows: bool, second: float) -> None:
    """Unless MLX closes the gaps, as it does for whoever does not forbid it."""
    x = mx.arange(16, dtype=mx.float32).reshape(4, 4)[:, :2]
    kernel = metal_kernel(
        "gaps", ["x"], ["out"], "out[0] = x[2];", ensure_row_contiguous=in_rows
    )

    found = kernel.run(
        inputs=[x],
        output_shapes=[(1,)],
        output_dtypes=[mx.float32],
        grid=(1, 1, 1),
        threadgroup=(1, 1, 1),
    )

    assert found.outputs is not None
    assert found.outputs[0].item() == second


@pytest.mark.parametrize(
    ("name", "template", "says"),
    [
        ("two words", [], "is no name of a kernel"),
        ("k", [("eps", 1e-6)], "`eps` of the template has to be a dtype"),
    ],
)
def test_what_the_compiler_would_complain_of_is_said(
    name: str, template: list[tuple[str, Any]], says: str
) -> None:
    kernel = metal_kernel(name, ["x"], ["out"], "out[0] = x;")

    with pytest.raises(ValueError, match=says):
        kernel.run(
            inputs=[1.0],
            output_shapes=[(1,)],
            output_dtypes=[mx.float32],
            grid=(1, 1, 1),
            threadgroup=(1, 1, 1),
            template=template,
        )
