"""C++ functions are found, emptied and put back; everything else stays unchanged."""

import re

import pytest

from tiny_llm_course.editing import editing
from tiny_llm_course.editing.cpp_code import CppCode, meaning
from tiny_llm_course.editing.starter import generate_kernels, stubbed
from tiny_llm_course.extension.sources import sources
from tiny_llm_course.places import here

REFERENCE = """\
/// Sums.
#pragma once

#include <vector>

#include "kernels/numbers.h"

namespace tiny_llm {

struct Pair {
  int both() const { return a + b; }
  int a, b;
};

namespace detail {

// Not for the learner: }
inline int helper(int n) { return n; }

}  // namespace detail

/// Add up.
///
/// One after the other.
template <class Scale, int N = (2 > 1)>
__attribute__((target("avx512f"))) [[nodiscard]] int add(const Scale* x, int n) {
  const char* brace = "}";  // }
  return brace[0] == '}' ? detail::helper(n * 1'000) : R"(})"[0];
}

/// A given one.
inline int given(Pair pair) { return pair.both(); }

/// Another size.
template <>
int add<float>(const float* x, int n) { return 0; }

}  // namespace tiny_llm
"""

STUB = """\
/// Sums.
#pragma once

#include <vector>

#include "kernels/numbers.h"
#include "kernels/todo.h"

namespace tiny_llm {

struct Pair {
  int both() const { return a + b; }
  int a, b;
};

/// Add up.
///
/// One after the other.
template <class Scale, int N = (2 > 1)>
__attribute__((target("avx512f"))) [[nodiscard]] int add(const Scale* x, int n) {
  todo("week 2, day 4, task 1");
}

/// A given one.
inline int given(Pair pair) { return pair.both(); }

/// Another size.
template <>
int add<float>(const float* x, int n) {
  todo("week 2, day 4, task 1");
}

}  // namespace tiny_llm
"""

TASKS = {"add": "week 2, day 4, task 1"}

OWN = STUB.replace(
    'n) {\n  todo("week 2, day 4, task 1");\n}\n\n/// A g',
    "n) {\n  return own(n);  // mine\n}\n\n/// A g",
).replace("struct Pair", "inline int own(int n) { return n; }\n\nstruct Pair")
"""The file of a learner who has written one of two functions, with a helper."""


def put(text: str, donor: str, name: str) -> str:
    return editing.put(CppCode.parse(text), CppCode.parse(donor), name).text


def without_leftovers(text: str, reference: str) -> str:
    parse = CppCode.parse
    return editing.without_leftovers(parse(text), parse(reference), parse(STUB)).text


def test_a_stub_is_the_file_without_answers_and_helpers() -> None:
    assert stubbed(REFERENCE, TASKS) == STUB


def test_a_file_without_answers_stays_as_it_is() -> None:
    assert stubbed(REFERENCE, {}) == REFERENCE


def test_a_condition_around_helpers_goes_with_them() -> None:
    opening, closing = "namespace detail {\n", "}  // namespace detail\n"
    guarded = REFERENCE.replace(opening, f"#if defined(X)\n{opening}")

    assert stubbed(guarded.replace(closing, f"{closing}#endif\n"), TASKS) == STUB


def test_functions_are_found_with_the_comments_above_them() -> None:
    source = CppCode.parse(REFERENCE)

    texts = [one.text for one in source.functions]
    assert [one.name for one in source.functions] == ["add", "given", "add"]
    assert [text.split("\n")[0] for text in texts] == [
        "/// Add up.",
        "/// A given one.",
        "/// Another size.",
    ]
    assert [source.line_of(one) for one in source.functions] == [26, 32, 36]


@pytest.mark.parametrize(
    "code",
    [
        "const int t[] = {1, 2};",
        "enum class Kind { one, two };",
        "struct Pair { int both() { return 2; } };",
        "inline const auto both = [](int n) { return n; };",
        "int declared(int n);",
        "using V __attribute__((vector_size(32))) = float;",
        '#define BRACE "}" \\\n  }',
        "/* int f() { } */",
    ],
)
def test_what_is_no_function_is_not_taken_for_one(code: str) -> None:
    source = CppCode.parse(f"{code}\n\nint f() {{ return 1; }}\n")

    assert [one.text for one in source.functions] == ["int f() { return 1; }"]


@pytest.mark.parametrize(
    "head",
    [
        "auto f() -> int",
        "static constexpr int f(int a = 2) noexcept",
        "std::vector<float> f(std::vector<std::vector<int>> a)",
        "template <class T> requires (sizeof(T) > 1) int f(T a)",
        'extern "C" int f()',
        'extern "C" {\nint f()',
        "namespace a::b {\nint f()",
        "namespace {\nint f()",
        "bool operator==(A a, A b) { return true; }\nint f()",
    ],
)
def test_a_function_is_found_however_it_is_declared(head: str) -> None:
    closing = "\n}" if "{\n" in head else ""
    source = CppCode.parse(f"{head} {{\n  return 1;\n}}{closing}\n")

    (found,) = source.named("f")
    assert found.inside == "return 1;"


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("void f() {\n", 1),
        ("\n}", 2),
        ("void f() {\n( }", 2),
        ("namespace a {", 1),
        ("int a;\nint f);", 2),
    ],
)
def test_a_bracket_without_a_counterpart_is_told(code: str, line: int) -> None:
    with pytest.raises(SyntaxError, match="has no counterpart") as error:
        CppCode.parse(code)

    assert error.value.lineno == line


