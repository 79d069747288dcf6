"""A call of a function that takes the config of a model."""

from dataclasses import asdict, dataclass, field
from typing import Any

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.scenarios import lean_mlx_lm
from tiny_llm_course.grading.scenarios.architecture import Architecture
from tiny_llm_course.layout import wrapped
from tiny_llm_course.solution import Solution


@dataclass(frozen=True)
class Sized(Call):
    """Call a function with a config, and with `args` after it.

    Attributes:
        sizes: The entries of the config.
    """

    sizes: Architecture = field(default_factory=Architecture)

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a solution returns
        """Call the function with a config object like that of `mlx_lm`."""
        qwen2 = lean_mlx_lm.module("models.qwen2")
        config = qwen2.ModelArgs(model_type="qwen2", **self.sizes.as_config())
        return solution.get(self.symbol)(config, *self.args, **self.kwargs)

    def __str__(self) -> str:
        """Write the call, and below it the relevant sizes."""
        name, _, arguments = super().__str__().partition("(")
        tied = say(f"grading.{'' if self.sizes.tie_word_embeddings else 'not_'}tied")
        told = say("grading.model_sizes", **asdict(self.sizes), tied=tied)
        folded = "\n".join(wrapped(told, 86, "  ", "  "))
        return f"{name}(config, {arguments}\n{folded}"
