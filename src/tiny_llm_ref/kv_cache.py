"""The memory of the model: the keys and values of all tokens that it has seen."""

from abc import ABC, abstractmethod

import mlx.core as mx
from jaxtyping import Float

from . import kernels
from .attention import causal_mask
from .masks import Mask


class TinyKvCache(ABC):
    """What an attention layer remembers of the tokens before.

    Attributes:
        offset: Number of tokens that it holds, and so the position of the next one.
    """

    offset: int

    @abstractmethod
    def update_and_fetch(
        self,
        key: Float[mx.array, "B H_kv L D"],
        value: Float[mx.array, "B H_kv L D"],
        mask_length: int | None = None,
        mask: Mask = None,
    ) -> tuple[Float[mx.array, "B H_kv S D"], Float[mx.array, "B H_kv S D"], int, Mask]:
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

    Keys and values stand in two buffers, B x H_kv x capacity x D, of which the first
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
        # Public for the operation of day 7, which writes into them itself.
        self.buffers = _Buffers()

    def update_and_fetch(
        self,
        key: Float[mx.array, "B H_kv L D"],
        value: Float[mx.array, "B H_kv L D"],
        mask_length: int | None = None,
        mask: Mask = None,
    ) -> tuple[Float[mx.array, "B H_kv S D"], Float[mx.array, "B H_kv S D"], int, Mask]:
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
        keys, values = self.buffers.lend(key, value, stop)
        keys[:, :, start:stop] = key
        values[:, :, start:stop] = value
        self.buffers.take_back(keys, values)
        self.offset = stop
        return keys[:, :, :stop], values[:, :, :stop], stop, mask


class BatchingKvCache(TinyKvCache):
    """Remember several texts, each in a slot: slot b is row b of a batch.

    A text is read into a cache of its own, and then put into a slot. Texts are not
    equally long, and an array is: shorter ones are padded in front, so that the newest
    tokens of all rows stand side by side in the last columns, and a mask hides the
    padding.

        slot 0   a b c d e f
        slot 1   - - - g h i

    There is no `offset` for all: every slot is at a place of its own.

    Args:
        max_active_requests: Number of slots.
        max_seq_len: The most tokens that a slot will ever hold, for caches that keep
            room for them. This one does not, so it is not used.
    """

    def __init__(
        self, max_active_requests: int, max_seq_len: int | None = None
    ) -> None:
        del max_seq_len
        # Public for the operation on a whole layer, which takes the texts in them.
        self.slots: list[TinyKvCache | None] = [None] * max_active_requests

    def add_request(self, prefilled: TinyKvCache, id: int) -> None:  # noqa: A002
        """Put a text that has been read into a slot.

        Args:
            prefilled: What one layer remembers of it. From now on it belongs to the
                slot.
            id: The number of the slot, from 0 on.

        Raises:
            ValueError: There is no such slot, or it is taken.
        """
        self._check(id, is_taken=False)
        self.slots[id] = prefilled

    def remove_request(self, id: int) -> None:  # noqa: A002
        """Forget the text in a slot, which is idle until another one is added.

        Args:
            id: The number of the slot.

        Raises:
            ValueError: There is no such slot, or it is idle.
        """
        self._check(id, is_taken=True)
        self.slots[id] = None

    def update_and_fetch(
        self,
        key: Float[mx.array, "B H_kv L D"],
        value: Float[mx.array, "B H_kv L D"],
        mask_length: int | None = None,
        mask: Mask = None,
    ) -> tuple[Float[mx.array, "B H_kv S D"], Float[mx.array, "B H_kv S D"], int, Mask]:
        """Add L new tokens to each slot, and hand out those of all tokens.

        An idle slot remembers nothing. It is handed back what it gets, so that its
        queries have keys to look at: the softmax of a row of nothing but -inf is NaN.

        Args:
            key: Keys of the new tokens, already rotated, with a row for each slot.
            value: Values of the new tokens.
            mask_length: Not used: the keys say how many tokens are new.
            mask: Not used: whatever is asked, a token sees those before it in its row.

        Returns:
            The keys and the values, the number S of tokens in the longest row, and the
            mask B x 1 x L x S: 0 where a query may look, and -inf where it may not.

        Raises:
            ValueError: There is not one row for each slot.
        """
        del mask_length, mask
        if key.shape[0] != len(self.slots):
            raise ValueError(
                f"BatchingKvCache: expected {len(self.slots)} rows, one per slot, got "
                f"{key.shape[0]}"
            )
        rows = [
            cache.update_and_fetch(key[b : b + 1], value[b : b + 1])[:2]
            if cache
            else (key[b : b + 1], value[b : b + 1])
            for b, cache in enumerate(self.slots)
        ]
        lengths = [keys.shape[2] for keys, _ in rows]
        return (
            _side_by_side([keys for keys, _ in rows]),
            _side_by_side([values for _, values in rows]),
            max(lengths),
            _mask_of_rows(lengths, key.shape[2], key.dtype),
        )

    def _check(self, slot: int, *, is_taken: bool) -> None:
        """Make sure that a slot is there, and is taken or is not."""
        num_slots = len(self.slots)
        if not 0 <= slot < num_slots:
            raise ValueError(
                f"BatchingKvCache: expected a slot below {num_slots}, got {slot}"
            )
        if (self.slots[slot] is not None) != is_taken:
            expected, got = ("taken", "idle") if is_taken else ("idle", "taken")
            raise ValueError(
                f"BatchingKvCache: expected slot {slot} to be {expected}, got one that "
                f"is {got}"
            )


