"""An engine: a solution together with a checkpoint."""

import contextlib
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass

import mlx.core as mx

from tiny_llm_course.checkpoint import LoadedCheckpoint, load
from tiny_llm_course.inference.blame import blame
from tiny_llm_course.inference.drawing import DrawingModel
from tiny_llm_course.inference.flash import has_flash
from tiny_llm_course.inference.loaders import (
    LOADERS,
    check,
    fastest,
    is_simulated,
    prepare,
    simulate,
)
from tiny_llm_course.inference.whose import choose
from tiny_llm_course.solution import Solution
from tiny_llm_course.unsolved import Unsolved

Sampler = Callable[[mx.array], mx.array]

COLDEST = 1e-6
"""Below it, logits divided by the temperature overflow; greedy decoding is the same."""


@dataclass(frozen=True)
class Settings:
    """The options of `main` and `chat`.

    Attributes:
        solution: The solution to run, named as for `load_solution`. None is ours.
        only_mine: Whether to leave unfinished parts missing, instead of using ours.
        attempts: Whether to run parts that are begun, right or wrong.
        loader: The solution's model to use, a key of `LOADERS`. None is the fastest.
        model: The weights, named as for `checkpoint.load`.
        max_tokens: The longest answer.
        temp: Temperature. For this and the next two, None takes the model's recommended
            setting.
        top_p: Share of the probability mass to sample from.
        top_k: Number of likeliest tokens to sample from.
        seed: Seed of the sampler. None samples differently each time.
    """

    solution: str | None = None
    only_mine: bool = False
    attempts: bool = False
    loader: str | None = None
    model: str = "embedded"
    max_tokens: int = 256
    temp: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None


@dataclass(frozen=True)
class Engine:
    """A solution that is ready to answer.

    Attributes:
        solution: The solution whose code runs.
        checkpoint: Weights and tokenizer.
        model: Maps token ids, and what else its loop passes, to logits.
        generate: The loop: `(model, tokenizer, prompt)`, and a sampler if it takes one.
        sampler: Draws the next token. None decodes greedily.
        max_tokens: The longest answer.
        loader: The key of the solution's model. If that has caches, its loop takes no
            sampler, and the model draws the tokens.
    """

    solution: Solution
    checkpoint: LoadedCheckpoint
    model: Callable[..., mx.array]
    generate: Callable[..., str]
    sampler: Sampler | None
    max_tokens: int
    loader: str


def start(settings: Settings) -> Engine:
    """Load a solution and a checkpoint, and build the solution's model.

    Raises:
        CourseError: There is no such solution or checkpoint.
        SolutionError: The solution cannot build its model.
    """
    solution = choose(
        settings.solution, only_mine=settings.only_mine, attempts=settings.attempts
    )
    with without_torch():
        checkpoint = load(settings.model)
    return combine(solution, checkpoint, settings)


def combine(
    solution: Solution, checkpoint: LoadedCheckpoint, settings: Settings
) -> Engine:
    """Build the model of a solution with the weights of a checkpoint.

    Raises:
        CourseError: The loader that is asked for cannot be used.
        SolutionError: The solution cannot build its model.
    """
    if settings.seed is not None:
        mx.random.seed(settings.seed)
    with blame(solution):
        name = settings.loader or fastest(solution, checkpoint.model)
        loader = LOADERS[name]
        check(name, solution, checkpoint.model)
        prepare(name, checkpoint.model)
        if is_simulated(name):
            simulate()
        asks_for_flash = loader.has_caches and not loader.is_in_metal
        options = (has_flash(solution),) if asks_for_flash else ()
        model = solution.get(loader.model)(checkpoint.model, *options)
        sampler = _make_sampler(settings, solution, checkpoint)
        return Engine(
            solution,
            checkpoint,
            model=DrawingModel(model, sampler)
            if loader.has_caches and sampler
            else model,
            generate=solution.get(loader.generate),
            sampler=sampler,
            max_tokens=settings.max_tokens,
            loader=name,
        )


def _make_sampler(
    settings: Settings, solution: Solution, checkpoint: LoadedCheckpoint
) -> Sampler | None:
    """Build the solution's sampler. At temperature 0 there is none.

    The loop comes a day before the sampler: until that is written, and unless a
    temperature is asked for, decoding is greedy.
    """
    defaults = checkpoint.sampling
    temp = defaults.temp if settings.temp is None else settings.temp
    top_p = defaults.top_p if settings.top_p is None else settings.top_p
    top_k = defaults.top_k if settings.top_k is None else settings.top_k
    if temp < COLDEST:
        return None
    try:
        return solution.get("sampler.make_sampler")(temp, top_p, top_k)
    except Unsolved:
        if settings.temp is None:
            return None
        raise


@contextlib.contextmanager
def without_torch() -> Generator[None]:
    """Hide PyTorch from `transformers`, which would import it without need.

    `mlx_lm` reads tokenizers with `transformers`. Where PyTorch is installed, it takes
    1.1 of the 2.2 s of `import mlx_lm` (two x86 cores, Python 3.11). What
    `transformers` has not found, it does not look for again in this process.
    """
    if "torch" in sys.modules:
        yield
        return
    sys.modules["torch"] = None  # pyright: ignore[reportArgumentType] - as documented
    try:
        yield
    finally:
        del sys.modules["torch"]
