"""Kernels are compiled when they have changed, and errors are shown in short."""

import os
import shutil
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from click.testing import Result as Ran

from tiny_llm_course.commands.build_ext import command
from tiny_llm_course.doctor.system import find_compiler
from tiny_llm_course.errors import CourseError
from tiny_llm_course.extension import building, compiled_cache, output
from tiny_llm_course.extension.building import (
    build,
    is_current,
    module_of,
    problem_of,
)
from tiny_llm_course.extension.sources import sources, sources_of

needs_compiler = pytest.mark.skipif(
    find_compiler() is None, reason="there is no C++ compiler"
)

CMAKE = """
cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES CXX)
add_library(_kernels MODULE bindings.cpp)
target_compile_options(_kernels PRIVATE -Wall)
target_include_directories(
  _kernels PRIVATE "${{CMAKE_CURRENT_SOURCE_DIR}}" "${{KERNELS_FOLDER}}")
set_target_properties(_kernels PROPERTIES
  PREFIX "" SUFFIX "{suffix}" LIBRARY_OUTPUT_DIRECTORY "${{MODULE_FOLDER}}")
"""
"""A library that compiles in a second, because it knows neither Python nor MLX."""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return the root of a checkout with kernels that are quick to compile."""
    shared = tmp_path / "src" / "extensions_shared"
    shared.mkdir(parents=True)
    (tmp_path / "src" / "extensions" / "kernels").mkdir(parents=True)
    (tmp_path / "src" / "tiny_llm").mkdir()
    text = CMAKE.format(suffix=sysconfig.get_config_var("EXT_SUFFIX"))
    (shared / "CMakeLists.txt").write_text(text)
    (shared / "bindings.cpp").write_text('#include "kernels/one.h"\n')
    write(tmp_path, "int one() { return 1; }")
    return tmp_path


def write(root: Path, code: str) -> None:
    """Write the only kernel."""
    (root / "src" / "extensions" / "kernels" / "one.h").write_text(f"{code}\n")


@pytest.fixture
def solution(checkout: Path) -> Path:
    return checkout / "src" / "tiny_llm"


@pytest.fixture(autouse=True)
def _without_trial(
    monkeypatch: pytest.MonkeyPatch, checkout: Path, tmp_path: Path
) -> None:
    """Skip loading the modules, which are not Python's, and use an empty cache."""
    monkeypatch.setattr(building, "TRIAL", "")
    monkeypatch.setattr(compiled_cache, "CACHE", tmp_path / "modules")
    monkeypatch.setenv("TINY_LLM_HOME", str(checkout))


@pytest.fixture
def build_ext(checkout: Path) -> Callable[[], Ran]:
    """Return a function that runs `pdm run build-ext`."""
    home = {"TINY_LLM_HOME": str(checkout)}
    return lambda: CliRunner().invoke(command, env=home)


@needs_compiler
def test_a_module_is_compiled_once_and_again_after_a_change(
    checkout: Path, solution: Path, build_ext: Callable[[], Ran]
) -> None:
    first, second = build_ext(), build_ext()
    write(checkout, "int one() { return 2; }")

    assert not is_current(solution)
    module = module_of(solution).relative_to(checkout)
    assert first.stdout.startswith("src/extensions is compiled, in ")
    assert first.stdout.endswith(f" s: {module}\n")
    told, *steps = first.stderr.splitlines()
    assert told == "compiling src/extensions ..."
    assert [step.split()[-1] for step in steps] == ["bindings"]
    assert second.stdout == "src/extensions has not changed since it was compiled.\n"
    assert second.stderr == ""
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert build_ext().stdout.startswith("src/extensions is compiled")
    assert is_current(solution)


@needs_compiler
@pytest.mark.parametrize("folder", ["extensions", "extensions_shared"])
def test_a_change_is_seen_wherever_it_is(
    checkout: Path, solution: Path, folder: str
) -> None:
    """In the solution's own files, and in the shared ones."""
    build(solution)
    (checkout / "src" / folder / "kernels").mkdir(exist_ok=True)
    (checkout / "src" / folder / "kernels" / "new.h").write_text("int changed();\n")

    assert not is_current(solution)


