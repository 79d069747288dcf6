"""The trainings of `pdm run lab bilingual`, made of those of the embedded model."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from tiny_llm_course.checkpoint import EMBEDDED
from tiny_llm_course.places import ROOT
from tiny_llm_lab.corpus import Corpus
from tiny_llm_lab.corpus.chinese import ChineseCorpus
from tiny_llm_lab.corpus.rows import Packer, Rows
from tiny_llm_lab.corpus.tokenizer import (
    END_OF_TEXT_ID,
    save_tokenizer,
    train_tokenizer,
)
from tiny_llm_lab.experiments.bilingual import Arm
from tiny_llm_lab.records import Row
from tiny_llm_lab.training.checkpoint_files import TOKENIZER_FILES, export
from tiny_llm_lab.training.pretraining import Pretraining, next_token_loss
from tiny_llm_lab.training.recipe import Recipe

WORK = ROOT / "runs" / "bilingual"
"""Trainings that were stopped continue from here."""

TOKENIZER_CHUNK = -1  # documents of its own; the rows start at chunk 0
DOCUMENTS_PER_CHUNK = 2000
HELD_OUT_SEED = 0
STORY = "plain story"


@dataclass(frozen=True)
class Size:
    """How large the experiment is.

    Attributes:
        recipe: The shape of the model, and the steps of the first arm.
        vocab_size: That of the tokenizer of two languages.
        num_stories: How many held-out stories of each language are measured.
    """

    recipe: Recipe
    vocab_size: int
    num_stories: int


FULL = Size(
    replace(
        Recipe(),
        context=256,  # the longest story has fewer tokens
        batch_size=2,
        steps=400,
        warmup_steps=25,
        tokenizer_documents=10_000,
    ),
    vocab_size=4096,  # the largest power of two whose checkpoint is within the limit
    num_stories=100,
)


class Float32Training(Pretraining):
    """A short training, in float32: without AVX-512 bfloat16 is many times slower."""

    def compiled_loss(self) -> Callable[[Tensor], Tensor]:
        """Return the loss as it is, since compiling it would not pay off."""
        return partial(next_token_loss, self.model)


def measure_arm(arm: Arm, size: Size, work: Path) -> Row:
    """Train one model in a folder of its own in `work`, and measure it."""
    recipe = replace(
        size.recipe,
        steps=size.recipe.steps * arm.times,
        warmup_steps=size.recipe.warmup_steps * arm.times,
        vocab_size=size.recipe.vocab_size if arm.languages == 1 else size.vocab_size,
    )
    folder = work / f"{arm.languages}-{arm.times}"
    folder.mkdir(parents=True, exist_ok=True)
    make_tokenizer(arm, recipe, folder)
    training = Float32Training(recipe, folder, torch.device("cpu"))
    rows = training_rows(arm, recipe, folder)
    held_out = first_rows(packer(Corpus(recipe.seed, held_out=True), recipe, folder), 8)
    training.run(rows, held_out, lambda _: None)
    export(training.model, recipe, folder, folder / "checkpoint")
    english, chinese = held_out_stories(size.num_stories)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return {
        "steps": recipe.steps,
        "tokens": recipe.num_rows * recipe.context,
        "vocab_size": recipe.vocab_size,
        "parameters": sum(weight.numel() for weight in training.model.parameters()),
        "file_bytes": file_bytes(folder / "checkpoint"),
        "english_tokens_per_story": round(tokens_per_text(tokenizer, english), 1),
        "english_loss_per_byte": round(
            loss_per_byte(training.model, tokenizer, english), 4
        ),
        "chinese_loss_per_byte": round(
            loss_per_byte(training.model, tokenizer, chinese), 4
        ),
    }


def make_tokenizer(arm: Arm, recipe: Recipe, folder: Path) -> None:
    """Take the embedded model's tokenizer, or train one on both languages."""
    if (folder / "tokenizer.json").exists():
        return
    if arm.languages == 1:
        for name in TOKENIZER_FILES:
            shutil.copyfile(EMBEDDED / name, folder / name)
        return
    texts = (
        document.text
        for corpus in corpora(arm, recipe.seed)
        for document in corpus.documents(TOKENIZER_CHUNK, recipe.tokenizer_documents)
    )
    save_tokenizer(train_tokenizer(texts, recipe.vocab_size), folder, recipe.context)


def corpora(arm: Arm, seed: int) -> tuple[Corpus | ChineseCorpus, ...]:
    """Return the texts of an arm's languages."""
    return (Corpus(seed), ChineseCorpus(seed))[: arm.languages]


def training_rows(arm: Arm, recipe: Recipe, folder: Path) -> Rows:
    """Write the rows of a training, in which the languages take turns.

    A row has one language, so each has exactly its share of the tokens.
    """
    written = [
        first_rows(packer(corpus, recipe, folder), recipe.num_rows // arm.languages)
        for corpus in corpora(arm, recipe.seed)
    ]
    return np.stack(written, axis=1).reshape(-1, recipe.context + 1)


def packer(corpus: Corpus | ChineseCorpus, recipe: Recipe, folder: Path) -> Packer:
    """Pack a corpus into rows, with the tokenizer in a folder."""
    file = folder / "tokenizer.json"
    return Packer(corpus, file, recipe.context + 1, DOCUMENTS_PER_CHUNK)


def first_rows(maker: Packer, num_rows: int) -> Rows:
    """Pack chunk after chunk until there are `num_rows` rows."""
    chunks: list[Rows] = []
    while sum(map(len, chunks)) < num_rows:
        chunks.append(maker.rows(len(chunks)))
    return np.concatenate(chunks)[:num_rows]


def held_out_stories(number: int) -> tuple[list[str], list[str]]:
    """Write stories in English and in Chinese that are in no training text."""
    english, chinese = (
        [doc.text for doc in corpus.documents(0, 10 * number) if doc.kind == STORY]
        for corpus in (
            Corpus(HELD_OUT_SEED, held_out=True),
            ChineseCorpus(HELD_OUT_SEED, held_out=True),
        )
    )
    return english[:number], chinese[:number]


def loss_per_byte(
    model: torch.nn.Module, tokenizer: Tokenizer, texts: Sequence[str]
) -> float:
    """Measure the loss on whole texts, in nats per byte of UTF-8.

    Each text is between two end-of-text tokens, the second of which is predicted.
    """
    nats = 0.0
    for text in texts:
        ids = [END_OF_TEXT_ID, *tokenizer.encode(text).ids, END_OF_TEXT_ID]
        with torch.no_grad():
            mean = next_token_loss(model, torch.tensor([ids])).item()
        nats += mean * (len(ids) - 1)
    return nats / sum(len(text.encode()) for text in texts)


def tokens_per_text(tokenizer: Tokenizer, texts: Sequence[str]) -> float:
    """Average the number of tokens of texts."""
    return sum(len(one.ids) for one in tokenizer.encode_batch(texts)) / len(texts)


def file_bytes(checkpoint: Path) -> int:
    """Add up the files of a checkpoint, with the embedded model's card."""
    card = (EMBEDDED / "README.md").stat().st_size
    return card + sum(file.stat().st_size for file in checkpoint.iterdir())
