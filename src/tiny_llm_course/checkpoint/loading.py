"""Loading a checkpoint: checked first, then handed to `mlx_lm`."""

from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from tiny_llm_course.catalogue import say
from tiny_llm_course.checkpoint import templates
from tiny_llm_course.checkpoint.config import read_config
from tiny_llm_course.checkpoint.errors import CheckpointError, shown
from tiny_llm_course.checkpoint.files import check_files
from tiny_llm_course.checkpoint.names import EMBEDDED, resolve
from tiny_llm_course.checkpoint.safety import refuse_code
from tiny_llm_course.checkpoint.tokens import (
    SamplingDefaults,
    load_tokenizer,
    read_sampling,
)
from tiny_llm_course.checkpoint.weights import check_weights, read_weights
from tiny_llm_course.errors import CourseError


@dataclass(frozen=True)
class LoadedCheckpoint:
    """A model as `mlx_lm` loads it, for a solution to build its own upon.

    Attributes:
        model: The model of `mlx_lm`: `args`, and layers with weights.
        tokenizer: The `TokenizerWrapper` of `mlx_lm`.
        config: The settings, from `config.json`.
        sampling: The sampling settings that its makers recommend.
        is_ours: Whether it came with the course, and its chat template with it.
    """

    model: Any
    tokenizer: Any
    config: dict[str, Any]
    sampling: SamplingDefaults
    is_ours: bool = False

    @property
    def context(self) -> int:
        """The number of tokens that the model can see, prompt and answer together."""
        return self.config["max_position_embeddings"]

    def check_length(self, prompt: str) -> int:
        """Count the tokens of `prompt`.

        Raises:
            CourseError: The prompt is longer than the model's context.
        """
        num_tokens = len(self.tokenizer.encode(prompt))
        if num_tokens > self.context:
            names = {"number": num_tokens, "context": self.context}
            raise CourseError(say("checkpoint.long_prompt", **names))
        return num_tokens

    def chat_prompt(self, messages: list[dict[str, str]]) -> str:
        """Render `messages` with the chat template, ready for the answer.

        Args:
            messages: Each with "role" ("user", "assistant" or "system") and "content".

        Raises:
            CheckpointError: The template does not render.
        """
        if not self.is_ours:
            return templates.render(self.tokenizer, messages)
        return self.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True
        )


def load(name: str = "embedded") -> LoadedCheckpoint:
    """Load a model and its tokenizer, running no code that comes with them.

    Args:
        name: A model, named as for `resolve`.

    Raises:
        CheckpointError: Saying in one line what is wrong with the checkpoint.
    """
    folder = resolve(name)
    check_files(folder)
    refuse_code(folder)
    config = read_config(folder)
    weights = read_weights(folder)
    # Where a file leaves this out, mlx_lm and transformers would disagree.
    config.setdefault("tie_word_embeddings", "lm_head.weight" not in weights)
    check_weights(weights, config, folder)

    from mlx_lm.utils import load_model

    completed = {key: config[key] for key in ("rope_theta", "tie_word_embeddings")}
    try:
        model, settings = load_model(folder, lazy=True, model_config=completed)
    except Exception as error:  # mlx_lm does not check the other files that it reads
        raise CheckpointError(f"{folder}: mlx_lm: {shown(error)}") from error
    widen_on_cpu(model)
    mx.eval(model.parameters())
    end_tokens = settings.get("eos_token_id")
    tokenizer = load_tokenizer(folder, end_tokens, config["vocab_size"])
    sampling, is_ours = read_sampling(folder), folder == EMBEDDED
    return LoadedCheckpoint(model, tokenizer, config, sampling, is_ours=is_ours)


def widen_on_cpu(model: Any) -> None:  # noqa: ANN401 - mlx_lm has no types
    """Give a model of `mlx_lm` the dtype in which MLX is fastest here.

    Where MLX computes on the CPU, weights (and the scales of quantised ones) are
    widened to float32 because MLX emulates the narrower types there: a 4-bit
    matrix-vector product (4864 x 896) on two x86 cores takes 2.9 ms in float32, 25 in
    bfloat16 and 120 in float16. On a GPU they stay as they are stored.
    """
    if mx.default_device() == mx.cpu:
        model.set_dtype(mx.float32)
