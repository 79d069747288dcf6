"""Generates text with a finished checkpoint, through `transformers`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, PreTrainedTokenizerBase, Qwen2ForCausalLM

Messages = list[dict[str, str]]
Sampling = Mapping[str, bool | float | None]
BATCH_SIZE = 25


@dataclass(frozen=True)
class Talker:
    """The model as others will load it, in float32, and its tokenizer.

    Args:
        model: The model.
        tokenizer: Its tokenizer.
        max_new_tokens: The largest number of tokens to generate.
    """

    model: Any  # `transformers` annotates `generate` as missing here
    tokenizer: PreTrainedTokenizerBase
    max_new_tokens: int

    @classmethod
    def load(cls, folder: Path, max_new_tokens: int) -> "Talker":
        """Load the checkpoint in `folder`."""
        tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
        model = Qwen2ForCausalLM.from_pretrained(folder, dtype=torch.float32)
        return cls(model.eval(), tokenizer, max_new_tokens)

    def chat_prompt(self, messages: Messages) -> str:
        """Render `messages` as a prompt for an answer."""
        text = self.tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, tokenize=False
        )
        assert isinstance(text, str)
        return text

    def complete(self, prompts: Sequence[str], sampling: Sampling) -> list[str]:
        """Continue every prompt, without the special tokens.

        Args:
            prompts: Texts, with the marks of the chat template where it is a chat.
            sampling: `do_sample`, `temperature` and `top_p`.
        """
        completions: list[str] = []
        for first in range(0, len(prompts), BATCH_SIZE):
            batch = self.tokenizer(
                list(prompts[first : first + BATCH_SIZE]),
                padding=True,
                return_tensors="pt",
            )
            written = self.model.generate(
                **batch, max_new_tokens=self.max_new_tokens, **sampling
            )
            new = written[:, batch["input_ids"].shape[1] :]
            completions += self.tokenizer.batch_decode(new, skip_special_tokens=True)
        return [completion.strip() for completion in completions]