@pytest.mark.parametrize("missing", ["return", "};", "<", "b;", "= 2", "int n"])
def test_a_mistake_in_one_function_hides_no_other(missing: str) -> None:
    """Learners save what does not compile: their work has to be seen in it."""
    code = (
        "int f(int n) {\n  struct Pair { int a, b; };\n  if (n < 2) return n;\n"
        "  int m = 2;\n  return m;\n}\n\nint g() { return 1; }\n"
    )
    assert missing in code

    left = "}" if missing == "};" else ""
    source = CppCode.parse(code.replace(missing, left))

    assert [list(one.names) for one in source.functions] == [["f"], ["g"]]


def test_every_file_of_the_course_can_be_read() -> None:
    folders = here().reference_kernels, here().shared_kernels
    texts = [path.read_text() for one in folders for path in sources(one)]
    parsed = [CppCode.parse(text) for text in texts if "cmake" not in text]

    assert sum(len(one.functions) for one in parsed) > 20


def test_layout_and_comments_are_not_what_code_means() -> None:
    assert meaning("int f( ) { // one\n return 1; }") == meaning("int f(){return 1;}")
    assert meaning("return 1;") != meaning("return 2;")


def test_an_answer_brings_its_helpers_to_where_they_belong() -> None:
    assert (
        put(STUB, REFERENCE, "add").replace('#include "kernels/todo.h"\n', "")
        == REFERENCE
    )


def test_an_answer_leaves_the_rest_of_the_file_alone() -> None:
    text = put(OWN, REFERENCE, "add")

    assert "inline int own(int n) { return n; }" in text
    assert "own(n);" not in text


def test_helpers_of_a_learner_with_the_same_name_stay() -> None:
    own = "namespace detail {\nint helper();\n}\n\nstruct Pair"

    text = put(STUB.replace("struct Pair", own), REFERENCE, "add")

    assert own in text
    assert "namespace detail_of_reference {" in text
    assert "detail_of_reference::helper(n * 1'000)" in text


def test_an_answer_put_in_twice_brings_its_helpers_once() -> None:
    once = put(STUB, REFERENCE, "add")

    assert put(once, REFERENCE, "add") == once


def test_helpers_under_another_name_are_brought_once_and_go_again() -> None:
    own = "namespace detail {\nint helper();\n}\n\nstruct Pair"
    mine = STUB.replace("struct Pair", own)
    once = put(mine, REFERENCE, "add")

    assert put(once, REFERENCE, "add") == once
    assert without_leftovers(put(once, STUB, "add"), REFERENCE) == mine


def test_a_stub_takes_the_helpers_away_again() -> None:
    text = put(put(STUB, REFERENCE, "add"), STUB, "add")

    assert without_leftovers(text, REFERENCE) == STUB


def test_helpers_that_were_changed_stay() -> None:
    text = put(STUB, REFERENCE, "add").replace("{ return n; }", "{ return n + 1; }")

    text = without_leftovers(put(text, STUB, "add"), REFERENCE)

    assert "return n + 1;" in text


def test_a_function_that_is_gone_comes_back_at_its_place() -> None:
    source = CppCode.parse(STUB)
    first, _, last = source.functions
    without = STUB[: first.start] + STUB[first.end :].lstrip()
    without = without.replace(last.text + "\n\n", "")

    text = put(without, STUB, "add")

    assert text.index("int add(") < text.index("int add<float>") < text.index("A given")
    assert text.count("int add") == 2


def test_a_file_of_windows_keeps_its_line_ends() -> None:
    text = put(STUB.replace("\n", "\r\n"), REFERENCE, "add")

    assert re.findall(r"(?<!\r)\n", text) == []
    assert "detail::helper" in text


def test_a_function_with_an_open_brace_can_be_replaced() -> None:
    broken = OWN.replace("return own(n);", "if (n) {")
    with pytest.raises(SyntaxError):
        CppCode.parse(broken)

    text = CppCode.emptied(broken, "add")

    assert text.count("\n") == broken.count("\n")
    assert put(text, STUB, "add") == put(OWN, STUB, "add")


def test_a_note_in_a_stub_makes_it_somebodys_work() -> None:
    source = CppCode.parse(STUB)
    noted = CppCode.parse(STUB.replace("  todo(", "  // an idea\n  todo("))

    assert all(one.is_stub for one in source.named("add"))
    assert not all(one.is_stub for one in noted.named("add"))


def test_the_kernels_in_the_tree_are_the_generated_ones() -> None:
    """Nor is there a file that the solutions no longer have."""
    folder = here().kernels
    committed = {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sources(folder)
    }

    assert committed == generate_kernels(here().reference_kernels)
