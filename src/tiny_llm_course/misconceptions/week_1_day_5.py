"""Day 5: what goes wrong in the transformer block, the embedding and the model."""

from typing import Any

import mlx.core as mx

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.attention import causal_mask
from tiny_llm_ref.basics import linear, softmax
from tiny_llm_ref.embedding import Embedding
from tiny_llm_ref.layer_norm import RMSNorm
from tiny_llm_ref.positional_encoding import RoPE
from tiny_llm_ref.quantize import dequantize_linear
from tiny_llm_ref.qwen2_week1 import (
    Mask,
    Qwen2MLP,
    Qwen2ModelWeek1,
    Qwen2TransformerBlock,
)

BLOCK = "qwen2_week1.Qwen2TransformerBlock"
EMBEDDING = "embedding.Embedding"
MODEL = "qwen2_week1.Qwen2ModelWeek1"


@specimen(1, symbol=BLOCK)
class attention_residual_forgotten(Qwen2TransformerBlock):
    def __call__(self, x: mx.array, mask: Mask = None) -> mx.array:
        h = self.attention(self.input_layernorm(x), mask)
        return h + self.mlp(self.post_attention_layernorm(h))


@specimen(1, symbol=BLOCK)
class mlp_residual_forgotten(Qwen2TransformerBlock):
    def __call__(self, x: mx.array, mask: Mask = None) -> mx.array:
        h = x + self.attention(self.input_layernorm(x), mask)
        return self.mlp(self.post_attention_layernorm(h))


@specimen(1, symbol=BLOCK)
class both_residuals_forgotten(Qwen2TransformerBlock):
    def __call__(self, x: mx.array, mask: Mask = None) -> mx.array:
        h = self.attention(self.input_layernorm(x), mask)
        return self.mlp(self.post_attention_layernorm(h))


@specimen(1, symbol=BLOCK)
class attention_residual_after_the_norm(Qwen2TransformerBlock):
    def __call__(self, x: mx.array, mask: Mask = None) -> mx.array:
        x = self.input_layernorm(x)
        h = x + self.attention(x, mask)
        return h + self.mlp(self.post_attention_layernorm(h))


@specimen(1, symbol=BLOCK)
class mlp_residual_after_the_norm(Qwen2TransformerBlock):
    def __call__(self, x: mx.array, mask: Mask = None) -> mx.array:
        h = x + self.attention(self.input_layernorm(x), mask)
        h = self.post_attention_layernorm(h)
        return h + self.mlp(h)


@specimen(1, symbol=BLOCK)
class both_residuals_after_the_norms(Qwen2TransformerBlock):
    def __call__(self, x: mx.array, mask: Mask = None) -> mx.array:
        x = self.input_layernorm(x)
        h = self.post_attention_layernorm(x + self.attention(x, mask))
        return h + self.mlp(h)


@specimen(1, symbol=BLOCK)
class mlp_added_to_the_input(Qwen2TransformerBlock):
    def __call__(self, x: mx.array, mask: Mask = None) -> mx.array:
        h = x + self.attention(self.input_layernorm(x), mask)
        return x + self.mlp(self.post_attention_layernorm(h))


@specimen(1, symbol=BLOCK)
class mlp_reads_the_input(Qwen2TransformerBlock):
    def __call__(self, x: mx.array, mask: Mask = None) -> mx.array:
        h = x + self.attention(self.input_layernorm(x), mask)
        return h + self.mlp(self.post_attention_layernorm(x))


@specimen(1, symbol=BLOCK)
class mlp_reads_the_attention(Qwen2TransformerBlock):
    def __call__(self, x: mx.array, mask: Mask = None) -> mx.array:
        attended = self.attention(self.input_layernorm(x), mask)
        return x + attended + self.mlp(self.post_attention_layernorm(attended))


@specimen(1, symbol=BLOCK)
class mlp_before_the_attention(Qwen2TransformerBlock):
    def __call__(self, x: mx.array, mask: Mask = None) -> mx.array:
        h = x + self.mlp(self.input_layernorm(x))
        return h + self.attention(self.post_attention_layernorm(h), mask)


@specimen(1, symbol=BLOCK)
class input_added_twice(Qwen2TransformerBlock):
    def __call__(self, x: mx.array, mask: Mask = None) -> mx.array:
        return x + super().__call__(x, mask)


@specimen(1, symbol=BLOCK)
class post_norm(Qwen2TransformerBlock):
    def __call__(self, x: mx.array, mask: Mask = None) -> mx.array:
        h = self.input_layernorm(x + self.attention(x, mask))
        return self.post_attention_layernorm(h + self.mlp(h))


