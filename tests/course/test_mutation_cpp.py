"""All mutants of C++ kernels are in one program, which selects one of them."""

import subprocess

import pytest

from tiny_llm_course.extension.programs import COMPILER
from tiny_llm_course.syllabus import select_days
from tiny_llm_lab.mutation import kernels
from tiny_llm_lab.mutation.cpp import Header
from tiny_llm_lab.mutation.cpp_places import SUPPORT

KERNEL = """/// Adds up some numbers.
#pragma once

namespace tiny_llm {

namespace detail {

constexpr int kStep = 1 + 1;

inline int twice(int x) {
  return x * kStep;
}

}  // namespace detail

inline int not_asked_for(int x) { return x + 1; }

/// Add up the numbers from `first` on, twice each.
inline int sum(const int* x, int first, int last) {
  int total = 0;
  if (first == last) return total;
  for (int i = first; i < last; ++i) {
    total += detail::twice(x[i]);
  }
  return total;
}

}  // namespace tiny_llm
"""

PROGRAM = """
#include <cstdio>
#include <cstdlib>
#include "kernels/sum.h"
int tiny_llm_chosen_mutant = 0;
signed char tiny_llm_seen_mutants[999];
int main(int, char** arguments) {
  const int x[] = {5, 1, 2, 4, 9};
  for (int mutant = 0; mutant <= std::atoi(arguments[1]); ++mutant) {
    tiny_llm_chosen_mutant = mutant;
    const bool is_right = tiny_llm::sum(x, 2, 3) == 4;
    const bool is_right_elsewhere = tiny_llm::sum(x + 1, 0, 3) == 14;
    std::printf("%d %d\\n", is_right, is_right && is_right_elsewhere);
  }
}
"""


@pytest.fixture(scope="module")
def header() -> Header:
    return Header("sum.h", KERNEL, {"sum"}, 1)


@pytest.fixture(scope="module")
def passed(header: Header, tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """Return which mutants pass a weak test, and which pass a strong one, by key."""
    if COMPILER is None:
        pytest.skip("there is no C++ compiler")
    folder = tmp_path_factory.mktemp("mutants")
    (folder / "kernels").mkdir()
    (folder / "kernels/sum.h").write_text(header.text())
    (folder / "kernels/mutants.h").write_text(SUPPORT.read_text())
    (folder / "main.cpp").write_text(PROGRAM)
    options = ["-std=c++20", "-w", f"-I{folder}", str(folder / "main.cpp")]
    subprocess.run([COMPILER, *options, "-o", str(folder / "main")], check=True)
    last = str(header.mutants[-1].number)
    said = subprocess.check_output([folder / "main", last], text=True).splitlines()
    assert said[0] == "1 1", "with no mutant chosen the kernel is what it was"
    keys = [one.key for one in header.mutants]
    outcomes = [line.split() for line in said[1:]]
    return [
        [key for key, came in zip(keys, outcomes, strict=True) if came[test] == "1"]
        for test in (0, 1)
    ]


def test_only_what_a_learner_writes_has_mutants(header: Header) -> None:
    assert {one.key.split(":")[1] for one in header.mutants} == {"sum", "twice"}


def test_what_is_computed_while_compiling_stays_as_it_is(header: Header) -> None:
    assert "constexpr int kStep = 1 + 1;" in header.text()


def test_a_mutant_that_no_test_can_reject_passes(passed: list[list[str]]) -> None:
    _, strong = passed

    assert strong == [
        "sum.h:sum: first == last -> false | if (first == last) return total;",
        "sum.h:sum: first == last -> first >= last | if (first == last) return total;",
    ]


def test_a_weaker_test_lets_more_mutants_through(passed: list[list[str]]) -> None:
    """A single number does not show how the next one is found."""
    weak, strong = passed

    assert set(strong) < set(weak)
    assert "sum.h:sum: ++i -> i += 2 | for (int i = first; i < last; ++i) {" in weak


def test_every_mutant_has_a_key_of_its_own(header: Header) -> None:
    keys = [one.key for one in header.mutants]

    assert len(set(keys)) == len(keys)


def test_what_the_compiler_complains_of_is_left_out() -> None:
    header = Header("sum.h", KERNEL, {"sum"}, 1)
    before = header.mutants
    place = header.text().index("mutants::is(")

    header.drop([place])

    assert len(header.mutants) == len(before) - 1


def test_a_key_says_what_stands_there_and_what_it_becomes(header: Header) -> None:
    keys = {one.key for one in header.mutants}

    assert (
        "sum.h:sum: i < last -> i <= last | for (int i = first; i < last; ++i) {"
        in (keys)
    )


def test_what_is_listed_as_equivalent_exists() -> None:
    days = [day for day in select_days(2, None) if day.number in kernels.HEADERS]
    headers = kernels.headers_of(days)
    keys = {one.key for header in headers.values() for one in header.mutants}

    assert kernels.equivalent(set(headers)) - keys == set()
