"""The Qwen2 model for several texts at once."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import mlx.core as mx
from jaxtyping import Float, Integer

from .basics import linear
from .kv_cache import TinyKvCache, TinyKvFullCache
from .quantize import QuantizedWeights, quantized_linear
from .qwen2_week2 import (
    Qwen2ModelWeek2,
    Qwen2MultiHeadAttention,
    Qwen2TransformerBlock,
)


class Qwen2ModelWeek3:
    """The whole model, for rows of a batch that each stand at a place of their own.

    Attributes:
        num_hidden_layers: Number of layers, and so of the caches that it needs.

    Args:
        mlx_model: As for Week 1.
        enable_flash_attn: As for Week 2.
    """

    def __init__(self, mlx_model: Any, enable_flash_attn: bool = False) -> None:  # noqa: ANN401
        parts = Qwen2ModelWeek2(mlx_model, enable_flash_attn)
        self.num_hidden_layers = parts.num_hidden_layers
        self.embedding = parts.embedding
        self.layers = parts.layers
        self.norm = parts.norm
        self.w_lm_head = parts.w_lm_head
        self.widens = parts.widens
        self.all_sum: Callable[[mx.array], mx.array] = _of_one_process

    def __call__(
        self,
        inputs: Integer[mx.array, "B L"],
        offset: int | Sequence[int],
        cache: Sequence[TinyKvCache],
        logits_to_keep: int | None = None,
    ) -> Float[mx.array, "B K V"]:
        """Score the next token after each of the last K new tokens.

        Args:
            inputs: Ids of the L tokens that are new in each row.
            offset: Position of the first of them: how many tokens came before. One for
                all rows, or one for each.
            cache: One cache per layer, with the tokens that came before. The new ones
                are added.
            logits_to_keep: How many positions K to score, from the end. At least 1.
                None scores all L.

        Returns:
            Logits: what softmax turns into the probability of each next token.

        Raises:
            ValueError: There is not one cache per layer.
        """
        if len(cache) != self.num_hidden_layers:
            raise ValueError(
                f"Qwen2ModelWeek3: expected {self.num_hidden_layers} caches, one per "
                f"layer, got {len(cache)}"
            )
        x = self.embedding(inputs)
        if self.widens:
            x = x.astype(mx.float32)
        for layer, own_cache in zip(self.layers, cache, strict=True):
            x = layer(x, offset, own_cache, mask="causal")
        if logits_to_keep is not None:
            x = x[:, -logits_to_keep:]
        x = self.norm(x)
        if isinstance(self.w_lm_head, QuantizedWeights):
            return quantized_linear(x, self.w_lm_head)
        return linear(x, self.w_lm_head)

    def create_kv_cache(self) -> list[TinyKvFullCache]:
        """Return empty caches for one text, one for each layer."""
        return [TinyKvFullCache() for _ in range(self.num_hidden_layers)]


def run_pieces(
    model: Qwen2ModelWeek3,
    pieces: Sequence[Sequence[int]],
    caches: Sequence[Sequence[TinyKvCache]],
    logits_to_keep: int | Sequence[int] = 1,
) -> Float[mx.array, "K V"]:
    """Compute the new tokens of several texts in one step: of each as many as it has.

    All new tokens stand in one row, text after text, so none is filled up to the length
    of another. Products, norms and the MLP take the whole row, and read each weight
    once. Only the attention goes text by text: its tokens see those in the text's own
    caches and those before them in the piece.

    What the step computes is evaluated when it returns, also where no logits are asked
    for. Otherwise a long prompt would leave the graph of all its pieces behind.

    Args:
        model: The model, whose parts do the work.
        pieces: The ids of each text's new tokens, one at least.
        caches: For each text one cache per layer, with the tokens that came before. The
            new ones are added.
        logits_to_keep: How many positions of each text to score, from the end of its
            piece: one number for all, or one for each. 0 scores none.

    Returns:
        Logits: those of the first text's positions, in order, then those of the second,
        and so on. K is how many there are in all.

    Raises:
        ValueError: A text has no new token, or not one cache per layer.
    """
    if isinstance(logits_to_keep, int):
        logits_to_keep = [logits_to_keep] * len(pieces)
    rows = _rows(model, pieces, caches)
    x = model.embedding(mx.array([[*itertools.chain(*pieces)]]))
    if model.widens:
        x = x.astype(mx.float32)
    for layer, *caches_of_layer in zip(model.layers, *caches, strict=True):
        x = _run_layer(layer, x, rows, caches_of_layer, model.all_sum)
    kept = [
        position
        for row, number in zip(rows, logits_to_keep, strict=True)
        for position in range(row.here.stop - number, row.here.stop)
    ]
    logits = _product(model.norm(x[0, mx.array(kept, mx.int32)]), model.w_lm_head)
    mx.eval(x, logits)  # no logits say nothing of x
    return logits


def _of_one_process(x: mx.array) -> mx.array:
    """Add up what one process has computed: it is all that there is."""
    return x


class _Row(NamedTuple):
    """Where the new tokens of a text are.

    Attributes:
        here: Their places in the row of all texts.
        positions: Their positions in their own text.
    """

    here: slice
    positions: slice


def _rows(
    model: Qwen2ModelWeek3,
    pieces: Sequence[Sequence[int]],
    caches: Sequence[Sequence[TinyKvCache]],
) -> list[_Row]:
    """Return where each text's new tokens are, and check that there are some."""
    rows, start = list[_Row](), 0
    for piece, own in zip(pieces, caches, strict=True):
        if not piece or len(own) != model.num_hidden_layers:
            raise ValueError(
                "run_pieces: expected one token at least and "
                f"{model.num_hidden_layers} caches for each text, got {len(piece)} and "
                f"{len(own)}"
            )
        # Read before the layers run: each of them moves the offset of its cache.
        offset, length = own[0].offset, len(piece)
        rows.append(_Row(slice(start, start + length), slice(offset, offset + length)))
        start += length
    return rows


