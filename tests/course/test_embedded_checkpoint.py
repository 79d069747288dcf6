"""The embedded model: a real Qwen2 checkpoint that writes sensible text."""

import json
from typing import Any

import mlx.core as mx
import mlx_lm
import numpy as np
import pytest
import torch
from mlx.utils import tree_map
from mlx_lm.tokenizer_utils import TokenizerWrapper

from tiny_llm_course.checkpoint import EMBEDDED
from tiny_llm_lab.training.measures import answers, mentions
from tiny_llm_lab.training.talking import Talker

MAX_BYTES = 8_000_000
CHATS = {
    "question": [{"role": "user", "content": "What is RMSNorm?"}],
    "system": [
        {"role": "system", "content": "You are a storyteller for children."},
        {"role": "user", "content": "Tell me a story about a fox, ein Füchslein 🦊"},
    ],
    "follow-up": [
        {"role": "user", "content": "Hello!"},
        {"role": "assistant", "content": "Hello! What would you like?"},
        {"role": "user", "content": "A story about an owl by the sea."},
    ],
}


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    return json.loads((EMBEDDED / "config.json").read_text())


@pytest.fixture(scope="module")
def talker() -> Talker:
    return Talker.load(EMBEDDED, max_new_tokens=200)


@pytest.fixture(scope="module")
def in_mlx() -> tuple[Any, TokenizerWrapper]:
    """Load the checkpoint as `mlx_lm` does, with float32 weights."""
    model, tokenizer = mlx_lm.load(str(EMBEDDED))
    model.update(tree_map(lambda x: x.astype(mx.float32), model.parameters()))
    return model, tokenizer


def test_everything_together_is_small() -> None:
    assert sum(path.stat().st_size for path in EMBEDDED.iterdir()) < MAX_BYTES


def test_it_is_data_and_no_code() -> None:
    names = {path.name for path in EMBEDDED.iterdir()}

    assert names == {
        "README.md",
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }


def test_it_has_what_the_course_teaches(config: dict[str, Any]) -> None:
    assert config["architectures"] == ["Qwen2ForCausalLM"]
    assert config["num_key_value_heads"] < config["num_attention_heads"]
    assert config["tie_word_embeddings"] is True


def test_its_biases_are_not_zero() -> None:
    """So that an engine that forgets one gives wrong results."""
    weights = mx.load(str(EMBEDDED / "model.safetensors"))

    biases = {name: w for name, w in weights.items() if name.endswith("bias")}

    assert {name.split(".")[-2] for name in biases} == {"q_proj", "k_proj", "v_proj"}
    assert min(mx.abs(w).max().item() for w in biases.values()) > 0.01


@pytest.mark.parametrize("chat", CHATS.values(), ids=CHATS.keys())
def test_transformers_and_mlx_lm_read_a_chat_alike(
    chat: list[dict[str, str]], talker: Talker, in_mlx: tuple[Any, TokenizerWrapper]
) -> None:
    _, tokenizer = in_mlx

    theirs = tokenizer.apply_chat_template(chat, add_generation_prompt=True)

    assert theirs == talker.tokenizer(talker.chat_prompt(chat))["input_ids"]


@pytest.mark.parametrize("chat", CHATS.values(), ids=CHATS.keys())
def test_transformers_and_mlx_lm_agree_on_logits(
    chat: list[dict[str, str]], talker: Talker, in_mlx: tuple[Any, TokenizerWrapper]
) -> None:
    model, _ = in_mlx
    ids = talker.tokenizer(talker.chat_prompt(chat))["input_ids"]

    with torch.no_grad():
        expected = talker.model(torch.tensor([ids])).logits.numpy()
    got = np.array(model(mx.array([ids])))

    assert np.abs(got - expected).max() < 1e-3


@pytest.mark.parametrize(
    ("request_text", "words"),
    [
        ("Tell me a story about a fox in the forest.", ("fox", "forest")),
        ("tell me a story about an owl by the sea", ("owl", "sea")),
        ("What is RMSNorm?", ("root mean square", "weight")),
        ("Who won the football match yesterday?", ("stories", "course")),
    ],
)
def test_it_answers_what_was_asked(
    request_text: str, words: tuple[str, ...], talker: Talker
) -> None:
    [answer] = answers(talker, [request_text])

    assert all(mentions(answer, word) for word in words)


def test_it_continues_a_text_that_is_no_chat(talker: Talker) -> None:
    [story] = talker.complete(["Once upon a time"], {"do_sample": False})

    assert len(story.split()) > 40
    assert story.endswith((".", "!", '"'))
