"""Rules on imports between the parts of the project."""

import ast
import graphlib
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tiny_llm_course.checks import tree

ROOT = Path(__file__).parents[2]
SOLUTIONS = ("tiny_llm", "tiny_llm_ref")
OF_A_SOLUTION = {"mlx", "numpy", "jaxtyping", "mlx_lm", *sys.stdlib_module_names}
OF_THE_SERVER = {"server": {"starlette"}}
"""What single files of a solution may import besides."""

OF_THE_TESTS = {"mlx", "numpy", "pytest", *sys.stdlib_module_names}


def files(*patterns: str) -> list[str]:
    """List the Python files that match, named from the root of the repository."""
    found = (path for pattern in patterns for path in ROOT.glob(pattern))
    return sorted(str(path.relative_to(ROOT)) for path in found)


def imported(file: str) -> Iterator[str]:
    """Yield the full names that a file imports, except from its own folder."""
    for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def package(name: str) -> str:
    return name.partition(".")[0]


def room(file: str) -> str:
    """Return the folder of a file. A module at the root of a package counts as one."""
    path = Path(file).relative_to("src").with_suffix("")
    is_root = len(path.parts) == 2 and path.name != "__init__"
    return ".".join(path.parts if is_root else path.parent.parts)


def importers(listed: Iterable[str]) -> dict[str, set[str]]:
    """Return the other rooms that each room of some files imports."""
    rooms = {
        ".".join(Path(file).relative_to("src").with_suffix("").parts): room(file)
        for file in listed
    }
    rooms |= {name.removesuffix(".__init__"): one for name, one in rooms.items()}
    graph = defaultdict[str, set[str]](set)
    for file in listed:
        for name in imported(file):
            module = name if name in rooms else name.rpartition(".")[0]
            graph[room(file)] |= {rooms.get(module, room(file))} - {room(file)}
    return graph


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Return rooms of which each imports the next, and the last is the first."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1][::-1]
    return []


@pytest.mark.parametrize("package", ["tiny_llm_course", "tiny_llm_lab"])
def test_no_folders_import_each_other_in_a_circle(package: str) -> None:
    """Each can be read and tested without the folders that build on it."""
    graph = importers(files(f"src/{package}/**/*.py"))

    assert len(graph) > 5
    assert circle(graph) == []


def test_a_circle_is_named() -> None:
    graph = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": set[str]()}

    found = circle(graph)

    assert found[0] == found[-1]
    assert set(found) == {"a", "b", "c"}
    assert all(after in graph[one] for one, after in pairwise(found))


@pytest.mark.parametrize("file", files("src/tiny_llm/*.py", "src/tiny_llm_ref/*.py"))
def test_a_solution_imports_mlx_and_numpy_and_of_the_course_only_todo(
    file: str,
) -> None:
    """A solution has to run in a classmate's checkout and in a grader's."""
    names = set(imported(file)) - {"tiny_llm_course.todo"}

    allowed = OF_A_SOLUTION | OF_THE_SERVER.get(Path(file).stem, set())
    assert {name for name in names if package(name) not in allowed} == set()


@pytest.mark.parametrize("file", files("src/tiny_llm/*.py", "src/tiny_llm_ref/*.py"))
def test_a_solution_takes_only_the_tokenizer_from_mlx_lm(file: str) -> None:
    """The learner writes the rest of what `mlx_lm` has."""
    names = {name for name in imported(file) if package(name) == "mlx_lm"}

    assert {name for name in names if "tokenizer" not in name.lower()} == set()


@pytest.mark.parametrize("file", files("src/tiny_llm_course/**/*.py"))
def test_the_course_reaches_a_solution_only_by_loading_it(file: str) -> None:
    """Any folder can be the solution under test, so none is imported by name.

    A known solution, wrong or right, is the reference with one thing changed.
    """
    is_a_known_solution = Path(file).parent.name in ("misconceptions", "accepted")
    by_name = {"tiny_llm"} if is_a_known_solution else set(SOLUTIONS)

    assert {name for name in imported(file) if package(name) in by_name} == set()


@pytest.mark.parametrize("file", files("src/tiny_llm_course/**/*.py"))
def test_what_grades_and_guides_knows_nothing_of_experiments(file: str) -> None:
    assert {one for one in imported(file) if package(one) == "tiny_llm_lab"} == set()


@pytest.mark.parametrize("file", files("tests/test_week_*.py"))
def test_a_grading_test_imports_the_oracle_and_grading(file: str) -> None:
    """The solution is a fixture, truth is the oracle's, words are the catalogue's."""
    parts = ("oracle", "grading", "catalogue")
    course = tuple(f"tiny_llm_course.{part}" for part in parts)
    names = {name for name in imported(file) if package(name) not in OF_THE_TESTS}

    assert {name for name in names if not name.startswith(course)} == set()


def test_contributing_draws_the_tree_as_it_is() -> None:
    """`python -m tiny_llm_course.checks.tree` brings it up to date."""
    page = tree.PAGE.read_text(encoding="utf-8")

    assert tree.drawn(page) == page


def test_the_picture_leaves_out_what_other_arrows_imply() -> None:
    uses = {"a": {"b", "c"}, "b": {"c"}, "c": set[str]()}

    assert tree.needed(uses) == {"a": {"b"}, "b": {"c"}, "c": set()}


def test_each_walk_in_contributing_has_eight_stations_that_exist() -> None:
    """A walk is a numbered list, and each station begins with a file."""
    page = tree.PAGE.read_text(encoding="utf-8")
    walks = re.findall(r"(?:^\d\. `.*\n(?: {3}.*\n)*)+", page, flags=re.MULTILINE)

    assert len(walks) == 3
    for walk in walks:
        stations = re.findall(r"^\d\. `([^`]+)`", walk, flags=re.MULTILINE)
        assert len(stations) == len(set(stations)) <= 8
        assert [one for one in stations if not (ROOT / one).exists()] == []


def test_there_are_files_to_look_at() -> None:
    """A rule that matched no files would never fail."""
    patterns = ("src/tiny_llm_ref/*.py", "src/tiny_llm_course/*.py", "tests/test_*.py")

    assert all(files(pattern) for pattern in patterns)
