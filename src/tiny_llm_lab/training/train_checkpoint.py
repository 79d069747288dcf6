"""All steps from a seed to a checkpoint: text, tokenizer, training, card."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tiny_llm_lab.corpus import Corpus
from tiny_llm_lab.corpus.rows import Packer, Rows, read_rows, write_rows
from tiny_llm_lab.corpus.tokenizer import save_tokenizer, train_tokenizer
from tiny_llm_lab.training.checkpoint_files import export
from tiny_llm_lab.training.measures import measure_skill
from tiny_llm_lab.training.model_card import Results, describe_machine, fill_card
from tiny_llm_lab.training.pretraining import (
    Pretraining,
    Report,
    best_device,
    mean_loss,
)
from tiny_llm_lab.training.recipe import Recipe
from tiny_llm_lab.training.samples import Sample, write_samples
from tiny_llm_lab.training.talking import Talker

DOCUMENTS_PER_CHUNK = 4000
DOCUMENTS_PER_ROW = 20  # more than one row needs: a small part is a single short chunk
TOKENIZER_CHUNK = -1  # documents of its own; the rows start at chunk 0


@dataclass(frozen=True)
class Progress:
    """How far a stage has come."""

    stage: str
    done: int
    total: int
    note: str = ""


Show = Callable[[Progress], None]


@dataclass(frozen=True)
class Data:
    """The training and the held-out data."""

    train: Rows
    held_out: Rows
    fresh: Rows


def train_checkpoint(
    recipe: Recipe, work: Path, show: Show, num_prompts: int = 200
) -> Path:
    """Make a checkpoint, or continue an earlier run.

    Args:
        recipe: What to make.
        work: A folder for all intermediate files. Existing ones are used again.
        show: Called whenever there is progress.
        num_prompts: How many held-out prompts of each kind to measure on.

    Returns:
        The folder of the checkpoint, inside `work`.
    """
    work.mkdir(parents=True, exist_ok=True)
    training = Pretraining(recipe, work, best_device())
    prepare_tokenizer(recipe, work, show)
    data = prepare_data(recipe, work, show)
    training.run(data.train, data.held_out, steps_shown(recipe, show))
    folder = work / "checkpoint"
    export(training.model, recipe, work, folder)
    show(Progress("measuring", 0, 1))
    results, samples = measure(training, data, folder, num_prompts)
    card = fill_card(recipe, results, samples)
    (folder / "README.md").write_text(card, encoding="utf-8")
    show(Progress("measuring", 1, 1))
    return folder


def prepare_tokenizer(recipe: Recipe, work: Path, show: Show) -> None:
    """Train the tokenizer, if `work` has none."""
    if (work / "tokenizer.json").exists():
        return
    stage = "tokenizer"
    show(Progress(stage, 0, 1))
    documents = Corpus(recipe.seed).documents(
        TOKENIZER_CHUNK, recipe.tokenizer_documents
    )
    texts = (document.text for document in documents)
    tokenizer = train_tokenizer(texts, recipe.vocab_size)
    save_tokenizer(tokenizer, work, recipe.context)
    show(Progress(stage, 1, 1))


def prepare_data(recipe: Recipe, work: Path, show: Show) -> Data:
    """Write the rows that `work` does not have, and open all of them."""
    seed = recipe.seed
    parts = {
        "train": (Corpus(seed), recipe.num_rows),
        "held_out": (Corpus(seed, held_out=True), recipe.held_out_rows),
        "fresh": (Corpus(seed + 1), recipe.held_out_rows),
    }
    for name, (corpus, num_rows) in parts.items():
        path = work / f"{name}.npy"
        if not path.exists():
            chunk = min(DOCUMENTS_PER_CHUNK, DOCUMENTS_PER_ROW * num_rows)
            file = work / "tokenizer.json"
            packer = Packer(corpus, file, recipe.context + 1, chunk)
            write_rows(packer, num_rows, path, rows_shown(name, num_rows, show))
    return Data(*(read_rows(work / f"{name}.npy") for name in parts))


def rows_shown(name: str, num_rows: int, show: Show) -> Callable[[int], None]:
    """Return a function that shows the number of rows."""
    stage = f"text ({name.replace('_', ' ')})"
    return lambda done: show(Progress(stage, done, num_rows))


def steps_shown(recipe: Recipe, show: Show) -> Callable[[Report], None]:
    """Return a function that shows the progress of training."""

    def report(current: Report) -> None:
        note = f"loss {current.loss:.3f}"
        show(Progress("training", current.step, recipe.steps, note))

    return report


def measure(
    training: Pretraining, data: Data, folder: Path, num_prompts: int
) -> tuple[Results, list[Sample]]:
    """Measure the checkpoint in `folder`, and generate the samples for its card."""
    recipe = training.recipe
    talker = Talker.load(folder, max_new_tokens=recipe.context // 2)
    results = Results(
        num_parameters=talker.model.num_parameters(),
        wall_s=training.wall_s,
        machine=describe_machine(training.device),
        held_out_loss=mean_loss(talker.model, data.held_out, recipe.batch_size),
        fresh_loss=mean_loss(talker.model, data.fresh, recipe.batch_size),
        skill=measure_skill(talker, num_prompts, recipe.seed),
    )
    return results, write_samples(talker, recipe.seed)
