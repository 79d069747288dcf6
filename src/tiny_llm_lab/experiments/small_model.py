"""A small language model of the solution's own blocks, with one choice of each kind."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import mlx.core as mx
from mlx.utils import tree_flatten

from tiny_llm_course.solution import Solution

Part = Callable[[mx.array], mx.array]
Weights = dict[str, Any]
"""Arrays by name; "layers" is a list of such dictionaries, one per layer."""

NORMS = ("none", "LayerNorm", "RMSNorm", "PartialRMSNorm")
PLACES = ("pre", "post")
UNGATED = {
    "ReLU": "activations.relu",
    "GELU": "activations.gelu",
    "SiLU": "basics.silu",
}
GATED = {
    "GLU": None,
    "ReGLU": "activations.relu",
    "GeGLU": "activations.gelu",
    "SwiGLU": "basics.silu",
}
POSITIONS = ("none", "sinusoidal", "RoPE")
EMBEDDINGS = ("tied", "untied")


@dataclass(frozen=True)
class Design:
    """The design of a model. The defaults are Qwen2's choices.

    Attributes:
        norm: One of `NORMS`.
        place: The place of the norms in a layer, one of `PLACES`. Pre-norm has one more
            norm at the end of the model.
        feed_forward: One of `UNGATED`, of width 4 D, or of `GATED`, of width 8/3 D,
            which has the same number of weights.
        positions: One of `POSITIONS`.
        embeddings: "tied" computes the logits with the embedding table.
    """

    norm: str = "RMSNorm"
    place: str = "pre"
    feed_forward: str = "SwiGLU"
    positions: str = "RoPE"
    embeddings: str = "tied"


@dataclass(frozen=True)
class Size:
    """How large a model is.

    Attributes:
        vocab_size: Number V of tokens.
        dim: Width D of the stream.
        num_heads: Number of heads of attention, each of width D / num_heads.
        num_layers: Number of layers.
        context: Number of positions.
    """

    vocab_size: int
    dim: int
    num_heads: int
    num_layers: int
    context: int


def new_weights(solution: Solution, design: Design, size: Size, seed: int) -> Weights:
    """Draw the weights of a model.

    A matrix with I inputs gets normal numbers of variance 1 / I, which keeps the scale
    of its input; gains begin at 1 and biases at 0. Embeddings have
    variance 1 / D, and are multiplied by sqrt(D) when they are looked up (Vaswani et
    al. 2017, section 3.4), so that as vectors and as scores they have unit variance.
    """
    keys = iter(mx.random.split(mx.random.key(seed), 2 + 7 * size.num_layers))

    def matrix(outputs: int, inputs: int) -> mx.array:
        return mx.random.normal((outputs, inputs), key=next(keys)) / math.sqrt(inputs)

    dim = size.dim

    def layer() -> Weights:
        attention = {name: matrix(dim, dim) for name in ("wq", "wk", "wv", "wo")}
        if design.feed_forward in GATED:
            width = solution.get("feed_forward.gated_hidden_dim")(dim, 1)
            mlp = {
                "w_gate": matrix(width, dim),
                "w_up": matrix(width, dim),
                "w_down": matrix(dim, width),
            }
        else:
            mlp = {
                "w1": matrix(4 * dim, dim),
                "b1": mx.zeros(4 * dim),
                "w2": matrix(dim, 4 * dim),
                "b2": mx.zeros(dim),
            }
        norms = {"norm1": _new_norm(design, dim), "norm2": _new_norm(design, dim)}
        return {**attention, **mlp, **norms}

    weights: Weights = {
        "embedding": matrix(size.vocab_size, dim),
        "layers": [layer() for _ in range(size.num_layers)],
    }
    if design.place == "pre":
        weights["norm"] = _new_norm(design, dim)
    if design.embeddings == "untied":
        weights["head"] = matrix(size.vocab_size, dim)
    return weights


def arrays_of(weights: Weights) -> list[mx.array]:
    """List the arrays of all layers."""
    flat = cast("list[tuple[str, mx.array]]", tree_flatten(weights))
    return [array for _, array in flat]


class SmallModel:
    """A transformer that predicts the next token.

    Every operation except splitting and merging heads is the solution's. Making one is
    cheap: inside `mx.value_and_grad` it is made anew from the current weights.

    Args:
        solution: The solution whose blocks it uses.
        design: Its design.
        size: Its size.
        weights: As `new_weights` returns them.
    """

    def __init__(
        self, solution: Solution, design: Design, size: Size, weights: Weights
    ) -> None:
        self.solution = solution
        self.design = design
        self.size = size
        self.weights = weights

    def __call__(self, tokens: mx.array) -> mx.array:
        """Return the logits of every next token.

        Args:
            tokens: N x L token ids.

        Returns:
            N x L x V logits.
        """
        x = self.streams(tokens)[-1]
        if self.design.place == "pre":
            x = self._norm(self.weights["norm"])(x)
        if self.design.embeddings == "tied":
            return self._embedding().as_linear(x)
        return self.solution.get("basics.linear")(x, self.weights["head"])

    def streams(self, tokens: mx.array) -> list[mx.array]:
        """Return the stream (N x L x D) before the first layer and after each one."""
        x = self._embedding()(tokens) * math.sqrt(self.size.dim)
        if self.design.positions == "sinusoidal":
            table = self.solution.get("positional_encoding.sinusoidal_positions")
            x = x + table(tokens.shape[1], self.size.dim)
        block = self.solution.get(f"transformer_block.{self.design.place}_norm_block")
        streams = [x]
        for layer in self.weights["layers"]:
            streams.append(
                block(
                    streams[-1],
                    lambda y, layer=layer: self._attention(y, layer),
                    self._feed_forward(layer),
                    self._norm(layer["norm1"]),
                    self._norm(layer["norm2"]),
                )
            )
        return streams

    def _embedding(self) -> Any:  # noqa: ANN401 - the solution's class
        """Wrap the table of the embeddings."""
        make = self.solution.get("embedding.Embedding")
        return make(self.size.vocab_size, self.size.dim, self.weights["embedding"])

    def _attention(self, x: mx.array, layer: Weights) -> mx.array:
        """Let every token attend to itself and those before it."""
        linear = self.solution.get("basics.linear")
        attend = self.solution.get("attention.scaled_dot_product_attention_simple")
        mask = self.solution.get("attention.causal_mask")
        num_heads, length = self.size.num_heads, x.shape[-2]
        query, key, value = (
            mx.unflatten(linear(x, layer[name]), -1, (num_heads, -1))
            for name in ("wq", "wk", "wv")
        )
        if self.design.positions == "RoPE":
            make = self.solution.get("positional_encoding.RoPE")
            rope = make(self.size.dim // num_heads, self.size.context)
            query, key = rope(query), rope(key)
        heads = attend(
            *(part.swapaxes(-3, -2) for part in (query, key, value)),
            mask=mask(length, length, x.dtype),
        )
        return linear(mx.flatten(heads.swapaxes(-3, -2), -2, -1), layer["wo"])

    def _feed_forward(self, layer: Weights) -> Part:
        """Make the feed-forward layer."""
        name = self.design.feed_forward
        symbol = (GATED | UNGATED)[name]
        activation = self.solution.get(symbol) if symbol else mx.sigmoid
        if name in GATED:
            make = self.solution.get("feed_forward.GatedFeedForward")
            return make(layer["w_gate"], layer["w_up"], layer["w_down"], activation)
        make = self.solution.get("feed_forward.FeedForward")
        return make(layer["w1"], layer["b1"], layer["w2"], layer["b2"], activation)

    def _norm(self, weights: Weights) -> Part:
        """Make a norm; the identity if the design has none."""
        dim = self.size.dim
        if self.design.norm == "none":
            return lambda x: x
        if self.design.norm == "LayerNorm":
            make = self.solution.get("norms.LayerNorm")
            return make(dim, weights["weight"], weights["bias"], 1e-5)
        file = "layer_norm" if self.design.norm == "RMSNorm" else "norms"
        make = self.solution.get(f"{file}.{self.design.norm}")
        return make(dim, weights["weight"], eps=1e-5)


def _new_norm(design: Design, dim: int) -> Weights:
    """Make the initial parameters of a norm."""
    gain = {} if design.norm == "none" else {"weight": mx.ones(dim)}
    return gain | ({"bias": mx.zeros(dim)} if design.norm == "LayerNorm" else {})
