"""The tokenizer of a checkpoint, and how its makers would have tokens drawn."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiny_llm_course.checkpoint.errors import CheckpointError
from tiny_llm_course.checkpoint.files import read_optional


@dataclass(frozen=True)
class SamplingDefaults:
    """How the makers of a model would have its next token drawn.

    Attributes:
        temp: Temperature. 0 takes the likeliest token.
        top_p: Probability to draw from. 1 is all of it.
        top_k: Number of tokens to draw from. 0 is all of them.
    """

    temp: float = 0.0
    top_p: float = 1.0
    top_k: int = 0


def read_sampling(folder: Path) -> SamplingDefaults:
    """Read `generation_config.json`. A model that has none decodes greedily."""
    path = folder / "generation_config.json"
    stored = read_optional(path)
    if not stored.get("do_sample"):
        return SamplingDefaults()
    try:
        return SamplingDefaults(
            temp=float(stored.get("temperature", 1)),
            top_p=float(stored.get("top_p", 1)),
            top_k=int(stored.get("top_k", 0)),
        )
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{path}: expected numbers, got {error}") from error


def load_tokenizer(
    folder: Path, end_tokens: int | list[int] | None, vocab_size: int
) -> Any:  # noqa: ANN401 - mlx_lm has no types
    """Load a tokenizer, and check that it fits the model.

    Args:
        folder: The checkpoint.
        end_tokens: Ids that end a text, beside the tokenizer's own.
        vocab_size: Number of tokens that the model knows.

    Raises:
        CheckpointError: There is no tokenizer, or it does not fit.
    """
    from mlx_lm import utils

    path = folder / "tokenizer.json"
    if not path.exists():
        raise CheckpointError(f"{folder}: no tokenizer.json")
    try:
        tokenizer = utils.load_tokenizer(
            folder,
            {"trust_remote_code": False, "local_files_only": True},
            eos_token_ids=end_tokens,
        )
    except Exception as error:  # tokenizers raises nothing narrower
        raise CheckpointError(f"{path}: expected a tokenizer, got {error!r}") from error
    last_id = max(tokenizer.get_vocab().values(), default=0)
    if last_id >= vocab_size:
        raise CheckpointError(
            f"{path}: expected ids below the model's vocab_size {vocab_size}, "
            f"got {last_id}"
        )
    if tokenizer.eos_token_id is None:
        raise CheckpointError(
            f"{folder / 'tokenizer_config.json'}: expected an eos_token, got none"
        )
    return tokenizer
