"""Times the embedded model with a solution's kernels: one after the other joins in.

Model, cache and loop are ours, and stay as they are. So two neighbouring speeds differ
by what has joined, and nothing else. Everything runs on the CPU, as the kernels do.
"""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import Any

import mlx.core as mx
from mlx import nn

from tiny_llm_course.catalogue import say
from tiny_llm_course.inference.blame import SolutionError, blame
from tiny_llm_course.inference.loaders import BITS, GROUP_SIZE
from tiny_llm_course.layout import pad, widest
from tiny_llm_course.places import REFERENCE
from tiny_llm_course.solution import Solution
from tiny_llm_course.speed.parts import parts
from tiny_llm_course.speed.words import digits

WEEK = 2
NUM_PROMPT, NUM_NEXT = 128, 32
ROUNDS = 5
ENOUGH_S = 1.0
"""A model that has taken this long in all rounds so far is left out of the next."""


class Again:
    """The model of Week 1, which reads the whole text again for each token."""

    num_hidden_layers = 0

    def __init__(self, model: Callable[[mx.array], mx.array]) -> None:
        self._model = model
        self._ids = mx.array([[]], mx.int32)

    def __call__(self, ids: mx.array, offset: int, caches: object) -> mx.array:
        """Score the token after each of `ids`, which are new from `offset` on."""
        del caches
        self._ids = mx.concatenate([self._ids[:, :offset], ids], axis=1)
        return self._model(self._ids)[:, offset:]


@dataclass(frozen=True)
class Stage:
    """A model, and what joined last.

    Attributes:
        name: What joined, a key of the catalogue.
        day: Of Week 2, on which it is written.
        model: What is called with ids, offset and caches.
        cache: Makes the cache of a layer.
    """

    name: str
    day: int
    model: Any
    cache: Callable[[], Any]


@dataclass(frozen=True)
class Speeds:
    """Tokens per second, those that are read and those that are written."""

    stage: Stage
    prompt: float
    answer: float


def stages(solution: Solution, network: Any) -> Iterator[Stage]:  # noqa: ANN401
    """Yield models, from that of Week 1 to one with all kernels of a solution.

    What is not written, or does not run, is left out.

    Args:
        solution: Whose kernels.
        network: A dense model of `mlx_lm`. It is quantised after two stages.
    """
    again = Solution(REFERENCE, "tiny_llm_again").get("qwen2_week1.Qwen2ModelWeek1")
    yield Stage("again", 1, Again(again(network)), object)
    yield _stage("dense", 1, network, {})
    nn.quantize(network, GROUP_SIZE, BITS)
    mx.eval(network.parameters())
    joined: dict[str, Any] = {}
    for name, day, more in parts(solution):
        stage = _stage(name, day, network, joined | more)
        if _runs(stage, solution):
            joined |= more
            yield stage
    with contextlib.suppress(SolutionError), blame(solution):
        own = solution.get("qwen2_week2.Qwen2ModelWeek2")(network, True)
        stage = Stage("whole", 7, own, solution.get("kv_cache.TinyKvFullCache"))
        if "RMSNorm" in joined and _runs(stage, solution):
            yield stage


def _runs(stage: Stage, solution: Solution) -> bool:
    """Try a model with two tokens."""
    try:
        with blame(solution):
            _run(stage, 2, 2)
    except SolutionError:
        return False
    return True


def timed(found: Sequence[Stage]) -> list[Speeds]:
    """Time models in turns."""
    runs: dict[int, list[list[float]]] = {}
    for _ in range(ROUNDS):
        for number, stage in enumerate(found):
            own = runs.setdefault(number, [])
            if sum(map(sum, own)) < ENOUGH_S:
                own.append(_run(stage, NUM_PROMPT, NUM_NEXT))
    return [_speeds(stage, runs[number]) for number, stage in enumerate(found)]


def _speeds(stage: Stage, runs: Sequence[Sequence[float]]) -> Speeds:
    """Return the speeds of the fastest prompt, and of the fastest tenth of tokens.

    Other programs only slow one down.
    """
    prompts_s = [own[0] for own in runs]
    tokens_s = [one_s for own in runs for one_s in own[1:]]
    return Speeds(stage, NUM_PROMPT / min(prompts_s), 1 / quantiles(tokens_s, n=10)[0])


def in_words(found: Sequence[Speeds]) -> Iterator[str]:
    """Yield a line for each model."""
    names = [say(f"speed.stage.{one.stage.name}") for one in found]
    width = widest(names)
    columns = {"name": pad("", width)}
    yield say("speed.model.heading", read=NUM_PROMPT, written=NUM_NEXT)
    yield say("speed.model.columns", **columns)
    for name, one in zip(names, found, strict=True):
        speeds = {"read": digits(one.prompt), "written": digits(one.answer)}
        row = {"day": one.stage.day, "name": pad(name, width)}
        yield say("speed.model.row", **row, **speeds)


def _run(stage: Stage, num_prompt: int, num_next: int) -> list[float]:
    """Read a prompt and write an answer; return the seconds until each token."""
    caches = [stage.cache() for _ in range(stage.model.num_hidden_layers)]
    ids, offset = mx.arange(num_prompt)[None] % 100, 0
    taken_s: list[float] = []
    for _ in range(1 + num_next):
        begin_s = time.perf_counter()
        token = mx.argmax(stage.model(ids, offset, caches)[:, -1:], axis=-1)
        mx.eval(token)
        taken_s.append(time.perf_counter() - begin_s)
        offset, ids = offset + ids.shape[1], token
    return taken_s


def _stage(name: str, day: int, network: Any, others: Mapping[str, Any]) -> Stage:  # noqa: ANN401
    """Build our model out of a copy of our files in which some names are others."""
    copy = Solution(REFERENCE, f"tiny_llm_with_{name}")
    made = copy.get("qwen2_week2.Qwen2ModelWeek2")
    vars(sys.modules[f"{copy.package}.kernels"])["are_on"] = lambda: False
    vars(sys.modules[made.__module__]).update(others)
    is_flash = "flash_attention" in others
    cache = copy.get("kv_cache.TinyKvFullCache")
    return Stage(name, day, made(network, is_flash), cache)
