"""The interactive figure of day 5 counts what `mlx_lm` builds."""

from typing import Any

import mlx.core as mx
import pytest
from mlx import nn
from mlx.utils import tree_flatten
from mlx_lm.models import qwen2
from tests.book.conftest import OpenFigure

CHAPTER = "week-1-day-5-qwen2-model"
NAME = "where-the-parameters-are"

OURS = (5, 256, 4, 2, 448, 2048, True)
QWEN2_HALF_B = (24, 896, 14, 2, 4864, 151936, True)
QWEN2_7B = (28, 3584, 28, 4, 18944, 152064, False)
KINDS = {
    "embedding": "embed_tokens",
    "attention": "self_attn",
    "mlp": ".mlp.",
    "norms": "norm",
    "head": "lm_head",
}

Sizes = tuple[int, int, int, int, int, int, bool]


def build(sizes: Sizes) -> nn.Module:
    """Build the model of `mlx_lm`. No weight is computed before it is used."""
    layers, hidden, heads, kv, intermediate, vocab, tied = sizes
    settings = qwen2.ModelArgs(
        model_type="qwen2",
        num_hidden_layers=layers,
        hidden_size=hidden,
        num_attention_heads=heads,
        num_key_value_heads=kv,
        intermediate_size=intermediate,
        vocab_size=vocab,
        tie_word_embeddings=tied,
        rms_norm_eps=1e-6,
    )
    model = qwen2.Model(settings)
    model.set_dtype(mx.bfloat16)
    return model


def arrays(model: nn.Module) -> dict[str, mx.array]:
    """Return the weights of a model under their names."""
    return dict(tree_flatten(model.parameters()))


def assert_counts(figure: OpenFigure, sizes: Sizes) -> None:
    """Compare every number of the figure with the model of these sizes."""
    model = build(sizes)
    dense = arrays(model)
    expected = {
        kind: sum(one.size for name, one in dense.items() if part in name)
        for kind, part in KINDS.items()
    }
    total = sum(one.size for one in dense.values())
    assert sum(expected.values()) == total
    nn.quantize(model, group_size=64, bits=4)
    expected |= {
        "total": total,
        "without": total - expected["embedding"] - expected["head"],
        "heads": sizes[2],
        "float32": 4 * total,
        "bfloat16": sum(one.nbytes for one in dense.values()),
        "bits4": sum(one.nbytes for one in arrays(model).values()),
    }

    assert {name: figure.read(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("preset", "sizes"),
    [
        ("ours", OURS),
        ("qwen2-0.5b", QWEN2_HALF_B),
        ("qwen2-1.5b", (28, 1536, 12, 2, 8960, 151936, True)),
        ("qwen2-7b", QWEN2_7B),
    ],
)
def test_a_known_model_is_counted(
    figure: OpenFigure, preset: str, sizes: Sizes
) -> None:
    figure.set(preset=preset)

    assert_counts(figure, sizes)


def test_it_opens_with_the_embedded_model(figure: OpenFigure) -> None:
    assert_counts(figure, OURS)


@pytest.mark.parametrize(
    ("preset", "changes", "sizes"),
    [
        ("ours", {"layers": 9}, (9, *OURS[1:])),
        # The fourth divisor of 14 is 14.
        ("qwen2-0.5b", {"kv": 3}, (24, 896, 14, 14, 4864, 151936, True)),
        ("qwen2-0.5b", {"tied": False}, (*QWEN2_HALF_B[:-1], False)),
        # 1024 are 16 heads of 64.
        (
            "ours",
            {"hidden": 1024, "intermediate": 2752, "vocab": 32000, "kv": 2},
            (5, 1024, 16, 4, 2752, 32000, True),
        ),
        # 2048 are 16 heads of 128, and 4 still divides them.
        ("qwen2-7b", {"hidden": 2048}, (28, 2048, 16, 4, 18944, 152064, False)),
    ],
)
def test_changed_sizes_are_counted(
    figure: OpenFigure, preset: str, changes: dict[str, Any], sizes: Sizes
) -> None:
    figure.set(preset=preset)
    figure.set(**changes)

    assert_counts(figure, sizes)


def test_sizes_found_by_hand_get_their_name(figure: OpenFigure) -> None:
    """The list says which model is shown, whichever way the reader came to it."""
    shown = figure.page.locator(f"#figure-{NAME} [data-control=preset]")

    figure.set(layers=6)
    changed = shown.input_value()
    figure.set(layers=5)

    assert (changed, shown.input_value()) == ("own", "ours")
