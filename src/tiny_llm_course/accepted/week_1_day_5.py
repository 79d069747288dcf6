"""Day 5: other right ways to write the block, the embedding and the model."""

from collections.abc import Callable
from typing import Any

import mlx.core as mx

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.attention import causal_mask
from tiny_llm_ref.basics import linear, silu
from tiny_llm_ref.qwen2_week1 import Mask, Qwen2ModelWeek1, Qwen2TransformerBlock

BLOCK = "qwen2_week1.Qwen2TransformerBlock"
MODEL = "qwen2_week1.Qwen2ModelWeek1"

ARGUMENTS = (
    *("num_attention_heads", "num_kv_heads", "hidden_size", "intermediate_size"),
    *("rms_norm_eps", "wq", "wk", "wv", "wo", "bq", "bk", "bv"),
    *("w_gate", "w_up", "w_down", "w_input_layernorm", "w_post_attention_layernorm"),
    *("max_seq_len", "theta"),
)


class _Block:
    """What a block remembers: its arguments, by name."""

    def __init__(self, *args: Any, **named: Any) -> None:  # noqa: ANN401 - many types
        given = dict(zip(ARGUMENTS, args, strict=False)) | named
        self.weights = {name: given[name] for name in given if name[0] in "wb"}
        self.num_heads = (given["num_attention_heads"], given["num_kv_heads"])
        self.head_dim = given["hidden_size"] // given["num_attention_heads"]
        self.eps = given["rms_norm_eps"]
        self.theta = given.get("theta", 1000000)


@specimen(1, symbol=BLOCK)
class library_operations(_Block):
    def __call__(self, x: mx.array, mask: Mask = None) -> mx.array:
        w = self.weights
        unit = mx.fast.rms_norm(x, w["w_input_layernorm"], self.eps)
        query, key, value = (
            mx.addmm(w[f"b{one}"], unit, w[f"w{one}"].T)
            .reshape(*x.shape[:2], -1, self.head_dim)
            .transpose(0, 2, 1, 3)
            for one in "qkv"
        )
        heads = mx.fast.scaled_dot_product_attention(
            self.rotate(query),
            self.rotate(key),
            value,
            scale=self.head_dim**-0.5,
            mask=mask,
        )
        h = x + heads.transpose(0, 2, 1, 3).reshape(x.shape) @ w["wo"].T
        unit = mx.fast.rms_norm(h, w["w_post_attention_layernorm"], self.eps)
        gate, up = unit @ w["w_gate"].T, unit @ w["w_up"].T
        return h + (gate * mx.sigmoid(gate) * up) @ w["w_down"].T

    def rotate(self, x: mx.array) -> mx.array:
        return mx.fast.rope(
            x, self.head_dim, traditional=False, base=self.theta, scale=1.0, offset=0
        )


