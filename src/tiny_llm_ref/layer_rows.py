"""A layer of the model for several texts, as a single operation on the CPU."""

import contextlib
import functools
from collections.abc import Sequence
from typing import Any

import mlx.core as mx
from jaxtyping import Float, Int32

from . import kernels
from .compiled import built, packed
from .kv_cache import TinyKvCache, TinyKvFullCache
from .quantize import QuantizedWeights


class LayerRows:
    """Run a layer for the new tokens of several texts, of each as many as there are.

    Products take the tokens of all texts at once, and so read the weights once. In
    between, each text attends to its own keys and values, and the threads share all of
    them. Keys and values are written in place: nothing as large as a cache is copied.

    Where the kernels are off, a matrix is dense, or a kernel is not written, there is
    no such operation: those of MLX do the work. So they do on a GPU, where nobody has
    tried it yet. Whether there is one is found out when it is first asked for.

    Args:
        matrices: The seven weights, in the order of `kernels.Layer`.
        vectors: The biases and the gains of the norms, in the same way.
        num_heads: Number of query heads H.
        max_seq_len: Number of positions that can be rotated.
        eps: Of both norms.
        theta: Base of the rotation.
    """

    def __init__(
        self,
        matrices: Sequence[mx.array | QuantizedWeights],
        vectors: Sequence[Float[mx.array, " _"]],
        *,
        num_heads: int,
        max_seq_len: int,
        eps: float,
        theta: float,
    ) -> None:
        self._packed = [one for one in matrices if isinstance(one, QuantizedWeights)]
        self._others = (list(vectors), num_heads, eps, theta)
        self._is_possible = kernels.are_on() and len(self._packed) == len(matrices)
        self._max_seq_len = max_seq_len
        head_dim = vectors[0].size // num_heads
        # By its shape, caches make their buffers.
        self._new = mx.zeros((1, vectors[1].size // head_dim, 1, head_dim))

    @functools.cached_property
    def _run(self) -> Any:  # noqa: ANN401 - a function in C++
        """The operation on buffers, one pair for each text. None if there is none."""
        return self._compiled(in_pages=False)

    @functools.cached_property
    def _run_in_pages(self) -> Any:  # noqa: ANN401
        """The operation on the pages of a pool. None if there is none."""
        return self._compiled(in_pages=True)

    def _compiled(self, *, in_pages: bool) -> Any:  # noqa: ANN401
        if not self._is_possible:
            return None
        weights = [packed(w) for w in self._packed]
        with contextlib.suppress(NotImplementedError):
            return built().LayerRows(weights, *self._others, in_pages)
        return None

    def suits(
        self, x: mx.array, lengths: Sequence[int], caches: Sequence[TinyKvCache]
    ) -> bool:
        """Tell whether the operation computes what a layer is asked for.

        It computes in float32, and needs caches that lend what it writes into: either
        their buffers or all the pages of one pool.

        Args:
            x: The stream, 1 x T x E.
            lengths: How many of the T tokens are whose.
            caches: This layer's cache of each text.
        """
        if _have_pages(caches):
            run = self._run_in_pages
        else:
            run = self._run if _have_buffers(caches) else None
        return (
            run is not None
            and x.dtype == mx.float32
            and all(
                cache.offset + length <= self._max_seq_len
                for cache, length in zip(caches, lengths, strict=True)
            )
        )

    def __call__(
        self,
        x: Float[mx.array, "1 T E"],
        lengths: Sequence[int],
        caches: Sequence[Any],
    ) -> Float[mx.array, "1 T E"]:
        """Carry the stream of all new tokens through the layer, and cache them.

        Args:
            x: The stream: the new tokens of one text after those of another.
            lengths: How many of the T tokens are whose.
            caches: Some that suit.

        Raises:
            ValueError: There are no pages for new tokens.
        """
        offsets = [cache.offset for cache in caches]
        ends = [first + length for first, length in zip(offsets, lengths, strict=True)]
        step = (x, lengths, offsets)
        y = (
            self._in_pages(step, ends, caches)
            if _have_pages(caches)
            else self._in_buffers(step, ends, caches)
        )
        for cache, end in zip(caches, ends, strict=True):
            cache.offset = end
        return y

    def suits_slots(self, x: mx.array, offsets: Sequence[int], cache: Any) -> bool:  # noqa: ANN401
        """Tell whether the operation computes the texts in the slots of a cache.

        Args:
            x: The stream, with a row for each slot.
            offsets: How many tokens came before, in each row.
            cache: Has a list `slots`: of each row's own cache, or None if it is idle.
        """
        slots = getattr(cache, "slots", None)
        if not isinstance(slots, list) or not len(slots) == len(offsets) == x.shape[0]:
            return False
        active = [row for row, own in enumerate(slots) if own is not None]
        own = [slots[row] for row in active]
        return (
            len(active) > 0
            and self.suits(x, [x.shape[1]] * len(own), own)
            and [one.offset for one in own] == [offsets[row] for row in active]
        )

    def run_slots(
        self,
        x: Float[mx.array, "B L E"],
        cache: Any,  # noqa: ANN401
    ) -> Float[mx.array, "B L E"]:
        """Carry the stream of all slots through the layer. Idle rows come out as zeros.

        Args:
            x: The stream, with a row for each slot.
            cache: One that suits.
        """
        active = [row for row, own in enumerate(cache.slots) if own is not None]
        lengths = [x.shape[1]] * len(active)
        rows = mx.array(active)
        new = x[rows].reshape(1, -1, x.shape[2])
        y = self(new, lengths, [cache.slots[row] for row in active])
        out = mx.zeros_like(x)
        out[rows] = y.reshape(len(active), *x.shape[1:])
        return out

    def _in_buffers(
        self, step: Sequence[Any], ends: Sequence[int], caches: Sequence[Any]
    ) -> Float[mx.array, "1 T E"]:
        """Run the operation on buffers, one pair for each text."""
        lent = [
            cache.buffers.lend(self._new, self._new, end)
            for cache, end in zip(caches, ends, strict=True)
        ]
        keys, values = zip(*lent, strict=True)
        y, *written = self._run(*step, keys, values, None)
        num_rows = len(caches)
        for i, cache in enumerate(caches):
            cache.buffers.take_back(written[i], written[num_rows + i])
        return y

    def _in_pages(
        self, step: Sequence[Any], ends: Sequence[int], caches: Sequence[Any]
    ) -> Float[mx.array, "1 T E"]:
        """Run the operation on the pages of a pool."""
        for cache, end in zip(caches, ends, strict=True):
            _make_room(cache, end)
        tables = [cache.block_table for cache in caches]
        pages = caches[0].pool.pages
        num_pages = 1 + max(map(max, tables))
        keys, values = pages.lend(self._new, self._new, num_pages)
        y, keys, values = self._run_in_pages(*step, [keys], [values], _table(tables))
        pages.take_back(keys, values)
        return y


def _have_buffers(caches: Sequence[TinyKvCache]) -> bool:
    """Tell whether caches are plain, and have buffers to lend."""
    return all(
        type(cache) is TinyKvFullCache and hasattr(cache, "buffers") for cache in caches
    )


def _have_pages(caches: Sequence[Any]) -> bool:
    """Tell whether caches have their pages in one pool, which lends them.

    A learner's own may keep them in another way.
    """
    pool = getattr(caches[0], "pool", None)
    return hasattr(pool, "pages") and all(
        getattr(cache, "pool", None) is pool and hasattr(cache, "owns_pages")
        for cache in caches
    )


def _make_room(cache: Any, num_tokens: int) -> None:  # noqa: ANN401
    """Take pages for so many tokens. Another's pages are its owner's to append."""
    if cache.owns_pages:
        while len(cache.block_table) * cache.pool.page_size < num_tokens:
            cache.block_table.append(cache.pool.allocate())


def _table(tables: Sequence[Sequence[int]]) -> Int32[mx.array, "B M"]:
    """Put the pages of all texts into one table, with -1 where a text has no more."""
    longest = max(map(len, tables))
    return mx.array(
        [[*table, *[-1] * (longest - len(table))] for table in tables], mx.int32
    )
