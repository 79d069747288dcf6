"""How fast kernels are: levels, limits, what is seen to hold them up, and the words."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from tiny_llm_course.catalogue import say
from tiny_llm_course.errors import CourseError
from tiny_llm_course.extension import programs
from tiny_llm_course.extension.programs import COMPILER, Program
from tiny_llm_course.places import REFERENCE, SHARED_KERNELS
from tiny_llm_course.speed import judging, timing
from tiny_llm_course.speed.judging import PROGRAMS
from tiny_llm_course.speed.races import (
    RACES,
    Race,
    name_of_rung,
    races_of,
    section_of,
)
from tiny_llm_course.speed.timing import Running, Sample, Timing, in_turns
from tiny_llm_course.speed.verdict import Verdict, level_of
from tiny_llm_course.speed.words import short, table
from tiny_llm_course.syllabus import name_of, task_at, tasks

ALL_RACES = pytest.mark.parametrize(("address", "race"), RACES.items(), ids=str)

RUNGS_US = {
    "matvec_naive": 4886.0,
    "matvec_blocked": 870.0,
    "matvec_simd": 609.0,
    "matvec_int8": 198.0,
    "matvec_threaded": 120.0,
}
"""One call on two x86 cores with AVX-512, by `pdm run speed --week 2 --day 4`."""

BYTES = 2.72e6


def timed(time_us: float, *, threads: int = 1, allocated: float = 0) -> Timing:
    """Return the timing of a kernel that reads a matrix, as if measured once."""
    own_ns = 1e3 * time_us
    sample = Sample(BYTES, BYTES, allocated, own_ns, threads * own_ns, own_ns)
    return Timing((sample,))


def verdict(address: str, time_us: float, **more: object) -> Verdict:
    """Return the verdict on a kernel of Day 4 that takes so long."""
    race = RACES[f"week 2, day 4, {address}"]
    ours = {rung: timed(RUNGS_US[rung]) for rung in race.rungs}
    limit = timed(80 if race.is_on_all_cores else 150)
    task = task_at(f"week 2, day 4, {address}")
    return replace(Verdict(task, race, timed(time_us), ours, limit), **more)


def test_each_task_with_kernels_is_timed_by_its_last_or_its_first() -> None:
    """The optional one, a layer of these kernels, is timed in the model."""
    required = (one for one in tasks() if not one.optional)
    with_kernels = {str(one.address): one for one in required if one.kernels}

    assert RACES.keys() == with_kernels.keys()
    for address, race in RACES.items():
        assert race.kernel in map(name_of, with_kernels[address].kernels)


@ALL_RACES
def test_program_can_call_all_kernels_of_a_race(address: str, race: Race) -> None:
    del address
    own = (PROGRAMS / f"{race.program}.cpp").read_text(encoding="utf-8")
    limits = (PROGRAMS / "limits.cpp").read_text(encoding="utf-8")

    assert all(f'{{"{rung}", run_{rung},' in own for rung in race.rungs)
    assert f'{{"{race.limit}", run_{race.limit},' in limits


@ALL_RACES
def test_each_level_has_a_name_and_each_next_one_says_what_it_takes(
    address: str, race: Race
) -> None:
    names = [name_of_rung(rung) for rung in race.rungs]

    assert len(set(names)) == len(names)
    assert all(say(f"speed.takes.{rung}") for rung in race.rungs[1:])
    for rung in race.rungs:
        page = section_of(rung, task_at(address))
        assert page.startswith(
            f"pdm run book week-{task_at(address).address.week}-day-"
        )


@pytest.mark.parametrize(
    ("time_us", "level"),
    [
        (9000, "plain loop"),
        (4900, "plain loop"),
        (2200, "plain loop"),
        (1900, "blocked"),
        (870, "blocked"),
        (600, "in lanes"),
        (210, "in bytes"),
        (100, "on all cores"),
    ],
)
def test_level_is_the_nearest_rung_of_ours(time_us: float, level: str) -> None:
    found = verdict("task 4", time_us)

    assert name_of_rung(found.race.rungs[found.level]) == level


def test_a_kernel_faster_than_ours_has_the_last_level_in_any_order_of_rungs() -> None:
    assert level_of(timed(50), [timed(300), timed(100), timed(200)]) == 2


@pytest.mark.parametrize(
    ("threads", "waits", "level"),
    [(2, 2, "on all cores"), (1, 2, "in bytes"), (2, 1, "in bytes")],
)
def test_threads_that_a_busy_machine_holds_back_count_as_threads(
    threads: int, waits: int, level: str
) -> None:
    limit = timed(80)
    (sample,) = limit.samples
    disturbed = Timing((replace(sample, wall_ns=waits * sample.wall_ns),))

    found = verdict("task 4", 198, limit=disturbed)
    found = replace(found, yours=timed(198, threads=threads))

    assert name_of_rung(found.race.rungs[found.level]) == level


def test_next_level_is_in_the_section_of_the_task_that_asks_for_it() -> None:
    lines = short(verdict("task 4", 4886))

    assert "the next level, blocked," in lines[-1]
    assert lines[-1].endswith("pdm run book week-2-day-4-matvec-kernel#task-1")


def test_a_plain_loop_is_told_in_three_lines_with_what_is_possible() -> None:
    cause = say("speed.no_vectors")

    lines = short(verdict("task 2", 4886, causes=(cause,)))

    assert lines == [
        "  task 2  plain loop: 0.56 GB/s. Ours 4.5, memory gives one core 18.",
        f"          {cause}",
        "          What sets the next level, blocked, apart: read each word once, and "
        "four rows together. pdm run book week-2-day-4-matvec-kernel#task-1",
    ]


def test_the_last_level_does_not_mean_as_fast_as_ours() -> None:
    [line] = short(verdict("task 2", 720))

    assert line.startswith("  task 2  in lanes, at 85% of ours: ")


def test_a_kernel_like_ours_is_told_in_one_line() -> None:
    assert short(verdict("task 2", 620)) == [
        "  task 2  in lanes, as fast as ours: 4.4 GB/s. Ours 4.5, memory gives one "
        "core 18."
    ]


def test_a_kernel_near_the_limit_has_nothing_left_to_do() -> None:
    found = verdict("task 3", 170)

    assert found.next_rung is None
    assert "in bytes, at the limit of the machine" in short(found)[0]


def test_no_kernel_is_faster_than_the_limit_that_is_shown() -> None:
    """On a busy machine, memory may look slower than it is."""
    found = verdict("task 4", 120, limit=timed(500))

    assert found.limit_speed == pytest.approx(BYTES / 120e3)


def test_table_has_each_rung_yours_and_the_limit_from_slow_to_fast() -> None:
    rows = list(table(verdict("task 2", 5000)))

    named = [line.split("  ")[1] for line in rows[2:7]]
    assert named == [
        *("YOURS", "plain loop", "blocked", "in lanes", "memory gives one core"),
    ]


def test_one_thread_counts_by_its_cpu_time_which_a_busy_machine_does_not_change() -> (
    None
):
    waiting = Sample(BYTES, BYTES, 0, wall_ns=3000, cpu_ns=1010, own_ns=1000)

    assert Timing((waiting,)).time_ns == 1000
    both = replace(waiting, cpu_ns=1900)
    assert Timing((both, replace(both, wall_ns=2000), both)).time_ns == 2000


def test_a_stub_is_left_out_and_a_slow_kernel_is_called_less_often() -> None:
    calls: dict[str, list[int]] = {"slow": [], "fast": []}

    def step(name: str, time_ns: float) -> timing.Step:
        def call(count: int) -> Sample:
            calls[name].append(count)
            return Sample(1, 1, 0, time_ns, time_ns, time_ns)

        return call

    def stub(count: int) -> None:
        del count

    found = in_turns({"slow": step("slow", 5e7), "fast": step("fast", 1e4), "no": stub})

    assert found.keys() == {"slow", "fast"}
    assert calls["slow"] == [1] * (1 + timing.LEAST_ROUNDS)
    assert calls["fast"] == [1, 1, *[100] * timing.ROUNDS]


@pytest.mark.parametrize(
    ("yours", "sentences"),
    [
        (timed(4886), ["One thread does all the work."]),
        (
            timed(4886, threads=2, allocated=4 * BYTES),
            ["A call allocates memory, 4.0 times what it reads and writes."],
        ),
        (timed(4886, threads=2, allocated=0.01 * BYTES), []),
    ],
)
def test_threads_and_copies_are_seen(
    monkeypatch: pytest.MonkeyPatch, yours: Timing, sentences: list[str]
) -> None:
    monkeypatch.setattr(judging, "vector_bits", lambda *_: None)
    found = verdict("task 4", 4886)
    ours = dict(found.ours) | {found.race.kernel: timed(120, threads=2)}
    paths = {(whose, "matvec"): Path() for whose in (judging.YOURS, judging.OURS)}

    told = judging.causes(replace(found, yours=yours, ours=ours), paths)

    assert list(told) == sentences


@pytest.mark.parametrize(
    ("yours", "ours", "said"),
    [
        (0, 512, ["No loop multiplies several numbers in one instruction."]),
        (128, 512, ["Its registers have 128 bits, ours 512."]),
        (512, 512, []),
        (None, None, []),
    ],
)
def test_registers_are_compared_where_they_can_be_seen(
    monkeypatch: pytest.MonkeyPatch,
    yours: int | None,
    ours: int | None,
    said: list[str],
) -> None:
    bits = {Path("yours"): yours, Path("ours"): ours}
    monkeypatch.setattr(judging, "vector_bits", lambda path, _: bits[path])
    paths = {("yours", "matvec"): Path("yours"), ("ours", "matvec"): Path("ours")}

    assert list(judging.causes(verdict("task 3", 4886), paths)) == said


PROGRAM = """#include "serve.h"
volatile float kept;
KERNEL(copying, std::cout << "I\\nam "; kept = std::vector<float>(250, 1.0f)[7])
KERNEL(unsolved, tiny_llm::todo("week 2, day 4, task 1"))
int main() {
  return speed::serve({
      {"copying", run_copying, 10, 500},
      {"unsolved", run_unsolved, 1},
  });
}
"""


@pytest.mark.skipif(COMPILER is None, reason="no compiler for C++")
def test_a_program_is_called_again_and_again_and_says_what_it_took(
    tmp_path: Path,
) -> None:
    source = tmp_path / "tiny.cpp"
    source.write_text(PROGRAM)
    options = ("-std=c++20", "-O0", "-pthread", "-w")
    tiny = Program(source, (PROGRAMS, SHARED_KERNELS), "speed_test", options).compiled()

    with Running(tiny) as program:
        first, stub = program.call("copying", 3), program.call("unsolved", 1)
        again = program.call("copying", 1)

    assert stub is None
    assert first
    assert again
    assert (first.work, first.touched, first.allocated) == (10, 500, 1000)
    assert all(math.isfinite(one) for one in (again.wall_ns, again.cpu_ns))
    assert Timing((first, again)).copied == 2


@pytest.mark.skipif(COMPILER is None, reason="no compiler for C++")
def test_an_error_of_the_compiler_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fused.cpp").write_text("int main() { return missing; }\n")
    (tmp_path / "limits.cpp").write_text("int main() {}\n")
    monkeypatch.setattr(judging, "PROGRAMS", tmp_path)
    monkeypatch.setattr(programs, "CACHE", tmp_path / "cache")
    task = task_at("week 2, day 7, task 3")
    told: list[str] = []

    with pytest.raises(CourseError, match=r"error: .*missing") as caught:
        judging.judge(races_of([task]), REFERENCE, told.append)

    assert len(str(caught.value).splitlines()) == 1
    assert told == [say("speed.compiling")]
