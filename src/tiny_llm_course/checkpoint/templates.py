"""Renders untrusted chat templates, each in a process of its own.

A template is a program. It cannot leave its sandbox, but it can run for ever or make a
text larger than the memory, and a loop inside a library cannot be stopped from outside.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tiny_llm_course.catalogue import say
from tiny_llm_course.checkpoint.errors import CheckpointError, plain

RENDERER = Path(__file__).with_name("rendering.py")
TIME_LIMIT_S = 4
MAX_BYTES = 2**29


def render(tokenizer: Any, messages: list[dict[str, str]]) -> str:  # noqa: ANN401
    """Render `messages`, ready for the answer, within limits of time and memory.

    The process takes a seventh of a second to start (two x86 cores, Python 3.11). It
    gets only the template, the special tokens and the messages.

    Args:
        tokenizer: The `TokenizerWrapper` of `mlx_lm`.
        messages: Each with "role" and "content".

    Raises:
        CheckpointError: The template does not render in time and memory.
    """
    values = {
        **tokenizer.special_tokens_map,
        "messages": messages,
        "tools": None,
        "documents": None,
        "add_generation_prompt": True,
        "enable_thinking": tokenizer.has_thinking,
    }
    try:
        template = tokenizer.get_chat_template()
    except ValueError as error:
        told = say("checkpoint.template", reason=plain(str(error)))
        raise CheckpointError(told) from error
    asked = {"template": template, "values": values, "max_bytes": MAX_BYTES}
    try:
        ran = subprocess.run(
            [sys.executable, "-I", RENDERER],
            input=json.dumps(asked).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=TIME_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        told = say("checkpoint.slow_template", seconds=TIME_LIMIT_S)
        raise CheckpointError(told) from error
    if ran.returncode:
        code = say("grading.no_reason", code=ran.returncode)
        reason = plain(ran.stdout.decode()) or code
        raise CheckpointError(say("checkpoint.no_text", reason=reason))
    return ran.stdout.decode()