@specimen(1, symbol=BLOCK)
class norms_on_the_outputs(Qwen2TransformerBlock):
    def __call__(self, x: mx.array, mask: Mask = None) -> mx.array:
        h = x + self.input_layernorm(self.attention(x, mask))
        return h + self.post_attention_layernorm(self.mlp(h))


@specimen(1, symbol=BLOCK)
class second_norm_on_the_attention(Qwen2TransformerBlock):
    def __call__(self, x: mx.array, mask: Mask = None) -> mx.array:
        attended = self.attention(self.input_layernorm(x), mask)
        h = x + self.post_attention_layernorm(attended)
        return h + self.mlp(h)


@specimen(1, symbol=BLOCK)
class norms_swapped(Qwen2TransformerBlock):
    def __call__(self, x: mx.array, mask: Mask = None) -> mx.array:
        h = x + self.attention(self.post_attention_layernorm(x), mask)
        return h + self.mlp(self.input_layernorm(h))


@specimen(1, symbol=BLOCK)
class first_norm_used_twice(Qwen2TransformerBlock):
    def __call__(self, x: mx.array, mask: Mask = None) -> mx.array:
        h = x + self.attention(self.input_layernorm(x), mask)
        return h + self.mlp(self.input_layernorm(h))


@specimen(1, symbol=BLOCK)
class first_norm_forgotten(Qwen2TransformerBlock):
    def __call__(self, x: mx.array, mask: Mask = None) -> mx.array:
        h = x + self.attention(x, mask)
        return h + self.mlp(self.post_attention_layernorm(h))


@specimen(1, symbol=BLOCK)
class second_norm_forgotten(Qwen2TransformerBlock):
    def __call__(self, x: mx.array, mask: Mask = None) -> mx.array:
        h = x + self.attention(self.input_layernorm(x), mask)
        return h + self.mlp(h)


@specimen(1, symbol=BLOCK)
class mask_not_passed_on(Qwen2TransformerBlock):
    def __call__(self, x: mx.array, mask: Mask = None) -> mx.array:
        del mask
        return super().__call__(x)


@specimen(1, symbol=BLOCK)
class mask_always_causal(Qwen2TransformerBlock):
    def __call__(self, x: mx.array, mask: Mask = None) -> mx.array:
        del mask
        return super().__call__(x, "causal")


@specimen(1, symbol=BLOCK)
class stream_changed_in_place(Qwen2TransformerBlock):
    def __call__(self, x: mx.array, mask: Mask = None) -> mx.array:
        x += self.attention(self.input_layernorm(x), mask)
        x += self.mlp(self.post_attention_layernorm(x))
        return x


@specimen(1, symbol=BLOCK)
class eps_not_passed_on(Qwen2TransformerBlock):
    def __init__(self, *args: Any) -> None:  # noqa: ANN401 - those of the reference
        super().__init__(*args)
        hidden_size, first_gain, second_gain = args[2], *args[15:17]
        self.input_layernorm = RMSNorm(hidden_size, first_gain)
        self.post_attention_layernorm = RMSNorm(hidden_size, second_gain)


@specimen(1, symbol=BLOCK)
class eps_for_the_first_norm_only(Qwen2TransformerBlock):
    def __init__(self, *args: Any, **named: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **named)
        gain = self.post_attention_layernorm.weight
        self.post_attention_layernorm = RMSNorm(gain.size, gain)


@specimen(1, symbol=BLOCK)
class eps_for_the_second_norm_only(Qwen2TransformerBlock):
    def __init__(self, *args: Any, **named: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **named)
        gain = self.input_layernorm.weight
        self.input_layernorm = RMSNorm(gain.size, gain)


@specimen(1, symbol=BLOCK)
class base_10000_by_default(Qwen2TransformerBlock):
    def __init__(self, *args: Any, theta: float = 10000, **named: Any) -> None:  # noqa: ANN401
        super().__init__(*args[:18], theta=args[18] if args[18:] else theta, **named)


@specimen(1, symbol=BLOCK)
class arguments_under_other_names(Qwen2TransformerBlock):
    def __init__(self, *args: Any) -> None:  # noqa: ANN401 - those of the reference
        super().__init__(*args)


@specimen(1, symbol=BLOCK)
class theta_not_passed_on(Qwen2TransformerBlock):
    def __init__(self, *args: Any) -> None:  # noqa: ANN401 - those of the reference
        super().__init__(*args[:17])


@specimen(1, symbol=BLOCK)
class gate_and_up_swapped(Qwen2TransformerBlock):
    def __init__(self, *args: Any) -> None:  # noqa: ANN401 - those of the reference
        super().__init__(*args)
        w_gate, w_up, w_down = args[12:15]
        self.mlp = Qwen2MLP(args[2], args[3], w_up, w_gate, w_down)


