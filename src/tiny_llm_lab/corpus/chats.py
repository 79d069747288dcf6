"""Chats in Qwen2's form (ChatML)."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tiny_llm_lab.corpus.questions import off_topic

END_OF_TEXT = "<|endoftext|>"
TURN_START = "<|im_start|>"
TURN_END = "<|im_end|>"
SYSTEM_MESSAGES = 0.10  # share of chats that open with one


@dataclass(frozen=True)
class Turn:
    """One message of a chat."""

    role: str
    content: str


def exchange(question: str, answer: str) -> list[Turn]:
    """Make two turns of a question and its answer."""
    return [Turn("user", question), Turn("assistant", answer)]


def with_system(turns: Sequence[Turn], rng: random.Random) -> list[Turn]:
    """Open a share of the chats with a system message."""
    if rng.random() >= SYSTEM_MESSAGES:
        return list(turns)
    return [Turn("system", rng.choice(off_topic()["systems"])), *turns]


def chat_text(turns: Sequence[Turn]) -> str:
    """Write a chat the way the chat template of the tokenizer does."""
    return "".join(
        f"{TURN_START}{turn.role}\n{turn.content}{TURN_END}\n" for turn in turns
    )
