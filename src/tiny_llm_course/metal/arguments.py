"""The arguments of a kernel that MLX makes: buffers, and what a thread asks of itself.

The rules were read in MLX 0.32.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import mlx.core as mx

from tiny_llm_course.catalogue import say

# An input of fewer elements lies in constant memory.
_FEW = 8

_TYPES = {
    mx.bool_: "bool",
    mx.uint8: "uint8_t",
    mx.uint16: "uint16_t",
    mx.uint32: "uint32_t",
    mx.uint64: "uint64_t",
    mx.int8: "int8_t",
    mx.int16: "int16_t",
    mx.int32: "int32_t",
    mx.int64: "int64_t",
    mx.float16: "float16_t",
    mx.float32: "float",
    mx.bfloat16: "bfloat16_t",
}

# What a kernel may ask of the thread that runs it (MSL 5.2.3.6), and its answer.
_POSITIONS = {
    "dispatch_threads_per_threadgroup": "dispatched_group_size",
    "grid_size": "grid_size",
    "thread_position_in_grid": "in_grid",
    "thread_position_in_threadgroup": "in_group",
    "threadgroup_position_in_grid": "group",
    "threadgroups_per_grid": "groups",
    "threads_per_grid": "grid_size",
    "threads_per_threadgroup": "group_size",
}
_ASKED_SIZE = (
    "thread_.dispatched_group_size.x * thread_.dispatched_group_size.y * "
    "thread_.dispatched_group_size.z"
)
_SIZE = "thread_.group_size.x * thread_.group_size.y * thread_.group_size.z"
_NUMBERS = {
    "dispatch_quadgroups_per_threadgroup": f"({_ASKED_SIZE} + 3) / 4",
    "dispatch_simdgroups_per_threadgroup": f"({_ASKED_SIZE} + 31) / 32",
    "quadgroup_index_in_threadgroup": "thread_.index_in_group / 4",
    "quadgroups_per_threadgroup": f"({_SIZE} + 3) / 4",
    "simdgroup_index_in_threadgroup": "thread_.simdgroup",
    "simdgroups_per_threadgroup": "thread_.num_simdgroups",
    "thread_execution_width": "32u",
    "thread_index_in_quadgroup": "thread_.index_in_group % 4",
    "thread_index_in_simdgroup": "thread_.lane",
    "thread_index_in_threadgroup": "thread_.index_in_group",
    "threads_per_simdgroup": "32u",
}


@dataclass(frozen=True)
class Kind:
    """What the head of a kernel depends on of an input."""

    dtype: mx.Dtype
    ndim: int
    size: int


class Role(StrEnum):
    """What a buffer holds."""

    INPUT = "input"
    SHAPE = "shape"  # int32, one per dimension
    STRIDES = "strides"  # int64, one per dimension, in elements
    NDIM = "ndim"  # one int32
    OUTPUT = "output"


@dataclass(frozen=True)
class Buffer:
    """An argument of the kernel that is memory.

    Args:
        name: Of the argument, such as `x` or `x_shape`.
        role: What it holds.
        array: The number of the input or output it belongs to.
        space: `device` or `constant`.
        type: Of an element, as the source may name it.
        is_reference: It is one value rather than many.
    """

    name: str
    role: Role
    array: int
    space: str
    type: str
    is_reference: bool

    def declared(self) -> str:
        """Write it as an argument."""
        const = "" if self.role is Role.OUTPUT else "const "
        mark = "&" if self.is_reference else "*"
        return f"{const}{self.space} {self.type}{mark} {self.name}"

    def unpacked(self, index: int) -> str:
        """Write the value it is given: number `index` of all buffers."""
        const = "" if self.role is Role.OUTPUT else "const "
        pointer = f"static_cast<{const}{self.type}*>(buffers[{index}])"
        return f"*{pointer}" if self.is_reference else pointer


def type_name(dtype: mx.Dtype) -> str:
    """Return Metal's name of a dtype.

    Raises:
        ValueError: The simulator has no such numbers.
    """
    if dtype not in _TYPES:
        raise ValueError(say("metal.misuse.dtype", dtype=dtype))
    return _TYPES[dtype]


def input_buffers(
    names: Sequence[str], kinds: Sequence[Kind], source: str
) -> Iterator[Buffer]:
    """List the inputs, each with what the source asks about it."""
    for number, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        space = "constant" if kind.size < _FEW else "device"
        type_ = type_name(kind.dtype)
        yield Buffer(name, Role.INPUT, number, space, type_, kind.ndim == 0)
        if kind.ndim == 0:
            continue
        for role, about in (
            (Role.SHAPE, "int"),
            (Role.STRIDES, "int64_t"),
            (Role.NDIM, "int"),
        ):
            asked = f"{name}_{role}"
            if asked in source:
                is_one = role is Role.NDIM
                yield Buffer(asked, role, number, "constant", about, is_one)


def output_buffers(
    names: Sequence[str], dtypes: Sequence[mx.Dtype], *, atomic: bool
) -> Iterator[Buffer]:
    """List the outputs."""
    for number, (name, dtype) in enumerate(zip(names, dtypes, strict=True)):
        plain = type_name(dtype)
        type_ = f"atomic<{plain}>" if atomic else plain
        yield Buffer(name, Role.OUTPUT, number, "device", type_, is_reference=False)


def attributes(source: str) -> list[tuple[str, str, str]]:
    """Return what a source asks of its thread: name, type and value of each."""
    found: list[tuple[str, str, str]] = []
    for name, member in _POSITIONS.items():
        at = f"thread_.{member}"
        found.append((name, "uint3", f"uint3({at}.x, {at}.y, {at}.z)"))
    found.append(("grid_origin", "uint3", "uint3(0u, 0u, 0u)"))
    found += [(name, "uint", value) for name, value in _NUMBERS.items()]
    return sorted(each for each in found if each[0] in source)
