"""A trained model as the files of a Qwen2 checkpoint in Hugging Face layout."""

import json
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from transformers import Qwen2Config, Qwen2ForCausalLM

from tiny_llm_lab.corpus.tokenizer import END_OF_TEXT_ID, TURN_END_ID
from tiny_llm_lab.training.recipe import Recipe

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")
CHECKPOINT_FILES = (
    "README.md",
    "config.json",
    "generation_config.json",
    "model.safetensors",
    *TOKENIZER_FILES,
)
SAMPLING = {"do_sample": True, "temperature": 0.7, "top_p": 0.9}


def config_fields(recipe: Recipe) -> dict[str, Any]:
    """List the entries of `config.json`, named as in Qwen2's published checkpoints."""
    return {
        "architectures": ["Qwen2ForCausalLM"],
        "model_type": "qwen2",
        "vocab_size": recipe.vocab_size,
        "hidden_size": recipe.hidden_size,
        "intermediate_size": recipe.mlp_width,
        "num_hidden_layers": recipe.num_layers,
        "num_attention_heads": recipe.num_heads,
        "num_key_value_heads": recipe.num_kv_heads,
        "hidden_act": "silu",
        "max_position_embeddings": recipe.context,
        "rope_theta": 10000.0,
        "rms_norm_eps": 1e-6,
        "tie_word_embeddings": True,
        "use_sliding_window": False,
        "attention_dropout": 0.0,
        "initializer_range": 0.02,
        "eos_token_id": TURN_END_ID,
        "pad_token_id": END_OF_TEXT_ID,
        "torch_dtype": "bfloat16",
    }


def new_model(recipe: Recipe) -> torch.nn.Module:
    """Make a float32 model with random weights, drawn from the seed of the recipe."""
    torch.manual_seed(recipe.seed)
    fields = config_fields(recipe) | {"torch_dtype": "float32"}
    return Qwen2ForCausalLM(Qwen2Config.from_dict(fields))


def export(
    model: torch.nn.Module, recipe: Recipe, tokenizer_from: Path, folder: Path
) -> None:
    """Write everything of a checkpoint but its card; weights are rounded to bfloat16.

    Args:
        model: The trained model.
        recipe: The recipe of its training.
        tokenizer_from: A folder with the files of the tokenizer.
        folder: Where the checkpoint goes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        name: weight.detach().to("cpu", torch.bfloat16).contiguous()
        for name, weight in model.state_dict().items()
        if name != "lm_head.weight"  # tied: it is the embedding
    }
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    write_json(folder / "config.json", config_fields(recipe))
    ends = {
        "eos_token_id": [TURN_END_ID, END_OF_TEXT_ID],
        "pad_token_id": END_OF_TEXT_ID,
    }
    write_json(folder / "generation_config.json", ends | SAMPLING)
    for name in TOKENIZER_FILES:
        shutil.copyfile(tokenizer_from / name, folder / name)


def install(source: Path, target: Path) -> None:
    """Copy the files of a checkpoint, and no others."""
    target.mkdir(parents=True, exist_ok=True)
    for name in CHECKPOINT_FILES:
        shutil.copyfile(source / name, target / name)


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write an object, indented for people."""
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
