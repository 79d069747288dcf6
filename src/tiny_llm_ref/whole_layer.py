"""A layer of the model as a single operation on the CPU, and when it is one."""

import contextlib
from collections.abc import Sequence

import mlx.core as mx
from jaxtyping import Float

from . import kernels
from .kv_cache import TinyKvCache, TinyKvFullCache
from .layer_rows import LayerRows
from .masks import Mask
from .quantize import QuantizedWeights


class WholeLayer:
    """Run all kernels of a layer in one operation, which writes into the cache.

    Dispatching some thirty operations takes longer on a CPU than many of them. Where
    the kernels are off, a matrix is dense, or `run_layer` is not written, there is no
    such operation.

    Attributes:
        rows: The same for several texts. Whether there is one does not depend on
            `run_layer`.

    Args:
        matrices: The seven weights, in the order of `kernels.Layer`.
        vectors: The biases and the gains of the norms, in the same way.
        num_heads: Number of query heads H.
        max_seq_len: Number of positions that can be rotated.
        eps: Of both norms.
        theta: Base of the rotation.

    Raises:
        ValueError: Shapes or dtypes do not fit.
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
        packed = [one for one in matrices if isinstance(one, QuantizedWeights)]
        self._layer = None
        if kernels.are_on() and len(packed) == len(matrices):
            with contextlib.suppress(NotImplementedError):
                self._layer = kernels.Layer(
                    packed, vectors, num_heads=num_heads, eps=eps, base=theta
                )
        self.rows = LayerRows(
            matrices,
            vectors,
            num_heads=num_heads,
            max_seq_len=max_seq_len,
            eps=eps,
            theta=theta,
        )
        self._max_seq_len = max_seq_len
        self._head_dim = vectors[0].size // num_heads
        self._num_kv_heads = vectors[1].size // self._head_dim

    def suits(
        self,
        x: mx.array,
        offset: int | Sequence[int],
        cache: TinyKvCache,
        mask: Mask,
    ) -> bool:
        """Tell whether the operation computes what a layer is asked for.

        It computes one text in float32, and needs a cache with buffers to write into;
        or what `rows` suits: a text in pages, or those in the slots of a cache.
        Whatever else is asked for, the operations of the layer compute one by one.
        """
        if not isinstance(offset, int):
            return isinstance(mask, str) and self.rows.suits_slots(x, offset, cache)
        is_next_piece = offset == getattr(cache, "offset", None) and x.shape[0] == 1
        if not is_next_piece or not isinstance(mask, str):
            return False
        if hasattr(cache, "pool"):
            return self.rows.suits(x, [x.shape[1]], [cache])
        return (
            self._layer is not None
            and type(cache) is TinyKvFullCache
            and hasattr(cache, "buffers")
            and offset + x.shape[1] <= self._max_seq_len
            and x.dtype == mx.float32
        )

    def __call__(
        self, x: Float[mx.array, "B L E"], cache: TinyKvCache
    ) -> Float[mx.array, "B L E"]:
        """Carry the stream of L new tokens through the layer, and cache them.

        Args:
            x: The stream: of one text, or of each slot.
            cache: One that suits. It lends its buffers, or its pages, to the operation.
        """
        if hasattr(cache, "slots"):
            return self.rows.run_slots(x, cache)
        if hasattr(cache, "pool"):
            return self.rows(x, [x.shape[1]], [cache])
        assert isinstance(cache, TinyKvFullCache)
        assert self._layer is not None
        L = x.shape[1]  # noqa: N806 - as in the shapes
        new = mx.zeros((1, self._num_kv_heads, L, self._head_dim), x.dtype)
        last = cache.offset + L
        keys, values = cache.buffers.lend(new, new, last)
        offset = cache.offset
        y, keys, values = kernels.run_layer(self._layer, x, keys, values, offset)
        cache.buffers.take_back(keys, values)
        cache.offset = last
        return y
