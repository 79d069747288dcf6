"""The Qwen2 model, put together from the pieces of Week 1."""

from typing import Any

import mlx.core as mx
from jaxtyping import Float, Integer

from .attention import scaled_dot_product_attention_grouped
from .basics import linear, silu
from .checks import check_heads, check_is_qwen2, checked
from .embedding import Embedding
from .layer_norm import RMSNorm
from .masks import Mask
from .positional_encoding import RoPE
from .quantize import dequantize_linear


class Qwen2MultiHeadAttention:
    """Attend with grouped heads, and with positions told by rotation.

        q = rope(x wq^T + bq)   k = rope(x wk^T + bk)   v = x wv^T + bv
        y = concat over heads of attention(q, k, v) wo^T

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
        wq: Float[mx.array, "HD E"],
        wk: Float[mx.array, "HkvD E"],
        wv: Float[mx.array, "HkvD E"],
        wo: Float[mx.array, "E HD"],
        bq: Float[mx.array, " HD"],
        bk: Float[mx.array, " HkvD"],
        bv: Float[mx.array, " HkvD"],
        max_seq_len: int = 32768,
        theta: float = 1000000,
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
        self.rope = RoPE(head_dim, max_seq_len, theta)

    def __call__(
        self, x: Float[mx.array, "B L E"], mask: Mask = None
    ) -> Float[mx.array, "B L E"]:
        """Let every token of `x` collect from the tokens that `mask` allows.

        Args:
            x: Activations.
            mask: "causal", or an array that is added to the scores, or None.
        """
        query = mx.unflatten(linear(x, self.wq, self.bq), -1, (self.num_heads, -1))
        key = mx.unflatten(linear(x, self.wk, self.bk), -1, (self.num_kv_heads, -1))
        value = mx.unflatten(linear(x, self.wv, self.bv), -1, (self.num_kv_heads, -1))
        heads = scaled_dot_product_attention_grouped(
            self.rope(query).swapaxes(1, 2),
            self.rope(key).swapaxes(1, 2),
            value.swapaxes(1, 2),
            mask=mask,
        )
        return linear(mx.flatten(heads.swapaxes(1, 2), -2, -1), self.wo)


class Qwen2MLP:
    """Work on each token by itself: a gated feed-forward layer (SwiGLU).

        y = (silu(x w_gate^T) * (x w_up^T)) w_down^T

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
        w_gate: Float[mx.array, "I E"],
        w_up: Float[mx.array, "I E"],
        w_down: Float[mx.array, "E I"],
    ) -> None:
        self.w_gate = checked("w_gate", w_gate, (hidden_dim, dim))
        self.w_up = checked("w_up", w_up, (hidden_dim, dim))
        self.w_down = checked("w_down", w_down, (dim, hidden_dim))

    def __call__(self, x: Float[mx.array, "*N L E"]) -> Float[mx.array, "*N L E"]:
        """Transform every vector of `x`."""
        gate = silu(linear(x, self.w_gate))
        return linear(gate * linear(x, self.w_up), self.w_down)


class Qwen2TransformerBlock:
    """One layer of the model: attention, then the MLP, each added to the stream.

        h = x + attention(norm_1(x))
        y = h + mlp(norm_2(h))

    The norms stand before the parts ("pre-norm"), so that the stream from x to y is
    never replaced, only added to.

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
    ) -> None:
        heads = (hidden_size, num_attention_heads, num_kv_heads)
        projections = (wq, wk, wv, wo, bq, bk, bv)
        self.attention = Qwen2MultiHeadAttention(
            *heads, *projections, max_seq_len, theta
        )
        self.mlp = Qwen2MLP(hidden_size, intermediate_size, w_gate, w_up, w_down)
        self.input_layernorm = RMSNorm(hidden_size, w_input_layernorm, rms_norm_eps)
        self.post_attention_layernorm = RMSNorm(
            hidden_size, w_post_attention_layernorm, rms_norm_eps
        )

    def __call__(
        self, x: Float[mx.array, "B L E"], mask: Mask = None
    ) -> Float[mx.array, "B L E"]:
        """Carry the stream `x` through the layer.

        Args:
            x: Activations.
            mask: Handed to the attention.
        """
        h = x + self.attention(self.input_layernorm(x), mask)
        return h + self.mlp(self.post_attention_layernorm(h))


class Qwen2ModelWeek1:
    """The whole model: from token ids to a score for every possible next token.

    Args:
        mlx_model: What `mlx_lm` loads. Only its `args` and its weights are used,
            dequantised where they are quantised.

    Raises:
        ValueError: The checkpoint is not a Qwen2, or a weight has the wrong shape.

    Source: Yang et al. 2024 (arXiv:2407.10671), section 2.2.
    """

    def __init__(self, mlx_model: Any) -> None:  # noqa: ANN401 - mlx_lm has no types
        args = mlx_model.args
        check_is_qwen2("Qwen2ModelWeek1", args)
        weights = mlx_model.model
        self.embedding = Embedding(
            args.vocab_size, args.hidden_size, dequantize_linear(weights.embed_tokens)
        )
        self.layers = [_load_block(args, layer) for layer in weights.layers]
        self.norm = RMSNorm(args.hidden_size, weights.norm.weight, args.rms_norm_eps)
        self.w_lm_head = (
            None if args.tie_word_embeddings else dequantize_linear(mlx_model.lm_head)
        )

    def __call__(self, inputs: Integer[mx.array, "B L"]) -> Float[mx.array, "B L V"]:
        """Score the next token after each token of `inputs`.

        Args:
            inputs: Token ids, the first of each row at position 0.

        Returns:
            Logits: what softmax turns into the probability of each next token.
        """
        x = self.embedding(inputs)
        for layer in self.layers:
            x = layer(x, mask="causal")
        x = self.norm(x)
        if self.w_lm_head is None:
            return self.embedding.as_linear(x)
        return linear(x, self.w_lm_head)


def _load_block(args: Any, layer: Any) -> Qwen2TransformerBlock:  # noqa: ANN401
    """Build one layer of the model from the layer that `mlx_lm` loaded."""
    attention, mlp = layer.self_attn, layer.mlp
    return Qwen2TransformerBlock(
        num_attention_heads=args.num_attention_heads,
        num_kv_heads=args.num_key_value_heads,
        hidden_size=args.hidden_size,
        intermediate_size=args.intermediate_size,
        rms_norm_eps=args.rms_norm_eps,
        wq=dequantize_linear(attention.q_proj),
        wk=dequantize_linear(attention.k_proj),
        wv=dequantize_linear(attention.v_proj),
        wo=dequantize_linear(attention.o_proj),
        bq=attention.q_proj.bias,
        bk=attention.k_proj.bias,
        bv=attention.v_proj.bias,
        w_gate=dequantize_linear(mlp.gate_proj),
        w_up=dequantize_linear(mlp.up_proj),
        w_down=dequantize_linear(mlp.down_proj),
        w_input_layernorm=layer.input_layernorm.weight,
        w_post_attention_layernorm=layer.post_attention_layernorm.weight,
        max_seq_len=args.max_position_embeddings,
        theta=args.rope_theta,
    )
