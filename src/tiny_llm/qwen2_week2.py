"""The Qwen2 model with a memory: each token is computed once, and never again."""

import functools
from collections.abc import Sequence
from typing import Any

import mlx.core as mx
from jaxtyping import Float, Integer
from mlx import nn

from tiny_llm_course import todo

from . import kernels
from .attention import flash_attention, scaled_dot_product_attention_grouped
from .basics import linear, silu
from .embedding import Embedding
from .kv_cache import TinyKvCache
from .layer_norm import RMSNorm
from .masks import Mask
from .positional_encoding import RoPE
from .quantize import QuantizedWeights, quantized_linear
from .weights import PackedEmbedding, checked, for_kernels
from .whole_layer import WholeLayer


class Qwen2MultiHeadAttention:
    """Attend with grouped heads to the new tokens and to those in a cache.

        q = rope(x wq^T + bq)   k = rope(x wk^T + bk)   v = x wv^T + bv
        K, V = k and v after those in the cache
        y = concat over heads of attention(q, K, V) wo^T

    Only the L new tokens are projected and rotated. The cache keeps keys as they are
    compared, rotated and one per key head.

    Args:
        hidden_size: Width E of the activations.
        num_heads: Number of query heads H. The width of a head D is E / H.
        num_kv_heads: Number of key and value heads H_kv, which divides H.
        wq: Query projection, one block of D rows per query head.
        wk: Key projection, one block of D rows per key head.
        wv: Value projection, laid out like `wk`.
        wo: Output projection. It has no bias.
        bq: Bias of the queries, added before the rotation.
        bk: Bias of the keys, added before the rotation.
        bv: Bias of the values.
        max_seq_len: Number of positions that can be rotated.
        theta: Base of the rotation.
        use_flash_attention: Whether to attend with `flash_attention` of day 6.

    Raises:
        ValueError: `num_heads` does not divide `hidden_size`, `num_kv_heads` does
            not divide `num_heads`, or a weight has the wrong shape.

    Source: Yang et al. 2024 (arXiv:2407.10671), section 2.2.
    """

    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        num_kv_heads: int,
        wq: Float[mx.array, "HD E"] | QuantizedWeights,
        wk: Float[mx.array, "HkvD E"] | QuantizedWeights,
        wv: Float[mx.array, "HkvD E"] | QuantizedWeights,
        wo: Float[mx.array, "E HD"] | QuantizedWeights,
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
        offset: int,
        cache: TinyKvCache,
        mask: Mask = None,
    ) -> Float[mx.array, "B L E"]:
        """Let every token of `x` collect from the S tokens in the cache and in `x`.

        Args:
            x: Activations of the new tokens.
            offset: Position of the first of them: how many tokens came before.
            cache: What this layer remembers. The new tokens are added to it.
            mask: "causal", or an array that is added to the scores L x S, or None.
        """
        todo("week 2, day 1, task 2")


class Qwen2MLP:
    """Work on each token by itself: a gated feed-forward layer (SwiGLU).

        y = (silu(x w_gate^T) * (x w_up^T)) w_down^T

    It needs no cache: no token looks at another one here.

    Args:
        dim: Width E of the activations.
        hidden_dim: Width I in between.
        w_gate: Weight of the branch that goes through `silu` and opens the gate.
        w_up: Weight of the branch that passes through the gate.
        w_down: Weight of the way back to width E.

    Raises:
        ValueError: A weight has the wrong shape.

    Source: Shazeer 2020 (arXiv:2002.05202), equation 6. No biases.
    """

    def __init__(
        self,
        dim: int,
        hidden_dim: int,
        w_gate: Float[mx.array, "I E"] | QuantizedWeights,
        w_up: Float[mx.array, "I E"] | QuantizedWeights,
        w_down: Float[mx.array, "E I"] | QuantizedWeights,
    ) -> None:
        todo("week 2, day 1, task 2")

    def __call__(self, x: Float[mx.array, "*N L E"]) -> Float[mx.array, "*N L E"]:
        """Transform every vector of `x`."""
        todo("week 2, day 1, task 2")