def _run_layer(
    layer: Qwen2TransformerBlock,
    x: Float[mx.array, "1 T E"],
    rows: Sequence[_Row],
    caches: Sequence[TinyKvCache],
    all_sum: Callable[[mx.array], mx.array],
) -> Float[mx.array, "1 T E"]:
    """Carry the stream of all texts through a layer.

    Args:
        layer: The layer.
        x: The stream of all T new tokens.
        rows: Where those of each text are.
        caches: This layer's cache of each text.
        all_sum: Adds up what all processes have computed.
    """
    lengths = [row.here.stop - row.here.start for row in rows]
    if layer.whole_layer and layer.whole_layer.rows.suits(x, lengths, caches):
        return layer.whole_layer.rows(x, lengths, caches)
    h = x + all_sum(_attend(layer.attention, layer.input_layernorm(x), rows, caches))
    return h + all_sum(layer.mlp(layer.post_attention_layernorm(h)))


def _attend(
    attention: Qwen2MultiHeadAttention,
    x: Float[mx.array, "1 T E"],
    rows: Sequence[_Row],
    caches: Sequence[TinyKvCache],
) -> Float[mx.array, "1 T E"]:
    """Project all tokens at once, and let those of each text collect from their own."""
    query = _heads(_product(x, attention.wq, attention.bq), attention.num_heads)
    key = _heads(_product(x, attention.wk, attention.bk), attention.num_kv_heads)
    value = _heads(_product(x, attention.wv, attention.bv), attention.num_kv_heads)
    collected = list[mx.array]()
    for row, cache in zip(rows, caches, strict=True):
        q, k, v = (one[:, row.here] for one in (query, key, value))
        keys, values, _, mask = cache.update_and_fetch(
            attention.rope(k, row.positions).swapaxes(1, 2),
            v.swapaxes(1, 2),
            q.shape[1],
            "causal",
        )
        q = attention.rope(q, row.positions).swapaxes(1, 2)
        collected.append(attention.attend(q, keys, values, mask=mask).swapaxes(1, 2))
    heads = mx.concatenate(collected, axis=1)
    return _product(mx.flatten(heads, -2, -1), attention.wo)


def _heads(x: Float[mx.array, "1 T HD"], num_heads: int) -> Float[mx.array, "1 T H D"]:
    """Split the channels into heads."""
    return mx.unflatten(x, -1, (num_heads, -1))


def _product(
    x: Float[mx.array, "*N I"],
    weight: Float[mx.array, "O I"] | QuantizedWeights,
    bias: Float[mx.array, " O"] | None = None,
) -> Float[mx.array, "*N O"]:
    """Multiply by a weight, packed or not."""
    if isinstance(weight, QuantizedWeights):
        return quantized_linear(x, weight, bias)
    return linear(x, weight, bias)
