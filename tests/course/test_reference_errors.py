"""The reference reports wrong arguments in one line."""

import ast
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import mlx.core as mx
import pytest
from mlx import nn
from tests.course.test_reference_errors_week_3 import CASES as WEEK_3

from tiny_llm_course.grading.scenarios.architecture import (
    Architecture,
    block_weights,
    mlx_model,
    model_weights,
)
from tiny_llm_course.grading.scenarios.fakes import (
    ByteTokenizer,
    ScriptedCachedModel,
    ScriptedModel,
)
from tiny_llm_course.places import REFERENCE
from tiny_llm_ref import kernels, qwen2_week2
from tiny_llm_ref.attention import (
    SimpleMultiHeadAttention,
    causal_mask,
    scaled_dot_product_attention_grouped,
)
from tiny_llm_ref.batch import batch_generate
from tiny_llm_ref.embedding import Embedding
from tiny_llm_ref.feed_forward import FeedForward, GatedFeedForward
from tiny_llm_ref.generate import simple_generate, simple_generate_with_kv_cache
from tiny_llm_ref.kv_cache import BatchingKvCache, TinyKvFullCache
from tiny_llm_ref.layer_norm import RMSNorm
from tiny_llm_ref.norms import BatchNorm, GroupNorm, LayerNorm, PartialRMSNorm
from tiny_llm_ref.positional_encoding import RoPE, sinusoidal_positions
from tiny_llm_ref.quantize import QuantizedWeights, quantize
from tiny_llm_ref.qwen2_week1 import (
    Qwen2MLP,
    Qwen2ModelWeek1,
    Qwen2MultiHeadAttention,
    Qwen2TransformerBlock,
)
from tiny_llm_ref.qwen2_week3 import Qwen2ModelWeek3
from tiny_llm_ref.sampler import make_sampler


def zeros(*shape: int) -> mx.array:
    return mx.zeros(shape)


def attention(num_heads: int = 4, num_kv_heads: int = 2, **wrong: mx.array) -> object:
    """Build the attention of Qwen2 with some weights of wrong shapes."""
    weights = {name: zeros(8, 8) for name in ("wq", "wo")}
    weights |= {name: zeros(4, 8) for name in ("wk", "wv")}
    weights |= {"bq": zeros(8), "bk": zeros(4), "bv": zeros(4)}
    return Qwen2MultiHeadAttention(8, num_heads, num_kv_heads, **(weights | wrong))


def mlp(**wrong: mx.array) -> object:
    """Build the MLP with some weights of wrong shapes."""
    weights = {name: zeros(6, 4) for name in ("w_gate", "w_up")}
    return Qwen2MLP(4, 6, **(weights | {"w_down": zeros(4, 6)} | wrong))


def block(**wrong: mx.array) -> object:
    """Build a block with some weights of wrong shapes."""
    sizes = Architecture()
    names = ("wq", "wk", "wv", "wo", "bq", "bk", "bv", "w_gate", "w_up", "w_down")
    names += ("w_input_layernorm", "w_post_attention_layernorm")
    drawn = block_weights(sizes, mx.float32).values()
    weights = dict(zip(names, drawn, strict=True))
    return Qwen2TransformerBlock(4, 2, 32, 48, 1e-6, **(weights | wrong))


def model(sizes: Architecture, **settings: object) -> object:
    """Build the model of a checkpoint with a changed configuration."""
    loaded = mlx_model(Architecture(), model_weights(Architecture(), mx.float32))
    args = sizes.as_config() | {"model_type": "qwen2"} | settings
    weights = SimpleNamespace(model=loaded.model, args=SimpleNamespace(**args))
    return Qwen2ModelWeek1(weights)


def with_cache(model_type: str = "qwen2") -> qwen2_week2.Qwen2ModelWeek2:
    """Build the model of Week 2 on two layers."""
    loaded = mlx_model(Architecture(), model_weights(Architecture(), mx.float32))
    loaded.args.model_type = model_type
    return qwen2_week2.Qwen2ModelWeek2(loaded)


