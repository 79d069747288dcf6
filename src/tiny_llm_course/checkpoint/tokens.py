"""The tokenizer of a checkpoint, and its recommended sampling settings."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiny_llm_course.catalogue import say
from tiny_llm_course.checkpoint.errors import CheckpointError, shown, unexpected
from tiny_llm_course.checkpoint.files import Numbers, read_optional

SAMPLING = {
    "temperature": Numbers(0, 100),
    "top_p": Numbers(0, 1),
    "top_k": Numbers(0, 2**20, whole=True),
}


@dataclass(frozen=True)
class SamplingDefaults:
    """The sampling settings that the makers of a model recommend.

    Attributes:
        temp: Temperature. 0 takes the likeliest token.
        top_p: Share of the probability mass to sample from. 1 is all of it.
        top_k: Number of likeliest tokens to sample from. 0 is all of them.
    """

    temp: float = 0.0
    top_p: float = 1.0
    top_k: int = 0


def read_sampling(folder: Path) -> SamplingDefaults:
    """Read `generation_config.json`. A model that has none decodes greedily."""
    path = folder / "generation_config.json"
    stored = read_optional(path)
    is_random = stored.get("do_sample", False)
    if not isinstance(is_random, bool):
        raise unexpected(path, "do_sample", say("checkpoint.boolean"), is_random)
    if not is_random:
        return SamplingDefaults()
    found = {name: stored.get(name, 1) for name in ("temperature", "top_p")}
    found["top_k"] = stored.get("top_k", 0)
    for name, allowed in SAMPLING.items():
        if found[name] not in allowed:
            raise unexpected(path, name, allowed, found[name])
    return SamplingDefaults(found["temperature"], found["top_p"], found["top_k"])


def load_tokenizer(
    folder: Path,
    end_tokens: object,
    vocab_size: int,
) -> Any:  # noqa: ANN401 - mlx_lm has no types
    """Load a tokenizer, and check that it fits the model.

    Args:
        folder: The checkpoint.
        end_tokens: Ids that end a text, in addition to the tokenizer's own, as in the
            settings: one, a list, or None.
        vocab_size: Number of tokens that the model knows.

    Raises:
        CheckpointError: There is no tokenizer, or it does not fit.
    """
    from mlx_lm import utils

    ids = end_tokens if isinstance(end_tokens, list) else [end_tokens]
    allowed = Numbers(0, vocab_size - 1, whole=True)
    if end_tokens is not None and not all(one in allowed for one in ids):
        raise unexpected(folder, "eos_token_id", allowed, end_tokens)
    path = folder / "tokenizer.json"
    if not path.exists():
        raise CheckpointError(say("checkpoint.missing", folder=folder, name=path.name))
    try:
        tokenizer = utils.load_tokenizer(
            folder,
            {"trust_remote_code": False, "local_files_only": True},
            eos_token_ids=end_tokens,
        )
        # Some settings are only used once a text is encoded.
        tokenizer.decode(tokenizer.encode("a text"))
    except Exception as error:  # tokenizers raises nothing narrower
        told = say("checkpoint.no_tokenizer", path=path, got=shown(error))
        raise CheckpointError(told) from error
    last_id = max(tokenizer.get_vocab().values(), default=0)
    if last_id >= vocab_size:
        names = {"path": path, "size": vocab_size, "got": last_id}
        raise CheckpointError(say("checkpoint.large_ids", **names))
    if tokenizer.eos_token_id is None:
        settings = folder / "tokenizer_config.json"
        raise CheckpointError(say("checkpoint.no_end", path=settings))
    return tokenizer