@specimen(2, symbol=EMBEDDING)
class taken_from_the_flat_table(Embedding):
    def __call__(self, x: mx.array) -> mx.array:
        return mx.take(self.weight, x)


@specimen(2, symbol=EMBEDDING)
class vectors_scaled_by_the_root_of_the_width(Embedding):
    def __call__(self, x: mx.array) -> mx.array:
        return self.weight[x] * self.weight.shape[-1] ** 0.5


@specimen(2, symbol=EMBEDDING)
class dim_under_another_name(Embedding):
    def __init__(self, num_embeddings: int, dims: int, table: mx.array) -> None:
        super().__init__(num_embeddings, dims, table)


@specimen(2, symbol=EMBEDDING)
class table_not_transposed(Embedding):
    def as_linear(self, x: mx.array) -> mx.array:
        return x @ self.weight


@specimen(2, symbol=EMBEDDING)
class scores_divided_by_the_root_of_the_width(Embedding):
    def as_linear(self, x: mx.array) -> mx.array:
        return super().as_linear(x) / self.weight.shape[-1] ** 0.5


@specimen(2, symbol=EMBEDDING)
class probabilities_for_scores(Embedding):
    def as_linear(self, x: mx.array) -> mx.array:
        return softmax(super().as_linear(x), axis=-1)


@specimen(3, symbol=MODEL)
class last_norm_forgotten(Qwen2ModelWeek1):
    def __init__(self, mlx_model: Any) -> None:  # noqa: ANN401 - mlx_lm has no types
        super().__init__(mlx_model)
        self.norm = _unchanged


@specimen(3, symbol=MODEL)
class last_norm_in_every_round(Qwen2ModelWeek1):
    def __call__(self, inputs: mx.array) -> mx.array:
        x = self.embedding(inputs)
        for layer in self.layers:
            x = self.norm(layer(x, mask="causal"))
        return _head(self, x)


@specimen(3, symbol=MODEL)
class causal_mask_forgotten(Qwen2ModelWeek1):
    def __call__(self, inputs: mx.array) -> mx.array:
        x = self.embedding(inputs)
        for layer in self.layers:
            x = layer(x)
        return _head(self, self.norm(x))


@specimen(3, symbol=MODEL)
class mask_of_the_first_call_kept(Qwen2ModelWeek1):
    mask: mx.array | None = None

    def __call__(self, inputs: mx.array) -> mx.array:
        x = self.embedding(inputs)
        if self.mask is None:
            self.mask = causal_mask(inputs.shape[1], inputs.shape[1], x.dtype)
        for layer in self.layers:
            x = layer(x, self.mask)
        return _head(self, self.norm(x))


@specimen(3, symbol=MODEL)
class layers_not_chained(Qwen2ModelWeek1):
    def __call__(self, inputs: mx.array) -> mx.array:
        x = self.embedding(inputs)
        h = x
        for layer in self.layers:
            h = layer(x, mask="causal")
        return _head(self, self.norm(h))


@specimen(3, symbol=MODEL)
class first_layer_in_every_place(Qwen2ModelWeek1):
    def __init__(self, mlx_model: Any) -> None:  # noqa: ANN401 - mlx_lm has no types
        super().__init__(mlx_model)
        self.layers = [self.layers[0] for _ in self.layers]


@specimen(3, symbol=MODEL)
class only_the_last_logits(Qwen2ModelWeek1):
    def __call__(self, inputs: mx.array) -> mx.array:
        return super().__call__(inputs)[:, -1, :]


@specimen(3, symbol=MODEL)
class probabilities_for_logits(Qwen2ModelWeek1):
    def __call__(self, inputs: mx.array) -> mx.array:
        return softmax(super().__call__(inputs), axis=-1)


@specimen(3, symbol=MODEL)
class log_probabilities_for_logits(Qwen2ModelWeek1):
    def __call__(self, inputs: mx.array) -> mx.array:
        logits = super().__call__(inputs)
        return logits - mx.logsumexp(logits, axis=-1, keepdims=True)


@specimen(3, symbol=MODEL)
class norm_before_the_layers(Qwen2ModelWeek1):
    def __call__(self, inputs: mx.array) -> mx.array:
        x = self.norm(self.embedding(inputs))
        for layer in self.layers:
            x = layer(x, mask="causal")
        return _head(self, x)


@specimen(3, symbol=MODEL)
class embedding_scaled_by_the_root_of_the_width(Qwen2ModelWeek1):
    def __init__(self, mlx_model: Any) -> None:  # noqa: ANN401 - mlx_lm has no types
        super().__init__(mlx_model)
        args, table = mlx_model.args, self.embedding.weight
        self.embedding = vectors_scaled_by_the_root_of_the_width(
            args.vocab_size, args.hidden_size, table
        )


