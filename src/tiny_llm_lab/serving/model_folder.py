"""A random model of a real size, with a tokenizer, as a folder that servers load."""

import json
import os
from pathlib import Path
from typing import Any

from tiny_llm_course.checkpoint.names import EMBEDDED
from tiny_llm_lab.bench.models import (
    CACHE,
    QWEN2_0_5B,
    config_of,
    load_mlx,
    random_model,
)

TOKENIZER_FILES = ("tokenizer_config.json", "generation_config.json")


def with_tokenizer() -> Path:
    """Return a folder with the random model of Qwen2-0.5B's shape, and a tokenizer.

    The tokenizer is that of the embedded model, with names of no meaning for all ids
    above its own: a random model chooses any of them.
    """
    folder = random_model(config_of(QWEN2_0_5B), CACHE)
    served = folder.with_name(folder.name + "-served")
    served.mkdir(exist_ok=True)
    for name in (path.name for path in folder.iterdir()):
        if not (served / name).exists():
            os.link(folder / name, served / name)
    for name in TOKENIZER_FILES:
        (served / name).write_bytes((EMBEDDED / name).read_bytes())
    own = json.loads((EMBEDDED / "tokenizer.json").read_text(encoding="utf-8"))
    text = json.dumps(widened(own, config_of(QWEN2_0_5B)["vocab_size"]))
    (served / "tokenizer.json").write_text(text, encoding="utf-8")
    return served


def in_float32() -> Path:
    """Return a folder with the same model, with what is not packed in float32.

    `mlx_lm` is fastest with it on a CPU.
    """
    served = with_tokenizer()
    folder = served.with_name(f"{served.name}-float32")
    if folder.exists():
        return folder
    from mlx_lm.utils import save_model

    unfinished = folder.with_suffix(".new")
    save_model(unfinished, load_mlx(QWEN2_0_5B, dtype="float32"))
    for name in ("config.json", "tokenizer.json", *TOKENIZER_FILES):
        (unfinished / name).write_bytes((served / name).read_bytes())
    unfinished.rename(folder)
    return folder


def widened(tokenizer: dict[str, Any], vocab_size: int) -> dict[str, Any]:
    """Give every id a token. New ones come out of no text: no merge leads to them."""
    vocab = dict(tokenizer["model"]["vocab"])
    taken = {*vocab.values(), *(one["id"] for one in tokenizer["added_tokens"])}
    for number in range(vocab_size):
        if number not in taken:
            vocab[f"t{number}t"] = number
    return {**tokenizer, "model": {**tokenizer["model"], "vocab": vocab}}
