"""Wrong kernels as functions of arrays: compiled from records, and really run."""

import ctypes
import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tiny_llm_course.records.cpp_text import WrongKernel

Numbers = NDArray[Any]
Run = Callable[..., None]

MARGIN = 4096
"""Zeros before and after each array: a wrong kernel may read and write there."""


def made(own: WrongKernel, library: Path | None) -> Any:  # noqa: ANN401 - a function
    """Return a wrong kernel as Python calls it.

    Args:
        own: The kernel.
        library: Where it is compiled, together with all of its day. None if it is not.
    """
    if library is None:
        return _not_compiled
    run = getattr(_loaded(str(library)), own.entry)
    run.restype = None
    return functools.partial(CALLS[own.kernel.entry], functools.partial(_run, run))


def _not_compiled(*_: object, **__: object) -> NoReturn:
    """Stand in for a wrong kernel, and fail as no learner's does."""
    raise NotImplementedError("this wrong kernel is not compiled")


@functools.cache
def _loaded(path: str) -> ctypes.CDLL:
    return ctypes.CDLL(path)


def _run(function: Run, *arguments: Numbers) -> None:
    """Call a function of C with where arrays begin."""
    function(*(ctypes.c_void_p(one.ctypes.data) for one in arguments))


def _spacious(numbers: Numbers) -> Numbers:
    """Copy numbers to where zeros stand before and after them."""
    around = np.zeros(numbers.size + 2 * MARGIN, numbers.dtype)
    inside = around[MARGIN : MARGIN + numbers.size].reshape(numbers.shape)
    inside[...] = numbers
    return inside


def _floats(x: mx.array) -> Numbers:
    """Return the numbers of an array in float32, with room around them."""
    return _spacious(np.array(x.astype(mx.float32)))


def _zeros(*shape: int) -> Numbers:
    return _spacious(np.zeros(shape, np.float32))


def _sizes(*sizes: int) -> Numbers:
    return np.array(sizes, np.int32)


def _result(y: Numbers, like: mx.array) -> mx.array:
    return mx.array(y).astype(like.dtype)


def _matrix(w: Any) -> tuple[Numbers, Numbers, Numbers]:  # noqa: ANN401
    """Return the words, scales and biases of a quantised matrix."""
    return _spacious(np.array(w.weight)), _floats(w.scales), _floats(w.biases)


def _num_columns(w: Any) -> int:  # noqa: ANN401
    return w.scales.shape[1] * w.group_size


def _matvec(run: Run, x: mx.array, w: Any) -> mx.array:  # noqa: ANN401
    y = _zeros(len(w.scales))
    run(_floats(x), *_matrix(w), y, _sizes(len(y), x.size, w.group_size, w.bits))
    return _result(y, x)


def _matvec_typed(run: Run, x: mx.array, w: Any) -> mx.array:  # noqa: ANN401
    """Hand scales and biases over as they are stored."""
    dtype = (mx.float32, mx.float16, mx.bfloat16).index(w.scales.dtype)
    numbers = (
        _spacious(np.array(one.view(mx.uint16) if dtype else one))
        for one in (w.scales, w.biases)
    )
    y, words = _zeros(len(w.scales)), _spacious(np.array(w.weight))
    sizes = _sizes(len(y), x.size, w.group_size, w.bits, dtype)
    run(_floats(x), words, *numbers, y, sizes)
    return _result(y, x)


def _matmul(run: Run, x: mx.array, w: Any) -> mx.array:  # noqa: ANN401
    y = _zeros(len(x), len(w.scales))
    sizes = _sizes(len(w.scales), x.shape[1], w.group_size, w.bits, len(x))
    run(_floats(x), *_matrix(w), y, sizes)
    return _result(y, x)


