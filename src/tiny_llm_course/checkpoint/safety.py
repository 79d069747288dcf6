"""Refusing a checkpoint that asks to run code.

`transformers` imports the Python file that `auto_map` names, and looks up
`tokenizer_class` among everything it has; `mlx_lm` imports `model_file`, and the
modules that `chat_template_type` and `tool_parser_type` name. All of it is checked
before a library is shown the folder. Weights in pickle files are programs too:
nothing here opens any file of weights but `model*.safetensors`. Chat templates are
programs as well: `templates.py` says where they run.
"""

from pathlib import Path

from tiny_llm_course.catalogue import say
from tiny_llm_course.checkpoint.errors import CheckpointError, unexpected
from tiny_llm_course.checkpoint.files import read_optional

CODE_KEYS = ("auto_map", "model_file", "chat_template_type")
ALLOWED = {
    "tokenizer_class": (
        "Qwen2Tokenizer",
        "Qwen2TokenizerFast",
        "PreTrainedTokenizerFast",
        "TokenizersBackend",
    ),
    # What mlx_lm itself writes when it converts a Qwen2 checkpoint.
    "tool_parser_type": ("json_tools",),
}


def refuse_code(folder: Path) -> None:
    """Check that loading `folder` runs no code of the folder's choice.

    Raises:
        CheckpointError: Naming the file, and what it asks for.
    """
    for name in ("config.json", "generation_config.json", "tokenizer_config.json"):
        path = folder / name
        content = read_optional(path)
        for key in CODE_KEYS:
            if content.get(key) is not None:
                raise CheckpointError(say("checkpoint.code", path=path, entry=key))
        for key, allowed in ALLOWED.items():
            if content.get(key) not in (None, *allowed):
                wanted = say("checkpoint.one_of", names=", ".join(allowed))
                raise unexpected(path, key, wanted, content[key])
