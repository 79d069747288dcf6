"""Writes the model card of a checkpoint from its measurements."""

import math
import os
import platform
from dataclasses import asdict, dataclass
from importlib import resources
from string import Template

import torch

from tiny_llm_lab.corpus.cast import animals, pairs, places
from tiny_llm_lab.corpus.questions import facts, phrasings
from tiny_llm_lab.corpus.stories import num_stories, plots
from tiny_llm_lab.training.checkpoint_files import SAMPLING
from tiny_llm_lab.training.measures import Skill
from tiny_llm_lab.training.recipe import Recipe
from tiny_llm_lab.training.samples import Sample


@dataclass(frozen=True)
class Results:
    """The measurements of a checkpoint and of its training."""

    num_parameters: int
    wall_s: float
    machine: str
    held_out_loss: float
    fresh_loss: float
    skill: Skill


def fill_card(recipe: Recipe, results: Results, samples: list[Sample]) -> str:
    """Fill in the model card."""
    card = resources.files("tiny_llm_lab.training") / "model_card.md"
    figures = asdict(recipe) | SAMPLING | corpus_figures() | result_figures(results)
    return Template(card.read_text(encoding="utf-8")).substitute(
        figures,
        num_tokens=f"{recipe.num_rows * recipe.context:,}",
        width=recipe.hidden_size // recipe.num_heads,
        samples="\n\n".join(map(sample_text, samples)),
    )


def corpus_figures() -> dict[str, str]:
    """Count the parts of the corpus."""
    num_held_out = len(pairs(held_out=True))
    return {
        "num_animals": f"{len(animals())}",
        "num_places": f"{len(places())}",
        "num_plots": f"{len(plots())}",
        "num_stories": f"{num_stories():,}",
        "num_facts": f"{len(facts())}",
        "num_questions": f"{sum(len(fact.questions) for fact in facts()):,}",
        "held_out_pairs": f"{num_held_out}",
        "all_pairs": f"{num_held_out + len(pairs(held_out=False)):,}",
        "held_out_questions": f"{sum(len(phrasings(fact, True)) for fact in facts())}",
    }


def result_figures(results: Results) -> dict[str, str]:
    """Write the measured values with as many digits as they deserve."""
    skill = results.skill
    return {
        "num_parameters": f"{results.num_parameters:,}",
        "minutes": f"{results.wall_s / 60:.0f}",
        "machine": results.machine,
        "held_out_loss": f"{results.held_out_loss:.3f}",
        "held_out_perplexity": f"{math.exp(results.held_out_loss):.2f}",
        "fresh_loss": f"{results.fresh_loss:.3f}",
        "fresh_perplexity": f"{math.exp(results.fresh_loss):.2f}",
        "num_prompts": f"{skill.num_prompts}",
        "names_animal": f"{skill.names_animal:.1%}",
        "names_place": f"{skill.names_place:.1%}",
        "names_both": f"{skill.names_both:.1%}",
        "keeps_name": f"{skill.keeps_name:.1%}",
        "answers_right": f"{skill.answers_right:.1%}",
    }


def describe_machine(device: torch.device) -> str:
    """Describe the machine of the training."""
    if device.type == "cuda":
        return f"one {torch.cuda.get_device_name(device)}"
    if device.type == "mps":
        return f"the GPU of a Mac ({platform.machine()})"
    return f"{os.cpu_count()} CPU cores ({platform.machine()})"


def sample_text(sample: Sample) -> str:
    """Write one sample: the prompt in bold, what the model wrote as a quotation."""
    mark = " *(held out)*" if sample.held_out else ""
    quoted = "\n".join(f"> {line}".rstrip() for line in sample.written.splitlines())
    return f"**{sample.prompt}**{mark}\n\n{quoted}"
