"""A random model as Hugging Face stores it, of which some peers make their own format.

`python -m tiny_llm_lab.bench.random_model` writes that of a real size.
"""

import json
import shutil
from pathlib import Path
from typing import Any

from tiny_llm_course.checkpoint.names import EMBEDDED
from tiny_llm_lab.bench.models import QWEN2_0_5B, config_of

FOLDER = Path("runs/bench/hugging_face")


def folder_of(config: dict[str, Any], cache: Path = FOLDER) -> Path:
    """Return a folder with a random model in float16, writing it if it does not exist.

    Its tokenizer is the embedded model's, which knows fewer tokens: what is measured is
    handed over as ids.

    Args:
        config: Sizes, as a `config.json` has them.
        cache: Where such folders are kept.
    """
    folder = cache / f"qwen2-{config['hidden_size']}x{config['num_hidden_layers']}"
    if folder.exists():
        return folder
    unfinished = folder.with_suffix(".new")
    shutil.rmtree(unfinished, ignore_errors=True)
    _write(unfinished, config)
    unfinished.rename(folder)
    return folder


def _write(folder: Path, config: dict[str, Any]) -> None:
    """Write random weights, the same each time."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    special = {"bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 0}
    network: Any = Qwen2ForCausalLM(Qwen2Config.from_dict(config | special))
    network.half().save_pretrained(folder)
    # transformers 5 writes "rope_parameters", and converters may read what was before.
    path = folder / "config.json"
    said = json.loads(path.read_text(encoding="utf-8"))
    said["rope_theta"] = config["rope_theta"]
    path.write_text(json.dumps(said, indent=2) + "\n", encoding="utf-8")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(EMBEDDED / name, folder / name)


if __name__ == "__main__":
    print(folder_of(config_of(QWEN2_0_5B)))