def _pack_panel(run: Run, w: Any, first_row: int) -> tuple[mx.array, ...]:  # noqa: ANN401
    num_rows, num_groups = w.scales.shape
    q = _spacious(np.zeros((_num_columns(w) // 4, 16, 4), np.uint8))
    scales, biases = _zeros(num_groups, 16), _zeros(num_groups, 16)
    sizes = _sizes(num_rows, _num_columns(w), w.group_size, w.bits, first_row)
    run(*_matrix(w), q, scales, biases, sizes)
    return mx.array(q), mx.array(scales), mx.array(biases)


def _attention(
    run: Run,
    query: mx.array,
    key: mx.array,
    value: mx.array,
    scale: float,
    mask: mx.array | str | None = None,
) -> mx.array:
    (B, H, L, D), (_, H_kv, S, _) = query.shape, key.shape  # noqa: N806
    added = mask if isinstance(mask, mx.array) else mx.zeros(())
    y, every = _zeros(B, H, L, D), mx.broadcast_to(added, (B, H, L, S))
    flags = mask == "causal", isinstance(mask, mx.array)
    inputs = map(_floats, (query, key, value, every, mx.array(scale)))
    run(*inputs, y, _sizes(B, H, H_kv, L, S, D, *flags))
    return _result(y, query)


def _paged(run: Run, query: mx.array, *given: Any) -> mx.array:  # noqa: ANN401
    """Hand over what comes after the query: pages, tables, a scale, perhaps a mask."""
    key_pages, value_pages, block_table, context_lens, scale, *mask = given
    y, sizes = _zeros(*query.shape), (*query.shape, *key_pages.shape[1:3])
    inputs = map(_floats, (query, key_pages, value_pages, mx.array(scale)))
    tables = (_spacious(np.array(one)) for one in (block_table, context_lens))
    is_causal = mask == ["causal"]
    run(*inputs, *tables, y, _sizes(*sizes, block_table.shape[1], is_causal))
    return _result(y, query)


def _rms_norm(run: Run, x: mx.array, weight: mx.array, eps: float) -> mx.array:
    y = _zeros(*x.shape)
    sizes = _sizes(x.size // x.shape[-1], x.shape[-1])
    run(_floats(x), _floats(weight), _floats(mx.array(eps)), y, sizes)
    return _result(y, x)


def _add_rms_norm(
    run: Run, x: mx.array, residual: mx.array, weight: mx.array, eps: float
) -> tuple[mx.array, mx.array]:
    total, y = _zeros(*x.shape), _zeros(*x.shape)
    inputs = map(_floats, (x, residual, weight, mx.array(eps)))
    run(*inputs, total, y, _sizes(x.size // x.shape[-1], x.shape[-1]))
    return _result(total, x), _result(y, x)


def _rope(run: Run, x: mx.array, offset: int, base: float) -> mx.array:
    y = _zeros(*x.shape)
    run(_floats(x), np.array(base, np.float64), y, _sizes(*x.shape, offset))
    return _result(y, x)


def _swiglu(run: Run, gate: mx.array, up: mx.array) -> mx.array:
    y = _zeros(*gate.shape)
    run(_floats(gate), _floats(up), y, _sizes(gate.size))
    return _result(y, gate)


def _run_layer(
    run: Run,
    layer: Any,  # noqa: ANN401 - of a solution
    x: mx.array,
    keys: mx.array,
    values: mx.array,
    offset: int,
) -> tuple[mx.array, ...]:
    y, buffers = _zeros(*x.shape), (_floats(keys), _floats(values))
    matrices = [_matrix(w) for w in layer.matrices]
    stored = (_joined(parts) for parts in zip(*matrices, strict=True))
    vectors = _joined([np.array(one.astype(mx.float32)) for one in layer.vectors])
    sizes = [x.shape[1], keys.shape[2], offset, layer.num_heads]
    for w in layer.matrices:
        sizes += [len(w.scales), _num_columns(w), w.group_size, w.bits]
    constants = np.array([layer.eps, layer.base], np.float64)
    run(_floats(x), *buffers, *stored, vectors, constants, y, _sizes(*sizes))
    return tuple(_result(one, x) for one in (y, *buffers))


def _joined(parts: Iterable[Numbers]) -> Numbers:
    """Put arrays one after the other, with room around all of them."""
    return _spacious(np.concatenate([one.ravel() for one in parts]))


CALLS: dict[str, Callable[..., Any]] = {
    "matvec_typed.h": _matvec_typed,
    "matvec.h": _matvec,
    "matvec_int8.h": _matvec,
    "matvec_threaded.h": _matvec,
    "matmul.h": _matmul,
    "pack_panel.h": _pack_panel,
    "attention.h": _attention,
    "paged.h": _paged,
    "rms_norm.h": _rms_norm,
    "add_rms_norm.h": _add_rms_norm,
    "rope.h": _rope,
    "swiglu.h": _swiglu,
    "run_layer.h": _run_layer,
}
"""How each entry is called."""
