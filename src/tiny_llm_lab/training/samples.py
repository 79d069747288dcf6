"""The samples of the model card: fixed prompts, and what the model writes."""

import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any

import torch

from tiny_llm_lab.corpus.cast import pairs
from tiny_llm_lab.corpus.questions import facts, phrasings, plain
from tiny_llm_lab.training.checkpoint_files import SAMPLING
from tiny_llm_lab.training.measures import mentions
from tiny_llm_lab.training.talking import Messages, Talker


@dataclass(frozen=True)
class Sample:
    """One answer of the model, and the prompt that led to it."""

    prompt: str
    written: str
    held_out: bool


def write_samples(talker: Talker, seed: int) -> list[Sample]:
    """Answer the fixed prompts, all from one seed."""
    torch.manual_seed(seed)
    source = resources.files("tiny_llm_lab.training") / "samples.toml"
    entries = tomllib.loads(source.read_text(encoding="utf-8"))["sample"]
    return [
        sample
        for entry in entries
        for sample in (
            [continuation(talker, entry["text"])]
            if "text" in entry
            else conversation(talker, entry)
        )
    ]


def continuation(talker: Talker, text: str) -> Sample:
    """Let the model continue a plain text."""
    [written] = talker.complete([text], SAMPLING)
    return Sample(f"{text} ...", written, is_held_out(text))


def conversation(talker: Talker, entry: dict[str, Any]) -> list[Sample]:
    """Hold a chat in which the model sees its own answers."""
    samples: list[Sample] = []
    messages: Messages = []
    if "system" in entry:
        messages.append({"role": "system", "content": entry["system"]})
    for turn in entry["turns"]:
        messages.append({"role": "user", "content": turn})
        prompt = talker.chat_prompt(messages)
        [written] = talker.complete([prompt], SAMPLING)
        messages.append({"role": "assistant", "content": written})
        samples.append(Sample(turn, written, is_held_out(turn)))
    return samples


def is_held_out(prompt: str) -> bool:
    """Tell whether the animal and place, or the question, were held out of training."""
    held_out_questions = {
        plain(question) for fact in facts() for question in phrasings(fact, True)
    }
    return plain(prompt) in held_out_questions or any(
        mentions(prompt, animal) and mentions(prompt, place.name)
        for animal, place in pairs(held_out=True)
    )
