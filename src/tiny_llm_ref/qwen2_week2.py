"""The Qwen2 model with a memory: each token is computed once, and never again."""

import functools
from collections.abc import Sequence
from typing import Any

import mlx.core as mx
from jaxtyping import Float, Integer
from mlx import nn

from . import kernels
from .attention import flash_attention, scaled_dot_product_attention_grouped
from .basics import linear, silu
from .checks import check_heads, check_is_qwen2, checked
from .embedding import Embedding
from .kv_cache import TinyKvCache
from .layer_norm import RMSNorm
from .masks import Mask
from .positional_encoding import RoPE
from .quantize import QuantizedWeights, quantized_linear
from .weights import PackedEmbedding, for_kernels
from .whole_layer import WholeLayer


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
        check_heads(hidden_size, num_heads, num_kv_heads)
        head_dim = hidden_size // num_heads
        kv_size = num_kv_heads * head_dim
        self.wq = checked("wq", wq, (hidden_size, hidden_size))
        self.wk = checked("wk", wk, (kv_size, hidden_size))
        self.wv = checked("wv", wv, (kv_size, hidden_size))
        self.wo = checked("wo", wo, (hidden_size, hidden_size))
        self.bq = checked("bq", bq, (hidden_size,))
        self.bk = checked("bk", bk, (kv_size,))
        self.bv = checked("bv", bv, (kv_size,))
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.rope = _shared_rope(head_dim, max_seq_len, theta)
        self.attend = scaled_dot_product_attention_grouped
        if use_flash_attention:
            self.attend = flash_attention

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
        L = x.shape[1]  # noqa: N806 - as in the shapes
        positions = _positions(offset, L)
        query = mx.unflatten(_product(x, self.wq, self.bq), -1, (self.num_heads, -1))
        key = mx.unflatten(_product(x, self.wk, self.bk), -1, (self.num_kv_heads, -1))
        value = mx.unflatten(_product(x, self.wv, self.bv), -1, (self.num_kv_heads, -1))
        keys, values, _, mask = cache.update_and_fetch(
            self.rope(key, positions).swapaxes(1, 2), value.swapaxes(1, 2), L, mask
        )
        heads = self.attend(
            self.rope(query, positions).swapaxes(1, 2), keys, values, mask=mask
        )
        return _product(mx.flatten(heads.swapaxes(1, 2), -2, -1), self.wo)


class Qwen2MLP:
    """Work on each token by itself: a gated feed-forward layer (SwiGLU).

        y = (silu(x w_gate^T) * (x w_up^T)) w_down^T

    Arguments are those of Week 1's class.
    """

    def __init__(
        self,
        dim: int,
        hidden_dim: int,
        w_gate: Float[mx.array, "I E"] | QuantizedWeights,
        w_up: Float[mx.array, "I E"] | QuantizedWeights,
        w_down: Float[mx.array, "E I"] | QuantizedWeights,
    ) -> None:
        self.w_gate = checked("w_gate", w_gate, (hidden_dim, dim))
        self.w_up = checked("w_up", w_up, (hidden_dim, dim))
        self.w_down = checked("w_down", w_down, (dim, hidden_dim))

    def __call__(self, x: Float[mx.array, "*N L E"]) -> Float[mx.array, "*N L E"]:
        """Transform every vector of `x`."""
        gate = silu(_product(x, self.w_gate))
        return _product(gate * _product(x, self.w_up), self.w_down)


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
        heads = (hidden_size, num_attention_heads, num_kv_heads)
        projections = (wq, wk, wv, wo, bq, bk, bv)
        self.attention = Qwen2MultiHeadAttention(
            *heads, *projections, max_seq_len, theta, use_flash_attention
        )
        self.mlp = Qwen2MLP(hidden_size, intermediate_size, w_gate, w_up, w_down)
        self.input_layernorm = RMSNorm(hidden_size, w_input_layernorm, rms_norm_eps)
        self.post_attention_layernorm = RMSNorm(
            hidden_size, w_post_attention_layernorm, rms_norm_eps
        )
        self.whole_layer = None
        if use_flash_attention:
            self.whole_layer = WholeLayer(
                (wq, wk, wv, wo, w_gate, w_up, w_down),
                (bq, bk, bv, w_input_layernorm, w_post_attention_layernorm),
                num_heads=num_attention_heads,
                max_seq_len=max_seq_len,
                eps=rms_norm_eps,
                theta=theta,
            )

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
        if self.whole_layer and self.whole_layer.suits(x, offset, cache, mask):
            return self.whole_layer(x, cache)
        h = x + self.attention(self.input_layernorm(x), offset, cache, mask)
        return h + self.mlp(self.post_attention_layernorm(h))