def of_week_3() -> Qwen2ModelWeek3:
    """Build the model of Week 3 on two layers."""
    return Qwen2ModelWeek3(
        mlx_model(Architecture(), model_weights(Architecture(), mx.float32))
    )


def in_slot(slot: int) -> BatchingKvCache:
    """Put a text into one of two slots."""
    cache = BatchingKvCache(2)
    cache.add_request(TinyKvFullCache(), slot)
    return cache


def kernels_for(whom: str) -> bool:
    """Set TINY_LLM_KERNELS, and return whether kernels are on."""
    with patch.dict(os.environ, {"TINY_LLM_KERNELS": whom}):
        return kernels.are_on()


def attend_with(mask: Any) -> mx.array:  # noqa: ANN401 - of any kind
    """Attend with a kernel."""
    return kernels.attention_online(*[zeros(1, 1, 1, 4)] * 3, 1.0, mask)


def rotate(
    offset: slice | list[slice] | None, seq_len: int = 64, width: int = 8
) -> object:
    """Rotate three sequences of four tokens."""
    return RoPE(8, seq_len)(zeros(3, 4, 2, width), offset)


CASES: list[tuple[Callable[[], object], str]] = [
    (
        lambda: kernels_for("all"),
        "TINY_LLM_KERNELS: expected auto, none or own, got 'all'",
    ),
    (
        lambda: attend_with("none"),
        "attention_online: expected 'causal', an array or None, got 'none'",
    ),
    (
        lambda: SimpleMultiHeadAttention(10, 4, *[zeros(10, 10)] * 4),
        "SimpleMultiHeadAttention: expected a hidden_size that num_heads divides, got "
        "hidden_size 10 and num_heads 4",
    ),
    (
        lambda: causal_mask(5, 3, mx.float32),
        "causal_mask: expected L <= S, got L = 5 and S = 3",
    ),
    (
        lambda: scaled_dot_product_attention_grouped(
            zeros(6, 2, 8), zeros(4, 3, 8), zeros(4, 3, 8)
        ),
        "scaled_dot_product_attention_grouped: expected query heads to be a multiple "
        "of key heads, got 6 query and 4 key heads",
    ),
    (
        lambda: Embedding(11, 6, zeros(6, 11)),
        "Embedding: expected a weight of shape (11, 6), got (6, 11)",
    ),
    (
        lambda: simple_generate(ScriptedModel("", "a"), ByteTokenizer(), "", None),
        "simple_generate: expected a prompt, got an empty one",
    ),
    (
        lambda: simple_generate_with_kv_cache(
            ScriptedCachedModel("", "a"), ByteTokenizer(), ""
        ),
        "simple_generate_with_kv_cache: expected a prompt, got an empty one",
    ),
    (
        lambda: RMSNorm(8, zeros(9)),
        "RMSNorm: expected a weight of shape (8,), got (9,)",
    ),
    (
        lambda: LayerNorm(8, zeros(8), zeros(1, 8)),
        "LayerNorm: bias: expected shape (8,), got (1, 8)",
    ),
    (
        lambda: BatchNorm(3, *[zeros(3)] * 4)(zeros(1, 3), training=True),
        "BatchNorm: expected two vectors at least to train on, got shape (1, 3); pass "
        "training=False",
    ),
    (
        lambda: GroupNorm(4, 6, zeros(6), zeros(6)),
        "GroupNorm: expected num_groups to divide dim, got 4 and 6",
    ),
    (
        lambda: PartialRMSNorm(8, zeros(8), 6.25),
        "PartialRMSNorm: expected a fraction above 0 and 1 at most, got 6.25",
    ),
    (lambda: RoPE(7, 64), "RoPE: expected an even number of dims, got 7"),
    (lambda: rotate(None, width=6), "RoPE: expected vectors of length 8, got 6"),
    (lambda: rotate([slice(0, 4)] * 2), "RoPE: expected 3 offsets, got 2"),
    (lambda: rotate([slice(0, 4)]), "RoPE: expected 3 offsets, got 1"),
    (
        lambda: rotate(slice(7, 12)),
        "RoPE: expected a slice of 4 positions, got slice(7, 12, None)",
    ),
    (
        lambda: rotate([slice(0, 4), slice(0, 4), slice(0, 3)]),
        "RoPE: expected a slice of 4 positions, got slice(0, 3, None)",
    ),
    (
        lambda: rotate(slice(61, 65)),
        "RoPE: expected positions below 64, got 61 to 64; make seq_len larger or the "
        "text shorter",
    ),
    (
        lambda: rotate(None, seq_len=3),
        "RoPE: expected positions below 3, got 0 to 3; make seq_len larger or the text "
        "shorter",
    ),
    (
        lambda: sinusoidal_positions(4, 7),
        "sinusoidal_positions: expected an even dim, got 7",
    ),
    (
        lambda: attention(num_heads=3),
        "Qwen2MultiHeadAttention: expected num_kv_heads to divide num_heads, and "
        "num_heads to divide hidden_size, got 2, 3 and 8",
    ),
    (
        lambda: attention(num_kv_heads=3),
        "Qwen2MultiHeadAttention: expected num_kv_heads to divide num_heads, and "
        "num_heads to divide hidden_size, got 3, 4 and 8",
    ),
    (
        lambda: attention(wk=zeros(8, 8)),
        "wk: expected shape (4, 8), got (8, 8)",
    ),
    (lambda: attention(bq=zeros(4)), "bq: expected shape (8,), got (4,)"),
    (lambda: mlp(w_down=zeros(6, 4)), "w_down: expected shape (4, 6), got (6, 4)"),
    (
        lambda: block(w_input_layernorm=zeros(48)),
        "RMSNorm: expected a weight of shape (32,), got (48,)",
    ),
    (lambda: block(wo=zeros(32, 16)), "wo: expected shape (32, 32), got (32, 16)"),
    (
        lambda: FeedForward(zeros(6, 4), zeros(4), zeros(4, 6), zeros(4), mx.tanh),
        "FeedForward: b1: expected shape (6,), got (4,)",
    ),
    (
        lambda: GatedFeedForward(zeros(6, 4), zeros(6, 4), zeros(6, 4), mx.tanh),
        "GatedFeedForward: w_down: expected shape (4, 6), got (6, 4)",
    ),
    (
        lambda: model(Architecture(), model_type="llama"),
        "Qwen2ModelWeek1: expected a checkpoint of model_type 'qwen2', got 'llama'",
    ),
    (
        lambda: model(replace(Architecture(), vocab_size=51)),
        "Embedding: expected a weight of shape (51, 32), got (50, 32)",
    ),
    (
        lambda: model(replace(Architecture(), intermediate_size=64)),
        "w_gate: expected shape (64, 32), got (48, 32)",
    ),
    (
        lambda: qwen2_week2.Qwen2MultiHeadAttention(8, 3, 2, *[zeros(8, 8)] * 7),
        "Qwen2MultiHeadAttention: expected num_kv_heads to divide num_heads, and "
        "num_heads to divide hidden_size, got 2, 3 and 8",
    ),
    (
        lambda: qwen2_week2.Qwen2MLP(4, 6, *[zeros(6, 4)] * 3),
        "w_down: expected shape (4, 6), got (6, 4)",
    ),
    (
        lambda: with_cache(model_type="llama"),
        "Qwen2ModelWeek2: expected a checkpoint of model_type 'qwen2', got 'llama'",
    ),
    (
        lambda: with_cache()(mx.array([[1]]), 0, [TinyKvFullCache()]),
        "Qwen2ModelWeek2: expected 2 caches, one per layer, got 1",
    ),
    (
        lambda: of_week_3()(mx.array([[1]]), 0, [TinyKvFullCache()]),
        "Qwen2ModelWeek3: expected 2 caches, one per layer, got 1",
    ),
    (
        lambda: in_slot(2),
        "BatchingKvCache: expected a slot below 2, got 2",
    ),
    (
        lambda: in_slot(0).add_request(TinyKvFullCache(), 0),
        "BatchingKvCache: expected slot 0 to be idle, got one that is taken",
    ),
    (
        lambda: in_slot(0).update_and_fetch(zeros(1, 1, 1, 4), zeros(1, 1, 1, 4)),
        "BatchingKvCache: expected 2 rows, one per slot, got 1",
    ),
    (
        lambda: batch_generate(of_week_3(), ByteTokenizer(), ["Once"], max_seq_len=4),
        "batch_generate: expected prompts of 1 to 3 tokens, got 4; make max_seq_len "
        "larger or the prompt shorter",
    ),
    (
        lambda: make_sampler(-0.1, None, None),
        "make_sampler: expected a temp of 0 or more, got -0.1",
    ),
    (
        lambda: make_sampler(1, 1.5, None),
        "make_sampler: expected a top_p from 0 to 1, got 1.5",
    ),
    (
        lambda: make_sampler(1, -0.5, None),
        "make_sampler: expected a top_p from 0 to 1, got -0.5",
    ),
    (
        lambda: make_sampler(1, None, -1),
        "make_sampler: expected a top_k of 0 or more, got -1",
    ),
    (
        lambda: quantize(zeros(2, 96), 64, 4),
        "quantize: expected rows of a multiple of 64 weights, got shape (2, 96)",
    ),
    (
        lambda: QuantizedWeights.from_mlx_layer(
            nn.QuantizedLinear(64, 2, group_size=32, bits=4, mode="mxfp4")
        ),
        "QuantizedWeights: expected a layer with biases, got 'mxfp4'",
    ),
]


