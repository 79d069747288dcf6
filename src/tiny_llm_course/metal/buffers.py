"""Between MLX's arrays and the memory that a kernel is called with."""

from collections.abc import Sequence

import mlx.core as mx
import numpy as np

from tiny_llm_course.metal import arguments
from tiny_llm_course.metal.arguments import Role
from tiny_llm_course.metal.process import Buffer

Shape = Sequence[int]


def buffers_of(
    wanted: Sequence[arguments.Buffer],
    inputs: Sequence[mx.array],
    outputs: Sequence[tuple[Shape, mx.Dtype]],
    *,
    init_value: float | None,
    ensure_row_contiguous: bool,
) -> list[Buffer]:
    """Return what the kernel's arguments point to.

    Args:
        wanted: The kernel's arguments, in order.
        inputs: Its arrays.
        outputs: Shapes and dtypes of the arrays that it makes.
        init_value: What the outputs are filled with at first. None for nothing.
        ensure_row_contiguous: Whether inputs of other strides are copied.
    """
    stored = [Stored(array, in_rows=ensure_row_contiguous) for array in inputs]
    made: list[Buffer] = []
    for one in wanted:
        if one.role is Role.OUTPUT:
            shape, dtype = outputs[one.array]
            size = int(np.prod(shape))
            values = None if init_value is None else _filled(size, dtype, init_value)
            made.append(Buffer(one.name, one.space, True, dtype.size, size, values))
        else:
            made.append(_input(one, stored[one.array]))
    return made


class Stored:
    """An array as it lies in memory.

    Args:
        array: Of MLX.
        in_rows: Whether to copy it, if its rows do not follow each other.

    Attributes:
        values: Its bytes, from the first to the last element.
        strides: In elements.
    """

    def __init__(self, array: mx.array, *, in_rows: bool) -> None:
        if in_rows:
            array = mx.contiguous(array)
        # NumPy has no bfloat16, and takes it for what it is not.
        plain = array.view(mx.uint16) if array.dtype == mx.bfloat16 else array
        view = np.asarray(plain)
        if min(view.strides, default=0) < 0:  # A buffer begins with its first element.
            view = np.ascontiguousarray(view)
        self.shape = array.shape
        self.element_size = view.itemsize
        self.strides = [step // view.itemsize for step in view.strides]
        reach = zip(self.shape, self.strides, strict=True)
        length = 1 + sum((number - 1) * step for number, step in reach)
        if 0 in self.shape:
            length = 0
        flat = np.lib.stride_tricks.as_strided(view, (length,), (view.itemsize,))
        self.values = flat.tobytes()


def _input(argument: arguments.Buffer, stored: Stored) -> Buffer:
    """Return an input, or what the kernel asks about one."""
    match argument.role:
        case Role.SHAPE:
            about = np.array(stored.shape, np.int32)
        case Role.STRIDES:
            about = np.array(stored.strides, np.int64)
        case Role.NDIM:
            about = np.array([len(stored.shape)], np.int32)
        case _:
            length = len(stored.values) // stored.element_size
            return Buffer(
                argument.name,
                argument.space,
                False,
                stored.element_size,
                length,
                stored.values,
            )
    return Buffer(
        argument.name,
        argument.space,
        False,
        about.itemsize,
        about.size,
        about.tobytes(),
    )


def _filled(size: int, dtype: mx.Dtype, value: float) -> bytes:
    return Stored(mx.full((size,), value, dtype), in_rows=True).values


def array_of(values: bytes, shape: Shape, dtype: mx.Dtype) -> mx.array:
    """Return the array that some bytes are."""
    return mx.array(np.frombuffer(values, np.uint8)).view(dtype).reshape(shape)