@specimen(1, symbol=BLOCK)
class all_in_einsum(_Block):
    def __call__(self, x: mx.array, mask: Mask = None) -> mx.array:
        w = self.weights
        h = self.attend(self.normalise(x, "w_input_layernorm"), mask) + x
        unit = self.normalise(h, "w_post_attention_layernorm")
        gate = silu(mx.einsum("ble,ie->bli", unit, w["w_gate"]))
        inside = mx.einsum("ble,ie->bli", unit, w["w_up"]) * gate
        return mx.einsum("bli,ei->ble", inside, w["w_down"]) + h

    def normalise(self, x: mx.array, gain: str) -> mx.array:
        wide = x.astype(mx.float32)
        factor = mx.rsqrt(mx.var(wide, -1) + mx.mean(wide, -1) ** 2 + self.eps)
        return (factor[..., None] * wide).astype(x.dtype) * self.weights[gain]

    def attend(self, x: mx.array, mask: Mask) -> mx.array:
        H, H_kv = self.num_heads  # noqa: N806 - the axes as in the formulas
        query = self.rotate(self.project(x, "q"))
        key = mx.repeat(self.rotate(self.project(x, "k")), H // H_kv, axis=2)
        value = mx.repeat(self.project(x, "v"), H // H_kv, axis=2)
        scores = mx.einsum("blhd,bshd->bhls", query * self.head_dim**-0.5, key)
        if mask == "causal":
            future = mx.triu(mx.ones(scores.shape[-2:], dtype=mx.bool_), k=1)
            scores = mx.where(future, -mx.inf, scores)
        elif mask is not None:
            scores = scores + mask
        shares = mx.softmax(scores, axis=-1, precise=True)
        heads = mx.einsum("bhls,bshd->blhd", shares, value)
        return mx.einsum("blj,ej->ble", heads.reshape(x.shape), self.weights["wo"])

    def project(self, x: mx.array, which: str) -> mx.array:
        y = mx.einsum("ble,je->blj", x, self.weights[f"w{which}"])
        return mx.unflatten(y + self.weights[f"b{which}"], -1, (-1, self.head_dim))

    def rotate(self, x: mx.array) -> mx.array:
        steps = mx.arange(0, self.head_dim, 2) / self.head_dim
        angles = mx.arange(x.shape[1])[:, None, None] * self.theta**-steps
        angles = mx.concatenate([angles, angles], axis=-1)
        half = self.head_dim // 2
        turned = mx.concatenate([-x[..., half:], x[..., :half]], axis=-1)
        return (x * mx.cos(angles) + turned * mx.sin(angles)).astype(x.dtype)


@specimen(1, symbol=BLOCK)
class mask_built_by_the_block(Qwen2TransformerBlock):
    def __call__(self, x: mx.array, mask: Mask = None) -> mx.array:
        if mask == "causal":
            mask = causal_mask(x.shape[1], x.shape[1], x.dtype)
        parts: list[tuple[Callable[..., mx.array], ...]] = [
            (self.input_layernorm, lambda unit: self.attention(unit, mask)),
            (self.post_attention_layernorm, self.mlp),
        ]
        for norm, part in parts:
            x = part(norm(x)) + x
        return x


@specimen(3, symbol=MODEL)
class library_blocks:
    def __init__(self, mlx_model: Any) -> None:  # noqa: ANN401 - mlx_lm has no types
        self.args = mlx_model.args
        self.parts = mlx_model.model
        self.head = (
            mlx_model.model.embed_tokens.as_linear
            if self.args.tie_word_embeddings
            else mlx_model.lm_head
        )

    def __call__(self, inputs: mx.array) -> mx.array:
        x = self.parts.embed_tokens(inputs)
        mask = causal_mask(inputs.shape[1], inputs.shape[1], x.dtype)
        for layer in self.parts.layers:
            x = layer(x, mask, None)
        return self.head(self.parts.norm(x))


@specimen(3, symbol=MODEL)
class head_as_a_function(Qwen2ModelWeek1):
    def __init__(self, mlx_model: Any, precompute_mask: bool = True) -> None:  # noqa: ANN401
        super().__init__(mlx_model)
        self.precompute_mask = precompute_mask
        self.masks: dict[int, mx.array] = {}
        self.w_head = (
            self.embedding.weight if self.w_lm_head is None else self.w_lm_head
        )

    def __call__(self, inputs: mx.array) -> mx.array:
        x = self.embedding(inputs)
        length = inputs.shape[1]
        if length not in self.masks:
            self.masks[length] = causal_mask(length, length, x.dtype)
        for layer in self.layers:
            x = layer(x, self.masks[length])
        return linear(self.norm(x), self.w_head)


@specimen(3, symbol=MODEL)
class dequantised_by_hand(Qwen2ModelWeek1):
    def __init__(self, mlx_model: Any) -> None:  # noqa: ANN401 - mlx_lm has no types
        super().__init__(mlx_model)
        self.embedding.weight = _dense(mlx_model.model.embed_tokens)
        for block, layer in zip(self.layers, mlx_model.model.layers, strict=True):
            block.attention.wo = _dense(layer.self_attn.o_proj)
            block.mlp.w_gate = _dense(layer.mlp.gate_proj)
        if not mlx_model.args.tie_word_embeddings:
            self.w_lm_head = _dense(mlx_model.lm_head)


def _dense(layer: Any) -> mx.array:  # noqa: ANN401 - mlx_lm has no types
    """Unpack a quantised weight bit by bit: w = scale * q + bias."""
    if not hasattr(layer, "scales"):
        return layer.weight
    shifts = mx.arange(0, 32, layer.bits, dtype=mx.uint32)
    integers = (layer.weight[..., None] >> shifts) & (2**layer.bits - 1)
    groups = integers.reshape(*layer.scales.shape, layer.group_size)
    weight = groups * layer.scales[..., None] + layer.biases[..., None]
    return weight.flatten(-2)
