"""The oracle agrees with other implementations."""

import mlx.core as mx
import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - PyTorch's own custom
from torch.nn.attention.bias import causal_lower_right

from tiny_llm_course.grading.judgement.closeness import Truth
from tiny_llm_course.grading.judgement.inputs import each_dtype, gain, normal
from tiny_llm_course.grading.scenarios.architecture import (
    Architecture,
    Weights,
    block_weights,
    embedded,
    mlp_weights,
    model_weights,
    under,
)
from tiny_llm_course.oracle import (
    attention,
    feed_forward,
    layer_norm,
    norms,
    positional_encoding,
    sampler,
)
from tiny_llm_course.oracle.exact import exact

IDS = mx.array([[3, 1, 4, 1, 5, 9, 2], [6, 5, 35, 8, 0, 49, 7]])


def assert_agree(truth: Truth, other: torch.Tensor, *, within: float = 1e-12) -> None:
    """Compare two computations in float64, relative to the largest entry."""
    scale = np.abs(truth.value).max()
    np.testing.assert_allclose(
        truth.value / scale, other.detach().numpy() / scale, rtol=0, atol=within
    )


@each_dtype
def test_an_input_is_taken_over_without_rounding(dtype: mx.Dtype) -> None:
    x = normal(100, dtype=dtype)

    assert mx.array_equal(mx.array(exact(x).numpy()).astype(dtype), x)
    assert exact(x).dtype == torch.float64


@each_dtype
@pytest.mark.parametrize(("dim", "hidden_dim"), [(4, 6), (64, 160), (7, 3)])
def test_swiglu_agrees_with_the_mlp_of_transformers(
    dim: int, hidden_dim: int, dtype: mx.Dtype
) -> None:
    """The day's tests use `swiglu`, since importing transformers takes four seconds."""
    sizes = Architecture(hidden_size=dim, intermediate_size=hidden_dim)

    _assert_mlp(normal(2, 3, dim, dtype=dtype, scale=2), mlp_weights(sizes, dtype))


def test_swiglu_agrees_on_the_weights_of_a_trained_model() -> None:
    _, weights = embedded()
    x = weights["model.embed_tokens.weight"][100:116]

    _assert_mlp(x[None], under("model.layers.0.mlp.", weights))


def _assert_mlp(x: mx.array, weights: Weights) -> None:
    from tiny_llm_course.oracle import qwen2

    names = ("gate_proj.weight", "up_proj.weight", "down_proj.weight")
    truth = feed_forward.swiglu(x, *(weights[name] for name in names))

    other = qwen2.mlp(x, weights)

    assert_agree(truth, torch.from_numpy(other.value))
    np.testing.assert_allclose(truth.scale, other.scale)


def test_rms_norm_agrees_with_that_of_transformers() -> None:
    """That one rounds to float32 in between."""
    from transformers.models.qwen2.modeling_qwen2 import Qwen2RMSNorm

    x, weight = normal(4, 33), gain(33)
    layer = Qwen2RMSNorm(33, eps=1e-6).double()
    layer.load_state_dict({"weight": exact(weight)})

    truth = layer_norm.rms_norm(x, weight, 1e-6)

    assert_agree(truth, layer(exact(x)), within=1e-6)


def test_partial_rms_norm_of_all_channels_is_rms_norm() -> None:
    x, weight = normal(4, 33), gain(33)

    truth = norms.partial_rms_norm(x, weight, 1.0, 1e-6)

    assert_agree(truth, torch.from_numpy(layer_norm.rms_norm(x, weight, 1e-6).value))


def test_one_group_of_one_position_is_layer_norm() -> None:
    x, weight, bias = normal(4, 33), gain(33), normal(33)

    truth = norms.group_norm(x, 1, weight, bias, 1e-6)

    other = norms.layer_norm(x, weight, bias, 1e-6)
    assert_agree(truth, torch.from_numpy(other.value))
    np.testing.assert_allclose(truth.scale, other.scale)


def test_the_running_variance_is_moved_by_the_unbiased_one() -> None:
    """PyTorch's documentation says so in one sentence."""
    batch, mean, var = normal(2, 5, 3), normal(3, name="mean"), gain(3)

    _, running = norms.running_statistics([batch], mean, var, 0.25)

    unbiased = exact(batch).reshape(10, 3).var(dim=0)
    expected = 0.75 * exact(var) + 0.25 * unbiased
    torch.testing.assert_close(torch.from_numpy(running), expected)


