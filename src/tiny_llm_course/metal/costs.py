"""What a kernel costs, as the simulator has counted it."""

from collections.abc import Sequence
from dataclasses import dataclass

from tiny_llm_course.metal.process import Report

LINE_BYTES = 128


@dataclass(frozen=True)
class Costs:
    """What a kernel costs. What is said of memory is of device memory, if not named.

    Args:
        bytes_read: That threads have asked for.
        bytes_written: That threads have stored.
        accesses: Of SIMD groups: instructions, each counted as often as it was done.
        lines: Of 128 bytes, touched by SIMD groups, instruction by instruction.
        fewest_lines: That could have held what each instruction asks for.
        threadgroup_turns: That the busiest bank of threadgroup memory takes,
            instruction by instruction.
        fewest_threadgroup_turns: Without conflicts between banks.
        barriers: Of threadgroups, all of them together.
        adds: Additions and subtractions of floating-point numbers.
        multiplies: Of floating-point numbers. A fused multiply-add is one of each.
        other_operations: Divisions, roots, exponentials and their like.
    """

    bytes_read: int = 0
    bytes_written: int = 0
    accesses: int = 0
    lines: int = 0
    fewest_lines: int = 0
    threadgroup_turns: int = 0
    fewest_threadgroup_turns: int = 0
    barriers: int = 0
    adds: int = 0
    multiplies: int = 0
    other_operations: int = 0

    @property
    def bank_conflicts(self) -> int:
        """The turns that are lost since lanes want different words of one bank."""
        return self.threadgroup_turns - self.fewest_threadgroup_turns

    @property
    def coalesced(self) -> float:
        """How much of the lines that are touched is needed: 1.0 is best."""
        return self.fewest_lines / self.lines if self.lines else 1.0


def costs_of(reports: Sequence[Report]) -> Costs:
    """Add up what the instructions have cost."""
    if not reports:
        return Costs()
    *instructions, rest = reports
    device = [one for one in instructions if one["space"] == "device"]
    shared = [one for one in instructions if one["space"] == "threadgroup"]
    return Costs(
        bytes_read=sum(one["bytes"] for one in device if not one["writes"]),
        bytes_written=sum(one["bytes"] for one in device if one["writes"]),
        accesses=sum(one["executions"] for one in device),
        lines=sum(one["steps"] for one in device),
        fewest_lines=sum(one["fewest_steps"] for one in device),
        threadgroup_turns=sum(one["steps"] for one in shared),
        fewest_threadgroup_turns=sum(one["fewest_steps"] for one in shared),
        barriers=rest["barriers"],
        adds=rest["adds"],
        multiplies=rest["multiplies"],
        other_operations=rest["others"],
    )
