"""The Qwen2 model with a memory: each token is computed once, and never again."""

import functools
from collections.abc import Sequence
from typing import Any

import mlx.core as mx
from jaxtyping import Float, Integer
from mlx import nn

from tiny_llm_course import todo

from .attention import scaled_dot_product_attention_grouped
from .basics import linear, silu
from .checks import check_heads, check_is_qwen2, checked
from .embedding import Embedding
from .kv_cache import TinyKvCache
from .layer_norm import RMSNorm
from .masks import Mask
from .positional_encoding import RoPE


class Qwen2MultiHeadAttention:
    """Attend with grouped heads to the new tokens and to those in a cache.

        q = rope(x wq^T + bq)   k = rope(x wk^T + bk)   v = x wv^T + bv
        K, V = k and v after those in the cache
        y = concat over heads of attention(q, K, V) wo^T

    Only the L new tokens are projected and rotated. The cache keeps keys as they are
    compared, rotated and one per key head.

    Arguments are those of Week 1's class, and one more.

    Args:
        use_flash_attention: For day 6. Until then there is nothing to switch on.
    """

    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        num_kv_heads: int,
        wq: Float[mx.array, "HD E"],
        wk: Float[mx.array, "HkvD E"],
        wv: Float[mx.array, "HkvD E"],
        wo: Float[mx.array, "E HD"],
        bq: Float[mx.array, " HD"],
        bk: Float[mx.array, " HkvD"],
        bv: Float[mx.array, " HkvD"],
        max_seq_len: int = 32768,
        theta: float = 1000000,
        use_flash_attention: bool = False,
    ) -> None:
        todo("week 2, day 1, task 2")

    def __call__(
        self,
        x: Float[mx.array, "B L E"],
        offset: int | Sequence[int],
        cache: TinyKvCache,
        mask: Mask = None,
    ) -> Float[mx.array, "B L E"]:
        """Let every token of `x` collect from the S tokens in the cache and in `x`.

        Args:
            x: Activations of the new tokens.
            offset: Position of the first of them: how many tokens came before. From
                Week 3 on also a sequence: one position for each of the B rows.
            cache: What this layer remembers. The new tokens are added to it.
            mask: "causal", or an array that is added to the scores L x S, or None.
        """
        todo("week 2, day 1, task 2")


class Qwen2MLP:
    """Work on each token by itself: a gated feed-forward layer (SwiGLU).

        y = (silu(x w_gate^T) * (x w_up^T)) w_down^T

    Arguments are those of Week 1's class.
    """

    def __init__(
        self,
        dim: int,
        hidden_dim: int,
        w_gate: Float[mx.array, "I E"],
        w_up: Float[mx.array, "I E"],
        w_down: Float[mx.array, "E I"],
    ) -> None:
        todo("week 2, day 1, task 2")

    def __call__(self, x: Float[mx.array, "*N L E"]) -> Float[mx.array, "*N L E"]:
        """Transform every vector of `x`."""
        todo("week 2, day 1, task 2")


class Qwen2TransformerBlock:
    """One layer of the model: attention, then the MLP, each added to the stream.

        h = x + attention(norm_1(x), cache)
        y = h + mlp(norm_2(h))

    Arguments are those of Week 1's class, and one more.

    Args:
        use_flash_attention: As in the attention.
    """

    def __init__(
        self,
        num_attention_heads: int,
        num_kv_heads: int,
        hidden_size: int,
        intermediate_size: int,
        rms_norm_eps: float,
        wq: Float[mx.array, "HD E"],
        wk: Float[mx.array, "HkvD E"],
        wv: Float[mx.array, "HkvD E"],
        wo: Float[mx.array, "E HD"],
        bq: Float[mx.array, " HD"],
        bk: Float[mx.array, " HkvD"],
        bv: Float[mx.array, " HkvD"],
        w_gate: Float[mx.array, "I E"],
        w_up: Float[mx.array, "I E"],
        w_down: Float[mx.array, "E I"],
        w_input_layernorm: Float[mx.array, " E"],
        w_post_attention_layernorm: Float[mx.array, " E"],
        max_seq_len: int = 32768,
        theta: float = 1000000,
        use_flash_attention: bool = False,
    ) -> None:
        todo("week 2, day 1, task 2")

    def __call__(
        self,
        x: Float[mx.array, "B L E"],
        offset: int | Sequence[int],
        cache: TinyKvCache,
        mask: Mask = None,
    ) -> Float[mx.array, "B L E"]:
        """Carry the stream `x` of the new tokens through the layer.

        Arguments are those of the attention.
        """
        todo("week 2, day 1, task 2")


class Qwen2ModelWeek2:
    """The whole model, shown a text in pieces: it remembers those before.

    Attributes:
        num_hidden_layers: Number of layers, and so of the caches that it needs.

    Args:
        mlx_model: As for Week 1.
        enable_flash_attn: For day 6. Until then there is nothing to switch on.
    """

    def __init__(self, mlx_model: Any, enable_flash_attn: bool = False) -> None:  # noqa: ANN401
        todo("week 2, day 1, task 3")

    def __call__(
        self,
        inputs: Integer[mx.array, "B L"],
        offset: int,
        cache: Sequence[TinyKvCache],
    ) -> Float[mx.array, "B L V"]:
        """Score the next token after each of the new tokens.

        Args:
            inputs: Ids of the L tokens that are new.
            offset: Position of the first of them: how many tokens came before.
            cache: One cache per layer, with the tokens that came before. The new ones
                are added.

        Returns:
            Logits: what softmax turns into the probability of each next token.

        Raises:
            ValueError: There is not one cache per layer.
        """
        todo("week 2, day 1, task 3")