@pytest.mark.parametrize("scale", [None, 0.3])
@pytest.mark.parametrize("num_kv_heads", [1, 2, 6])
def test_attention_gives_neighbouring_query_heads_one_key_head(
    num_kv_heads: int, scale: float | None
) -> None:
    query, key, value = _heads(6, num_kv_heads)

    truth = attention.attention(query, key, value, scale)

    q, k, v = map(exact, (query, key, value))
    grouped = F.scaled_dot_product_attention(q, k, v, scale=scale, enable_gqa=True)
    assert_agree(truth, grouped)


def test_attention_is_the_formula_of_the_chapter() -> None:
    """Written out for one head, mask and all."""
    query, key, value = (one[0, 0] for one in _heads(1, 1))
    mask = normal(4, 5, name="mask")

    truth = attention.attention(query, key, value, mask=mask)

    scores = exact(query) @ exact(key).T / 8**0.5 + exact(mask)
    exponentials = scores.exp()
    assert_agree(truth, exponentials / exponentials.sum(-1, True) @ exact(value))


@pytest.mark.parametrize("num_queries", [1, 4, 5])
def test_the_causal_mask_is_that_of_the_last_queries(num_queries: int) -> None:
    query, key, value = _heads(2, 2, num_queries)
    mask = mx.array(attention.causal_mask(num_queries, 5), mx.float32)

    truth = attention.attention(query, key, value, mask=mask)

    bias = causal_lower_right(num_queries, 5)
    q, k, v = map(exact, (query, key, value))
    assert_agree(truth, F.scaled_dot_product_attention(q, k, v, attn_mask=bias))


@pytest.mark.parametrize("num_heads", [1, 2, 4])
def test_multi_head_attention_is_attention_on_slices(num_heads: int) -> None:
    """Head h takes rows h D to h D + D - 1 of the projections."""
    wq, wk, wv, wo = weights = [normal(8, 8, name=name) for name in "qkvo"]
    query, key, value = inputs = [normal(2, 5, 8, name=f"{name} in") for name in "qkv"]

    truth = attention.multi_head_attention(num_heads, tuple(weights), tuple(inputs))

    heads = []
    for rows in torch.arange(8).chunk(num_heads):
        q, k, v = (
            exact(x) @ exact(w)[rows].T
            for x, w in zip((query, key, value), (wq, wk, wv), strict=True)
        )
        heads.append(F.scaled_dot_product_attention(q, k, v))
    assert_agree(truth, torch.cat(heads, dim=-1) @ exact(wo).T)


@pytest.mark.parametrize("start", [0, 7])
@pytest.mark.parametrize("base", [100.0, 1e6])
def test_rope_with_halves_agrees_with_transformers(start: int, base: float) -> None:
    from transformers.models.qwen2.modeling_qwen2 import apply_rotary_pos_emb

    x = normal(2, 5, 3, 8)
    positions = range(start, start + 5)

    truth = positional_encoding.rope(x, [positions] * 2, base=base, traditional=False)

    steps = torch.tensor(positions)
    angles = positional_encoding.rotation_angles(steps, 8, base).repeat(1, 2)
    rotated, _ = apply_rotary_pos_emb(
        exact(x), exact(x), angles.cos()[None], angles.sin()[None], unsqueeze_dim=2
    )
    assert_agree(truth, rotated)


def test_angles_are_powers_of_the_base() -> None:
    """Position times base^(-2 i / D), the first pair turning fastest."""
    angles = positional_encoding.rotation_angles(torch.tensor([0, 1, 30]), 4, 10000.0)

    np.testing.assert_allclose(angles, [[0, 0], [1, 0.01], [30, 0.3]], rtol=1e-15)


@pytest.mark.parametrize("traditional", [True, False])
def test_rope_agrees_with_the_library(*, traditional: bool) -> None:
    """Each sequence from a position of its own. The library works in float32."""
    x = normal(3, 4, 2, 8)
    starts = [5, 0, 60]
    positions = [range(start, start + 4) for start in starts]

    truth = positional_encoding.rope(x, positions, base=1e4, traditional=traditional)

    rotated = mx.fast.rope(
        x.swapaxes(1, 2),
        8,
        traditional=traditional,
        base=1e4,
        scale=1.0,
        offset=mx.array(starts),
    )
    assert_agree(truth, exact(rotated.swapaxes(1, 2)), within=1e-5)


