"""The small models of the labs: Qwen2 by default, and comparable with its variants."""

import math
from dataclasses import replace
from itertools import islice

import mlx.core as mx
import numpy as np
import pytest
import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

from tiny_llm_course.doctor.finding import Finding
from tiny_llm_course.solution import load_solution
from tiny_llm_lab.experiments import ablate, small_training, training_speed
from tiny_llm_lab.experiments.small_model import (
    Design,
    Size,
    SmallModel,
    Weights,
    new_weights,
)
from tiny_llm_lab.experiments.small_training import (
    SIZE,
    Budget,
    num_parameters,
    text_rows,
    train,
)

REFERENCE = load_solution("ref")
TINY = Size(vocab_size=2048, dim=24, num_heads=2, num_layers=2, context=16)
EVERY_DESIGN = [arm.design for arm in ablate.arms()]

each_design = pytest.mark.parametrize("design", EVERY_DESIGN, ids=str)


def tokens(num_rows: int = 3) -> mx.array:
    rng = np.random.default_rng(0)
    return mx.array(rng.integers(TINY.vocab_size, size=(num_rows, TINY.context)))


def qwen2(weights: Weights) -> Qwen2ForCausalLM:
    """Put weights of the default design, with a head of its own, into Qwen2."""
    config = Qwen2Config(
        vocab_size=TINY.vocab_size,
        hidden_size=TINY.dim,
        intermediate_size=8 * TINY.dim // 3,
        num_hidden_layers=TINY.num_layers,
        num_attention_heads=TINY.num_heads,
        num_key_value_heads=TINY.num_heads,
        max_position_embeddings=TINY.context,
        rms_norm_eps=1e-5,
        tie_word_embeddings=False,
    )
    names = {
        "model.embed_tokens.weight": weights["embedding"] * math.sqrt(TINY.dim),
        "model.norm.weight": weights["norm"]["weight"],
        "lm_head.weight": weights["head"],
    }
    for number, layer in enumerate(weights["layers"]):
        prefix = f"model.layers.{number}"
        names |= {
            f"{prefix}.input_layernorm.weight": layer["norm1"]["weight"],
            f"{prefix}.post_attention_layernorm.weight": layer["norm2"]["weight"],
            **{
                f"{prefix}.self_attn.{letter}_proj.weight": layer[f"w{letter}"]
                for letter in "qkvo"
            },
            **{
                f"{prefix}.self_attn.{letter}_proj.bias": mx.zeros(TINY.dim)
                for letter in "qkv"
            },
            **{
                f"{prefix}.mlp.{part}_proj.weight": layer[f"w_{part}"]
                for part in ("gate", "up", "down")
            },
        }
    model = Qwen2ForCausalLM(config)
    state = {name: torch.from_numpy(np.array(array)) for name, array in names.items()}
    model.load_state_dict(state)
    return model


def test_the_default_design_is_qwen2() -> None:
    design = replace(Design(), embeddings="untied")
    weights = new_weights(REFERENCE, design, TINY, seed=3)

    got = SmallModel(REFERENCE, design, TINY, weights)(tokens())

    with torch.no_grad():
        expected = qwen2(weights)(torch.from_numpy(np.array(tokens()))).logits
    np.testing.assert_allclose(np.array(got), expected.numpy(), rtol=0, atol=2e-5)


@each_design
def test_no_token_sees_the_future(design: Design) -> None:
    weights = new_weights(REFERENCE, design, TINY, seed=0)
    model = SmallModel(REFERENCE, design, TINY, weights)
    changed = tokens()
    changed[:, -1] = (changed[:, -1] + 1) % TINY.vocab_size

    before, after = model(tokens()), model(changed)

    assert mx.allclose(before[:, :-1], after[:, :-1], atol=1e-5)
    assert not mx.allclose(before[:, -1], after[:, -1], atol=1e-2)


@pytest.mark.usefixtures("uncompiled")
@each_design
def test_every_weight_is_trained(design: Design) -> None:
    """If the loss did not depend on a weight, its arm would test nothing."""
    size = replace(TINY, context=32)

    step = next(iter(train(REFERENCE, design, size, Budget(1, 0.01, 0))))

    unused = [
        name
        for number, layer in enumerate(step.gradients["layers"])
        for name, gradient in layer.items()
        if isinstance(gradient, mx.array) and not mx.any(gradient != 0).item()
        for name in [f"layers.{number}.{name}"]
    ]
    assert unused == []


def test_only_positions_tell_one_order_from_another() -> None:
    """Without them, the last token of a one-layer model sees a bag of tokens."""
    size = replace(TINY, num_layers=1)
    swapped = mx.concatenate([tokens()[:, :-1][:, ::-1], tokens()[:, -1:]], axis=1)
    seen = {}
    for positions in ("none", "sinusoidal", "RoPE"):
        design = replace(Design(), positions=positions)
        weights = new_weights(REFERENCE, design, size, seed=0)
        model = SmallModel(REFERENCE, design, size, weights)
        seen[positions] = mx.allclose(
            model(tokens())[:, -1], model(swapped)[:, -1], atol=1e-4
        ).item()

    assert seen == {"none": True, "sinusoidal": False, "RoPE": False}


def test_feed_forward_arms_are_equally_large() -> None:
    """Except for the biases of the ungated ones: less than a part in 300."""
    sizes = {
        arm.choice: num_parameters(new_weights(REFERENCE, arm.design, SIZE, 0))
        for arm in ablate.arms()
        if arm.factor == "feed_forward"
    }
    baseline = num_parameters(new_weights(REFERENCE, Design(), SIZE, 0))

    gated = {choice for choice, size in sizes.items() if size == baseline}
    assert gated == {"GLU", "ReGLU", "GeGLU"}
    assert all(abs(size - baseline) < baseline / 300 for size in sizes.values())


def test_training_lowers_the_loss_and_repeats() -> None:
    """Of a model of few kernels, as they are compiled here."""
    design = Design(norm="none", positions="none")

    def losses() -> list[float]:
        steps = train(REFERENCE, design, TINY, Budget(40, 0.01, 0))
        return [step.loss for step in islice(steps, 40)]

    first = losses()

    assert first[-1] < first[0] - 1
    assert losses() == first


def test_a_slow_blas_is_told_before_training(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Finding("BLAS", "note", "MLX's own", "slow", "sudo apt-get install x")
    monkeypatch.setattr(training_speed, "check_blas", lambda: found)

    assert training_speed.blas_here() == {
        "warning": f"{training_speed.SLOW}; sudo apt-get install x",
        "blas": "MLX's own",
    }


def test_the_rate_rises_and_falls() -> None:
    rates = [Budget(100, 0.01, 0).rate(step) for step in range(100)]

    assert max(rates) == rates[9] == pytest.approx(0.01)
    assert rates[0] == pytest.approx(0.001)
    assert rates[-1] < 0.0001
    assert rates[10:] == sorted(rates[10:], reverse=True)


def test_text_is_new_for_each_seed_and_in_no_training_when_held_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(small_training, "DOCUMENTS_PER_CHUNK", 100)
    parts = [
        text_rows(0, 40, 65),
        text_rows(1, 40, 65),
        text_rows(0, 40, 65, held_out=True),
    ]

    texts = [{row.tobytes() for row in part} for part in parts]

    assert not texts[0] & texts[1]
    assert not (texts[0] | texts[1]) & texts[2]