@specimen(3, symbol=MODEL)
class head_always_tied(Qwen2ModelWeek1):
    def __init__(self, mlx_model: Any) -> None:  # noqa: ANN401 - mlx_lm has no types
        super().__init__(mlx_model)
        self.w_lm_head = None


@specimen(3, symbol=MODEL)
class head_never_tied(Qwen2ModelWeek1):
    def __init__(self, mlx_model: Any) -> None:  # noqa: ANN401 - mlx_lm has no types
        super().__init__(mlx_model)
        self.w_lm_head = dequantize_linear(mlx_model.lm_head)


@specimen(3, symbol=MODEL)
class theta_not_read(Qwen2ModelWeek1):
    def __init__(self, mlx_model: Any) -> None:  # noqa: ANN401 - mlx_lm has no types
        super().__init__(mlx_model)
        for layer in self.layers:
            rope = layer.attention.rope
            layer.attention.rope = RoPE(rope.dims, rope.seq_len, 1000000)


@specimen(3, symbol=MODEL)
class eps_of_the_last_norm_not_read(Qwen2ModelWeek1):
    def __init__(self, mlx_model: Any) -> None:  # noqa: ANN401 - mlx_lm has no types
        super().__init__(mlx_model)
        self.norm = RMSNorm(mlx_model.args.hidden_size, self.norm.weight)


@specimen(3, symbol=MODEL)
class eps_of_the_layers_not_read(Qwen2ModelWeek1):
    def __init__(self, mlx_model: Any) -> None:  # noqa: ANN401 - mlx_lm has no types
        super().__init__(mlx_model)
        for layer in self.layers:
            first, second = layer.input_layernorm, layer.post_attention_layernorm
            layer.input_layernorm = RMSNorm(first.weight.size, first.weight)
            layer.post_attention_layernorm = RMSNorm(second.weight.size, second.weight)


@specimen(3, symbol=MODEL)
class quantised_table_read_as_stored(Qwen2ModelWeek1):
    def __init__(self, mlx_model: Any) -> None:  # noqa: ANN401 - mlx_lm has no types
        super().__init__(mlx_model)
        self.embedding.weight = mlx_model.model.embed_tokens.weight


@specimen(3, symbol=MODEL)
class quantised_projections_read_as_stored(Qwen2ModelWeek1):
    def __init__(self, mlx_model: Any) -> None:  # noqa: ANN401 - mlx_lm has no types
        super().__init__(mlx_model)
        args, layers = mlx_model.args, mlx_model.model.layers
        self.layers = [_block_as_stored(args, one) for one in layers]


@specimen(3, symbol=MODEL)
class quantised_head_read_as_stored(Qwen2ModelWeek1):
    def __init__(self, mlx_model: Any) -> None:  # noqa: ANN401 - mlx_lm has no types
        super().__init__(mlx_model)
        if self.w_lm_head is not None:
            self.w_lm_head = mlx_model.lm_head.weight


@specimen(3, symbol=MODEL)
class dequantised_with_the_defaults(Qwen2ModelWeek1):
    def __init__(self, mlx_model: Any) -> None:  # noqa: ANN401 - mlx_lm has no types
        super().__init__(mlx_model)
        table = mlx_model.model.embed_tokens
        if hasattr(table, "scales"):
            self.embedding.weight = mx.dequantize(
                table.weight, table.scales, table.biases
            )


def _block_as_stored(args: Any, layer: Any) -> Qwen2TransformerBlock:  # noqa: ANN401
    """Build a layer from its weights as the checkpoint has them."""
    attention, mlp = layer.self_attn, layer.mlp
    queries, keys, values = attention.q_proj, attention.k_proj, attention.v_proj
    return Qwen2TransformerBlock(
        args.num_attention_heads,
        args.num_key_value_heads,
        args.hidden_size,
        args.intermediate_size,
        args.rms_norm_eps,
        *(queries.weight, keys.weight, values.weight, attention.o_proj.weight),
        *(queries.bias, keys.bias, values.bias),
        *(mlp.gate_proj.weight, mlp.up_proj.weight, mlp.down_proj.weight),
        *(layer.input_layernorm.weight, layer.post_attention_layernorm.weight),
        theta=args.rope_theta,
    )


def _unchanged(x: mx.array) -> mx.array:
    """Leave out a norm."""
    return x


def _head(model: Qwen2ModelWeek1, x: mx.array) -> mx.array:
    """Turn the last activations into logits."""
    if model.w_lm_head is None:
        return model.embedding.as_linear(x)
    return linear(x, model.w_lm_head)