def _side_by_side(rows: list[mx.array]) -> Float[mx.array, "B H_kv S D"]:
    """Join rows of different length, each padded in front to that of the longest."""
    longest = max(row.shape[2] for row in rows)
    return mx.concatenate(
        [
            mx.pad(row, [(0, 0), (0, 0), (longest - row.shape[2], 0), (0, 0)])
            for row in rows
        ]
    )


def _mask_of_rows(
    lengths: list[int],
    L: int,  # noqa: N803
    dtype: mx.Dtype,
) -> Float[mx.array, "B 1 L S"]:
    """Hide what comes later, and the padding in front of each row.

    Args:
        lengths: Number of tokens in each row, cached and new.
        L: Number of those that are new.
        dtype: Of the mask.
    """
    S = max(lengths)  # noqa: N806
    first_columns = S - mx.array(lengths)[:, None, None, None]
    is_padding = mx.arange(S) < first_columns
    return mx.where(is_padding, -mx.inf, causal_mask(L, S, dtype))


class _Buffers:
    """Keys and values in two arrays, each with room for more than are there.

    Whether kernels are going to read them is asked once, when they are made.
    """

    def __init__(self) -> None:
        self._keys: mx.array | None = None
        self._values: mx.array | None = None
        self._are_for_kernels = kernels.are_on()

    def lend(
        self,
        key: Float[mx.array, "B H_kv L D"],
        value: Float[mx.array, "B H_kv L D"],
        num_places: int,
    ) -> tuple[Float[mx.array, "B H_kv C D"], Float[mx.array, "B H_kv C D"]]:
        """Hand out both, with room for all tokens, to be written into.

        Args:
            key: Only its dtype and shape count: it says how long all axes but L are.
            value: In the same way.
            num_places: How many tokens there are going to be.
        """
        return (
            self._longer(self._keys, key, num_places),
            self._longer(self._values, value, num_places),
        )

    def take_back(
        self, keys: Float[mx.array, "B H_kv C D"], values: Float[mx.array, "B H_kv C D"]
    ) -> None:
        """Keep both, with what has been written into them."""
        self._keys, self._values = keys, values

    def _longer(
        self, buffer: mx.array | None, new: mx.array, num_places: int
    ) -> mx.array:
        """Return a buffer with room, in pages that kernels read faster if they do."""
        longer = _with_room(buffer, new, num_places)
        if self._are_for_kernels and longer is not buffer:
            kernels.advise_huge_pages(longer)
        return longer


def _with_room(
    buffer: Float[mx.array, "B H_kv C D"] | None,
    new: Float[mx.array, "B H_kv L D"],
    num_places: int,
) -> Float[mx.array, "B H_kv C2 D"]:
    """Return `buffer` if it has the places, and otherwise a longer one with its rows.

    Args:
        buffer: None if there is none yet.
        new: What will be written next: it says how long the other axes are.
        num_places: How many places are needed.
    """
    B, H_kv, _, D = new.shape  # noqa: N806 - the axes as in the shapes
    if buffer is None:
        # At least 16, so that the first tokens of a short text do not move at once.
        return mx.zeros((B, H_kv, max(num_places, 16), D), new.dtype)
    capacity = buffer.shape[2]
    if num_places <= capacity:
        return buffer
    num_spare = max(num_places, 2 * capacity) - capacity
    spare = mx.zeros((B, H_kv, num_spare, D), buffer.dtype)
    return mx.concatenate([buffer, spare], axis=2)
