"""The memory of the model: the keys and values of all tokens that it has seen."""

from abc import ABC, abstractmethod
from typing import Literal

import mlx.core as mx
from jaxtyping import Float

from . import kernels

Mask = Float[mx.array, "..."] | Literal["causal"] | None


class TinyKvCache(ABC):
    """What an attention layer remembers of the tokens before.

    Attributes:
        offset: Number of tokens that it holds, and so the position of the next one.
    """

    offset: int

    @abstractmethod
    def update_and_fetch(
        self,
        key: Float[mx.array, "B H L D"],
        value: Float[mx.array, "B H L D"],
        mask_length: int | None = None,
        mask: Mask = None,
    ) -> tuple[Float[mx.array, "B H S D"], Float[mx.array, "B H S D"], int, Mask]:
        """Add the keys and values of L new tokens, and hand out those of all tokens.

        Args:
            key: Keys of the new tokens, already rotated.
            value: Values of the new tokens.
            mask_length: Number L of new tokens, for caches that make a mask
                themselves.
            mask: What the new tokens may see, as the attention takes it.

        Returns:
            The keys and the values of all S tokens, the number S, and the mask to
            attend with.
        """


class TinyKvFullCache(TinyKvCache):
    """Remember every token, in arrays that have room to spare.

    Keys and values stand in two buffers, B x H x capacity x D, of which the first
    `offset` places are taken. A token that fits is written into its place. One that
    does not fit first moves everything into buffers that are twice as long, so n
    tokens, one after the other, cause fewer than 2 n of them to be moved.

    MLX writes in place when nobody else holds the buffer. While what an earlier call
    has handed out is still in use, it writes into a copy, so that it does not change.

    Attributes:
        offset: Number of tokens that it holds, and so the position of the next one.
    """

    def __init__(self) -> None:
        self.offset = 0
        self._keys: mx.array | None = None
        self._values: mx.array | None = None

    def update_and_fetch(
        self,
        key: Float[mx.array, "B H L D"],
        value: Float[mx.array, "B H L D"],
        mask_length: int | None = None,
        mask: Mask = None,
    ) -> tuple[Float[mx.array, "B H S D"], Float[mx.array, "B H S D"], int, Mask]:
        """Add the keys and values of L new tokens, and hand out those of all tokens.

        Args:
            key: Keys of the new tokens, already rotated. The first call decides on
                the dtype and on all lengths but L.
            value: Values of the new tokens.
            mask_length: Not used: this cache makes no mask.
            mask: Handed back as it is: no token is forgotten, so none has to be hidden.

        Returns:
            The keys and the values of all S tokens, the number S, and the mask.
        """
        del mask_length
        start, stop = self.offset, self.offset + key.shape[2]
        self._keys = _with_room(self._keys, key, stop)
        self._values = _with_room(self._values, value, stop)
        self._keys[:, :, start:stop] = key
        self._values[:, :, start:stop] = value
        self.offset = stop
        return self._keys[:, :, :stop], self._values[:, :, :stop], stop, mask

    def _lend(
        self, new: Float[mx.array, "B H L D"]
    ) -> tuple[Float[mx.array, "B H C D"], Float[mx.array, "B H C D"]]:
        """Hand out both buffers, with room for L more tokens, to be written into.

        Args:
            new: As long as what will be written on every axis: only its shape and
                dtype count.
        """
        stop = self.offset + new.shape[2]
        return _with_room(self._keys, new, stop), _with_room(self._values, new, stop)

    def _take_back(
        self,
        keys: Float[mx.array, "B H C D"],
        values: Float[mx.array, "B H C D"],
        num_new: int,
    ) -> None:
        """Keep the buffers into which `num_new` tokens were written."""
        self._keys, self._values = keys, values
        self.offset += num_new


def _with_room(
    buffer: Float[mx.array, "B H C D"] | None,
    new: Float[mx.array, "B H L D"],
    num_places: int,
) -> Float[mx.array, "B H C2 D"]:
    """Return `buffer` if it has the places, and otherwise a longer one with its rows.

    Args:
        buffer: None if there is none yet.
        new: What will be written next: it says how long the other axes are.
        num_places: How many places are needed.
    """
    B, H, _, D = new.shape  # noqa: N806 - the axes as in the shapes
    if buffer is None:
        # At least 16, so that the first tokens of a short text do not move at once.
        longer = mx.zeros((B, H, max(num_places, 16), D), new.dtype)
    elif num_places <= (capacity := buffer.shape[2]):
        return buffer
    else:
        num_spare = max(num_places, 2 * capacity) - capacity
        spare = mx.zeros((B, H, num_spare, D), buffer.dtype)
        longer = mx.concatenate([buffer, spare], axis=2)
    if kernels.are_on():
        kernels.settle(longer)
    return longer