class Qwen2TransformerBlock:
    """One layer of the model: attention, then the MLP, each added to the stream.

        h = x + attention(norm_1(x), cache)
        y = h + mlp(norm_2(h))

    The norms stand before the parts ("pre-norm"), so that the stream from x to y is
    only ever added to.

    With `use_flash_attention`, a layer whose weights are quantised runs as a single
    operation, of the kernels of days 4 to 7, where these are built and MLX computes on
    the CPU: dispatching some thirty operations takes longer there than many of them.

    Args:
        num_attention_heads: Number of query heads H.
        num_kv_heads: Number of key and value heads H_kv.
        hidden_size: Width E of the activations.
        intermediate_size: Width I inside the MLP.
        rms_norm_eps: The eps of both norms.
        wq: As in `Qwen2MultiHeadAttention`, like the next six.
        wk: Key projection.
        wv: Value projection.
        wo: Output projection.
        bq: Bias of the queries.
        bk: Bias of the keys.
        bv: Bias of the values.
        w_gate: As in `Qwen2MLP`, like the next two.
        w_up: Weight of the branch through the gate.
        w_down: Weight of the way back.
        w_input_layernorm: Gain of the norm before attention.
        w_post_attention_layernorm: Gain of the norm after it, before the MLP.
        max_seq_len: Number of positions that can be rotated.
        theta: Base of the rotation.
        use_flash_attention: As in `Qwen2MultiHeadAttention`.

    Raises:
        ValueError: As the parts do.

    Source: Yang et al. 2024 (arXiv:2407.10671), section 2.2; pre-norm from Xiong et
        al. 2020 (arXiv:2002.04745).
    """

    def __init__(
        self,
        num_attention_heads: int,
        num_kv_heads: int,
        hidden_size: int,
        intermediate_size: int,
        rms_norm_eps: float,
        wq: Float[mx.array, "HD E"] | QuantizedWeights,
        wk: Float[mx.array, "HkvD E"] | QuantizedWeights,
        wv: Float[mx.array, "HkvD E"] | QuantizedWeights,
        wo: Float[mx.array, "E HD"] | QuantizedWeights,
        bq: Float[mx.array, " HD"],
        bk: Float[mx.array, " HkvD"],
        bv: Float[mx.array, " HkvD"],
        w_gate: Float[mx.array, "I E"] | QuantizedWeights,
        w_up: Float[mx.array, "I E"] | QuantizedWeights,
        w_down: Float[mx.array, "E I"] | QuantizedWeights,
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
        offset: int,
        cache: TinyKvCache,
        mask: Mask = None,
    ) -> Float[mx.array, "B L E"]:
        """Carry the stream `x` of the new tokens through the layer.

        Args:
            x: Activations of the new tokens.
            offset: Handed to the attention, like the next two.
            cache: What the attention of this layer remembers.
            mask: What the new tokens may see.
        """
        todo("week 2, day 1, task 2")


class Qwen2ModelWeek2:
    """The whole model, shown a text in pieces: it remembers those before.

    Where the kernels are on, and the weights quantised, it computes in float32: that is
    what they compute in, and by far the fastest dtype of MLX on a CPU.

    Attributes:
        num_hidden_layers: Number of layers, and so of the caches that it needs.

    Args:
        mlx_model: What `mlx_lm` loads. Only its `args` and its weights are used,
            packed where they are quantised.
        enable_flash_attn: Whether to attend with `flash_attention` of day 6.

    Raises:
        ValueError: The checkpoint is not a Qwen2, or a weight has the wrong shape.

    Source: Yang et al. 2024 (arXiv:2407.10671), section 2.2.
    """

    def __init__(
        self,
        mlx_model: Any,  # noqa: ANN401 - mlx_lm has no types
        enable_flash_attn: bool = False,
    ) -> None:
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