@pytest.mark.parametrize(
    "sizes",
    [
        Architecture(),
        Architecture(tie_word_embeddings=False),
        Architecture(rope_theta=300.0, rms_norm_eps=0.1, num_key_value_heads=1),
    ],
    ids=["tied", "untied", "other numbers"],
)
def test_a_model_agrees_with_transformers_as_it_comes(sizes: Architecture) -> None:
    _assert_model(sizes, model_weights(sizes, mx.float32))


def test_a_model_agrees_with_transformers_on_trained_weights() -> None:
    _assert_model(*embedded())


def _assert_model(sizes: Architecture, weights: Weights) -> None:
    """Compare with a model whose rotation is its own, in float32."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    from tiny_llm_course.oracle import qwen2

    config = Qwen2Config.from_dict(sizes.as_config())
    network = Qwen2ForCausalLM(config).eval().double()
    stored = {name: exact(array) for name, array in weights.items()}
    if sizes.tie_word_embeddings:
        stored["lm_head.weight"] = stored["model.embed_tokens.weight"]
    network.load_state_dict(stored)

    truth = qwen2.model(IDS, weights, sizes)

    assert_agree(truth, network(exact(IDS)).logits, within=1e-5)


def test_a_block_is_the_one_in_a_model_of_one_layer() -> None:
    """The embedding comes before it, the last norm and the head after it."""
    from tiny_llm_course.oracle import qwen2

    sizes = Architecture(num_hidden_layers=1)
    weights = model_weights(sizes, mx.float32)
    table = weights["model.embed_tokens.weight"]
    mask = attention.causal_mask(7, 7)

    block = qwen2.block(table[IDS], under("model.layers.0.", weights), sizes, mask)

    states = torch.from_numpy(block.value)
    gains = exact(weights["model.norm.weight"])
    normed = F.rms_norm(states, gains.shape, gains, eps=sizes.rms_norm_eps)
    logits = normed @ exact(table).T
    assert_agree(qwen2.model(IDS, weights, sizes), logits, within=1e-6)


@pytest.mark.parametrize("name", ["mlp.up_proj.weight", "self_attn.k_proj.bias"])
def test_a_weight_that_is_missing_is_not_drawn_at_random(name: str) -> None:
    from tiny_llm_course.oracle import qwen2

    sizes = Architecture()
    weights = block_weights(sizes, mx.float32)
    del weights[name]

    with pytest.raises(AssertionError):
        qwen2.block(normal(1, 4, 32), weights, sizes, None)


ROWS = [[0.1, 0.4, 0.2, 0.3], [0.7, 0.1, 0.15, 0.05]]


def test_shares_are_the_probabilities_when_all_is_kept() -> None:
    shares = sampler.shares(ROWS, 1.0, [{0, 1, 2, 3}] * 2)

    np.testing.assert_allclose(shares, ROWS)


def test_shares_are_those_of_what_is_kept() -> None:
    shares = sampler.shares(ROWS, 1.0, [{1, 3}, {0}])

    np.testing.assert_allclose(shares, [[0, 4 / 7, 0, 3 / 7], [1, 0, 0, 0]])


def test_a_temperature_is_a_power_of_the_probabilities() -> None:
    shares = sampler.shares(ROWS, 0.5, [{0, 1, 2, 3}] * 2)

    squares = np.square(ROWS)
    np.testing.assert_allclose(shares, squares / squares.sum(-1, keepdims=True))


def test_at_temperature_0_all_falls_on_the_likeliest() -> None:
    shares = sampler.shares(ROWS, 0.0, [{0, 2}, {0, 1, 2, 3}])

    assert shares.tolist() == [[0, 0, 1, 0], [1, 0, 0, 0]]


def _heads(
    num_heads: int, num_kv_heads: int, num_queries: int = 4
) -> tuple[mx.array, mx.array, mx.array]:
    """Draw queries, and 5 keys and values, with heads of width 8."""
    query = normal(2, num_heads, num_queries, 8, name="query")
    key = normal(2, num_kv_heads, 5, 8, name="key")
    value = normal(2, num_kv_heads, 5, 8, name="value")
    return query, key, value
