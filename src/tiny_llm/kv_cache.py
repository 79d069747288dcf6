"""The memory of the model: the keys and values of all tokens that it has seen."""

from abc import ABC, abstractmethod

import mlx.core as mx
from jaxtyping import Float

from tiny_llm_course import todo

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
        todo("week 2, day 1, task 1")

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
        todo("week 2, day 1, task 1")


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
        todo("week 3, day 1, task 1")

    def add_request(self, prefilled: TinyKvCache, id: int) -> None:  # noqa: A002
        """Put a text that has been read into a slot.

        Args:
            prefilled: What one layer remembers of it. From now on it belongs to the
                slot.
            id: The number of the slot, from 0 on.

        Raises:
            ValueError: There is no such slot, or it is taken.
        """
        todo("week 3, day 1, task 1")

    def remove_request(self, id: int) -> None:  # noqa: A002
        """Forget the text in a slot, which is idle until another one is added.

        Args:
            id: The number of the slot.

        Raises:
            ValueError: There is no such slot, or it is idle.
        """
        todo("week 3, day 1, task 1")

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
        todo("week 3, day 1, task 1")
