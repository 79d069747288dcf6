"""The memory of the model: the keys and values of all tokens that it has seen."""

from abc import ABC, abstractmethod

import mlx.core as mx
from jaxtyping import Float

from tiny_llm_course import todo

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
