"""Which files of the course a file imports."""

from pathlib import Path

from tiny_llm_course.imports import COURSE, course_dependencies
from tiny_llm_course.places import TESTS


def names(files: list[Path]) -> set[str]:
    return {path.relative_to(COURSE).as_posix() for path in files if path != FILE}


FILE = TESTS / "test_week_1_day_4.py"


def test_imports_are_followed_as_far_as_they_lead() -> None:
    found = names(course_dependencies([FILE]))

    assert "grading/judgement/grader.py" in found  # imported by the test
    assert "grading/judgement/closeness.py" in found  # and that by the grader
    assert "errors.py" in found


def test_what_is_asked_through_kept_counts_as_imported() -> None:
    found = names(course_dependencies([FILE], ("oracle",)))

    assert {"oracle/layer_norm.py", "oracle/exact.py"} <= found
    assert "oracle/attention.py" not in found


def test_other_folders_are_left_out() -> None:
    found = names(course_dependencies([FILE], ("grading", "oracle")))

    assert {name.partition("/")[0] for name in found} == {"grading", "oracle"}
    not_of_a_test = {"grading/report/screen.py", "grading/engine/plugin.py"}
    assert all((COURSE / name).exists() for name in not_of_a_test)
    assert not not_of_a_test & found


def test_imports_inside_functions_and_of_modules_count(tmp_path: Path) -> None:
    file = tmp_path / "some.py"
    file.write_text(
        "import tiny_llm_course.errors\n"
        "def later():\n"
        "    from tiny_llm_course.grading.judgement import closeness\n"
        "    import nothing.of.ours\n"
    )

    found = set(course_dependencies([file])) - {file}

    assert {COURSE / "errors.py", COURSE / "grading/judgement/closeness.py"} <= found


def test_a_file_that_is_not_python_imports_nothing(tmp_path: Path) -> None:
    file = tmp_path / "some.py"
    file.write_text("from tiny_llm_course import (\n")

    assert course_dependencies([file]) == [file]