@needs_compiler
def test_what_is_shared_is_not_taken_from_a_solution(
    checkout: Path, solution: Path
) -> None:
    """An older solution that has its own copies of shared files still compiles."""
    src = checkout / "src"
    (src / "extensions_shared" / "kernels").mkdir()
    (src / "extensions_shared" / "kernels" / "given.h").write_text("int given();\n")
    write(checkout, '#include "kernels/given.h"\nint one() { return given(); }')
    for name in ("kernels/given.h", "bindings.cpp", "CMakeLists.txt"):
        (src / "extensions" / name).write_text("from an older version")

    assert build(solution).problem == ""


@needs_compiler
def test_what_was_compiled_in_one_checkout_is_not_compiled_in_another(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(checkout / "src" / "tiny_llm")
    other = tmp_path / "other"
    for name in ("extensions", "extensions_shared"):
        shutil.copytree(checkout / "src" / name, other / "src" / name)
    (other / "src" / "tiny_llm").mkdir()
    monkeypatch.delattr(building, "_compile")

    built = build(other / "src" / "tiny_llm")

    here, there = (module_of(one / "src" / "tiny_llm") for one in (checkout, other))
    assert there.read_bytes() == here.read_bytes()
    assert built.problem == ""
    assert is_current(other / "src" / "tiny_llm")


def test_modules_that_nobody_took_for_longest_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled_cache, "NUM_KEPT", 2)
    module = tmp_path / "module"
    module.write_text("compiled")
    for age, key in enumerate(("first", "second")):
        compiled_cache.keep(key, module)
        os.utime(compiled_cache.CACHE / key, (age, age))
    assert compiled_cache.take("first", tmp_path / "taken")

    compiled_cache.keep("third", module)

    found = [
        compiled_cache.take(key, tmp_path / "taken")
        for key in ("first", "second", "third")
    ]
    assert found == [True, False, True]


@needs_compiler
def test_an_error_is_shown_as_the_compiler_says_it_with_short_paths(
    checkout: Path, solution: Path, build_ext: Callable[[], Ran]
) -> None:
    build(solution)
    write(checkout, "int one() { return 1 }")

    ran = build_ext()

    shown = ran.stderr.splitlines()
    assert ran.exit_code == 1
    assert shown[0] == "compiling src/extensions ..."
    assert "src/extensions does not compile:" in shown
    assert any(
        one.startswith("src/extensions/kernels/one.h:1:") and "error: " in one
        for one in shown
    )
    assert str(checkout) not in ran.stderr
    assert "ninja" not in ran.stderr
    assert "FAILED" not in ran.stderr
    assert not module_of(solution).exists()