@pytest.mark.parametrize(
    ("action", "message"), CASES + WEEK_3, ids=[one for _, one in CASES + WEEK_3]
)
def test_a_wrong_argument_is_told_in_full(
    action: Callable[[], object], message: str
) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - compared in full below
        action()

    assert str(error.value) == message


OF_THE_SERVER = {"engine_thread.py", "server.py"}
"""What these raise needs a client on a socket: `test_serve.py`,
`test_serving_survives.py` and the tests of Week 3, Day 6 have one.
"""
TOLD_ELSEWHERE = {"NotBuiltError", "MemoryError"}
"""They have tests of their own."""


def test_every_error_of_the_reference_is_among_these() -> None:
    raised = set[tuple[str, int | None]]()
    for action, _ in CASES + WEEK_3:
        with pytest.raises(ValueError) as error:  # noqa: PT011 - any of the reference
            action()
        raised |= set(_places(error.value))

    assert raised == {
        (path.name, node.lineno)
        for path in REFERENCE.glob("*.py")
        if path.name not in OF_THE_SERVER
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise)
        and not any(one in ast.unparse(node) for one in TOLD_ELSEWHERE)
    }


def _places(error: BaseException | None) -> Iterator[tuple[str, int | None]]:
    """Yield where an error was raised, and where those that it stands for were."""
    while error is not None:
        last = traceback.extract_tb(error.__traceback__)[-1]
        if Path(last.filename).is_relative_to(REFERENCE):
            yield Path(last.filename).name, last.lineno
        error = error.__context__


def test_kernels_that_are_not_compiled_are_told_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = sys.modules["tiny_llm_ref"]  # other tests import it anew
    monkeypatch.setattr(package, "__path__", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "tiny_llm_ref._kernels", raising=False)
    kernels.built.cache_clear()

    with pytest.raises(kernels.NotBuiltError) as error:
        kernels.built()

    assert str(error.value) == (
        "the kernels of tiny_llm_ref: expected a compiled module, got No module named "
        "'tiny_llm_ref._kernels'; run: pdm run build-ext-ref"
    )