class Qwen2ModelWeek2:
    """The whole model, shown a text in pieces: it remembers those before.

    Attributes:
        num_hidden_layers: Number of layers, and so of the caches that it needs.

    Args:
        mlx_model: As for Week 1.
        enable_flash_attn: For day 6. Until then there is nothing to switch on.
    """

    def __init__(self, mlx_model: Any, enable_flash_attn: bool = False) -> None:  # noqa: ANN401
        args = mlx_model.args
        check_is_qwen2("Qwen2ModelWeek2", args)
        weights = mlx_model.model
        table = _stored(weights.embed_tokens)  # packed where it is quantised
        self.embedding = (
            PackedEmbedding(table)
            if isinstance(table, QuantizedWeights)
            else Embedding(args.vocab_size, args.hidden_size, table)
        )
        self.num_hidden_layers = len(weights.layers)
        self.layers = [
            _load_block(args, layer, enable_flash_attn) for layer in weights.layers
        ]
        self.norm = RMSNorm(args.hidden_size, weights.norm.weight, args.rms_norm_eps)
        self.w_lm_head = (
            table if args.tie_word_embeddings else _stored(mlx_model.lm_head)
        )
        # The kernels compute in float32, by far the fastest dtype of MLX on a CPU.
        self.widens = kernels.are_on() and isinstance(self.w_lm_head, QuantizedWeights)

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
        if len(cache) != self.num_hidden_layers:
            raise ValueError(
                f"Qwen2ModelWeek2: expected {self.num_hidden_layers} caches, one per "
                f"layer, got {len(cache)}"
            )
        x = self.embedding(inputs)
        if self.widens:
            x = x.astype(mx.float32)
        for layer, own_cache in zip(self.layers, cache, strict=True):
            x = layer(x, offset, own_cache, mask="causal")
        return _product(self.norm(x), self.w_lm_head)


def _positions(offset: int | Sequence[int], length: int) -> slice | list[slice]:
    """Return where the new tokens stand: in all rows alike, or in each by itself."""
    if isinstance(offset, int):
        return slice(offset, offset + length)
    return [slice(first, first + length) for first in offset]


@functools.cache
def _shared_rope(head_dim: int, max_seq_len: int, theta: float) -> RoPE:
    """Return the rotation that all layers share: its table takes megabytes."""
    return RoPE(head_dim, max_seq_len, theta)


def _load_block(args: Any, layer: Any, flash: bool) -> Qwen2TransformerBlock:  # noqa: ANN401
    """Build one layer of the model from the layer that `mlx_lm` loaded."""
    attention, mlp = layer.self_attn, layer.mlp
    return Qwen2TransformerBlock(
        num_attention_heads=args.num_attention_heads,
        num_kv_heads=args.num_key_value_heads,
        hidden_size=args.hidden_size,
        intermediate_size=args.intermediate_size,
        rms_norm_eps=args.rms_norm_eps,
        wq=_stored(attention.q_proj),
        wk=_stored(attention.k_proj),
        wv=_stored(attention.v_proj),
        wo=_stored(attention.o_proj),
        bq=attention.q_proj.bias,
        bk=attention.k_proj.bias,
        bv=attention.v_proj.bias,
        w_gate=_stored(mlp.gate_proj),
        w_up=_stored(mlp.up_proj),
        w_down=_stored(mlp.down_proj),
        w_input_layernorm=layer.input_layernorm.weight,
        w_post_attention_layernorm=layer.post_attention_layernorm.weight,
        max_seq_len=args.max_position_embeddings,
        theta=args.rope_theta,
        use_flash_attention=flash,
    )


def _stored(mlx_layer: Any) -> Float[mx.array, "O I"] | QuantizedWeights:  # noqa: ANN401
    """Return the weight of a layer that `mlx_lm` loaded, packed if it is quantised."""
    if not isinstance(mlx_layer, nn.QuantizedLinear | nn.QuantizedEmbedding):
        return mlx_layer.weight
    w = QuantizedWeights.from_mlx_layer(mlx_layer)
    return for_kernels(w) if kernels.are_on() else w


def _product(
    x: Float[mx.array, "*N I"],
    weight: Float[mx.array, "O I"] | QuantizedWeights,
    bias: Float[mx.array, " O"] | None = None,
) -> Float[mx.array, "*N O"]:
    """Multiply by a weight: the one place that all products of the model go through."""
    if isinstance(weight, QuantizedWeights):
        return quantized_linear(x, weight, bias)
    return linear(x, weight, bias)
