"""Which folder a model name stands for."""

import contextlib
import functools
import re
from pathlib import Path

from tiny_llm_course.catalogue import say
from tiny_llm_course.checkpoint.errors import CheckpointError
from tiny_llm_course.errors import nearest

EMBEDDED = Path(__file__).with_name("embedded")
SHORTCUTS = {
    "qwen2-0.5b": "Qwen/Qwen2-0.5B-Instruct-MLX",
    "qwen2-1.5b": "Qwen/Qwen2-1.5B-Instruct-MLX",
    "qwen2-7b": "Qwen/Qwen2-7B-Instruct-MLX",
}

DOWNLOADED = (
    "config.json",
    "generation_config.json",
    "model*.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
)


def resolve(name: str) -> Path:
    """Find the folder of a checkpoint, downloading it if it is not on this machine.

    Args:
        name: `"embedded"`, a folder, a hub name such as `"Qwen/Qwen2-0.5B"`, or a
            short name from `SHORTCUTS`.

    Raises:
        CheckpointError: There is no such checkpoint, or the hub cannot be reached.
    """
    if name == "embedded":
        return EMBEDDED
    hub_name = SHORTCUTS.get(name, name)
    folder = Path(hub_name).expanduser()
    if folder.is_dir():
        return folder
    if re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", hub_name):
        return _from_hub(hub_name)
    known = ("embedded", *SHORTCUTS)
    names = {"known": ", ".join(known), "close": nearest(name, known)}
    raise CheckpointError(say("checkpoint.unknown", name=name, **names))


def _from_hub(hub_name: str) -> Path:
    """Return the folder of a download, an earlier one if there is one.

    Only the files that hold data are downloaded: `DOWNLOADED`.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    fetch = functools.partial(
        snapshot_download, hub_name, allow_patterns=list(DOWNLOADED)
    )
    try:
        with contextlib.suppress(LocalEntryNotFoundError):
            return Path(fetch(local_files_only=True))
        return Path(fetch())
    except Exception as error:  # a network has many ways to fail
        names = {"name": hub_name, "error": type(error).__name__}
        raise CheckpointError(say("checkpoint.not_on_hub", **names)) from error