@needs_compiler
def test_what_does_not_compile_is_not_compiled_again_for_a_test(
    checkout: Path, solution: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(checkout, "int one() { return 1 }")
    built = build(solution)
    monkeypatch.setattr(building, "_compile", None)

    assert build(solution) == built
    assert problem_of(solution) == built.problem
    assert output.first_error(built.problem).startswith(
        "src/extensions/kernels/one.h:1:"
    )


@needs_compiler
def test_a_warning_is_shown_and_no_error(
    checkout: Path, build_ext: Callable[[], Ran]
) -> None:
    write(checkout, "int one() { int unused; return 1; }")

    ran = build_ext()

    assert ran.exit_code == 0
    assert "The compiler warns about src/extensions:" in ran.stderr
    assert "src/extensions/kernels/one.h:1:17: warning: unused" in ran.stderr


@needs_compiler
def test_in_the_reference_a_warning_is_an_error(checkout: Path) -> None:
    for name in ("extensions", "tiny_llm"):
        (checkout / "src" / name).rename(checkout / "src" / f"{name}_ref")
    path = checkout / "src" / "extensions_ref" / "kernels" / "one.h"
    path.write_text("int one() { int unused; return 1; }\n")

    built = build(checkout / "src" / "tiny_llm_ref")

    assert "error: unused variable" in built.problem


@needs_compiler
def test_a_module_that_does_not_load_is_told_and_gone(
    solution: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "TRIAL", "raise TypeError('incompatible arguments')")

    with pytest.raises(CourseError) as error:
        build(solution)

    assert str(error.value) == (
        "the compiled module does not fit this Python and this MLX "
        "(TypeError: incompatible arguments); run: pdm install"
    )
    assert not module_of(solution).exists()
    assert not is_current(solution)


@pytest.mark.parametrize(
    ("name", "missing", "complaint"),
    [
        (
            "find_compiler",
            lambda: None,
            "no C++ compiler was found that takes C++20; run: install it",
        ),
        ("program", lambda _: None, "CMake is missing; run: pdm install"),
        ("version_of", lambda _: None, "nanobind is missing; run: pdm install"),
    ],
)
def test_a_missing_tool_is_one_line(
    build_ext: Callable[[], Ran],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    missing: object,
    complaint: str,
) -> None:
    monkeypatch.setattr(building, "find_compiler", lambda: "c++")
    monkeypatch.setattr(building, "how_to_install", lambda _: "install it")
    monkeypatch.setattr(building, "program", lambda _: "cmake")
    monkeypatch.setattr(building, name, missing)

    ran = build_ext()

    assert ran.exit_code == 2
    assert ran.stderr.splitlines()[1:] == [f"build-ext: {complaint}"]


def test_the_kernels_of_a_solution_are_in_it_or_beside_it(
    checkout: Path, solution: Path, tmp_path: Path
) -> None:
    beside = checkout / "src" / "extensions"
    alone = tmp_path / "alone" / "alice"
    alone.mkdir(parents=True)

    assert sources_of(solution) == beside
    assert sources_of(checkout / "src" / "tiny_llm_ref") is None
    assert sources_of(alone) is None

    inside = shutil.copytree(beside, alone / "extensions")
    assert sources_of(alone) == inside


def test_a_solution_without_kernels_is_told(tmp_path: Path) -> None:
    with pytest.raises(CourseError, match="expected a folder `extensions` in it"):
        build(tmp_path)


def test_what_a_build_has_made_is_no_source(checkout: Path) -> None:
    folder = checkout / "src" / "extensions_shared"
    (folder / "build").mkdir()
    (folder / "build" / "made.cpp").touch()

    names = [path.name for path in sources(folder)]

    assert names == ["CMakeLists.txt", "bindings.cpp"]


SAID = """\
[1/3] Building CXX object CMakeFiles/_kernels.dir/glue/matvec.cpp.o
FAILED: [code=1] CMakeFiles/_kernels.dir/glue/matvec.cpp.o
/usr/bin/c++ -D_kernels_EXPORTS -O3 -c /here/src/extensions/glue/matvec.cpp
In file included from /here/src/extensions/glue/matvec.cpp:9:
/here/src/extensions/kernels/matvec.h: In function 'int f()':
/here/src/extensions/kernels/matvec.h:9:3: warning: unused variable 'u'
    9 |   int u;
      |       ^
/here/src/extensions/kernels/matvec.h:17:20: error: expected ';' before '}' token
   17 |   return 1 }
      |           ^~
      |           ;
1 error generated.
ninja: build stopped: subcommand failed.
"""


@pytest.mark.parametrize(
    ("line", "step"),
    [
        (
            "[2/9] Building CXX object CMakeFiles/_kernels.dir/Unity/"
            "unity_matvec_cxx.cxx.o",
            "[2/9] matvec",
        ),
        ("[ 40%] Building CXX object x/glue/layer.cpp.o", "[ 40%] layer"),
        ("[9/9] Linking CXX shared module _kernels.so", ""),
        ("matvec.h:1: error: no", ""),
    ],
)
def test_each_step_of_a_build_is_told_in_two_words(line: str, step: str) -> None:
    assert output.step_of(line) == step


def test_of_all_that_a_build_prints_the_messages_stay() -> None:
    said = output.of_compiler(SAID, (Path("/here"),))

    assert said.splitlines()[0] == (
        "src/extensions/kernels/matvec.h: In function 'int f()':"
    )
    assert len(said.splitlines()) == 8


def test_the_first_error_is_shown_with_its_code() -> None:
    said = output.of_compiler(SAID, (Path("/here"),))

    assert output.first_error(said).splitlines() == [
        "src/extensions/kernels/matvec.h:17:20: error: expected ';' before '}' token",
        "   17 |   return 1 }",
        "      |           ^~",
        "      |           ;",
    ]
