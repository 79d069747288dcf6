"""All figures of `pdm run serve-bench`: servers in turns, and what they come to."""

import contextlib
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from tiny_llm_course.catalogue import say
from tiny_llm_course.checkpoint import load
from tiny_llm_course.serving.starting import Settings
from tiny_llm_course.solution import load_solution
from tiny_llm_lab.promise import Promise
from tiny_llm_lab.serving import cases
from tiny_llm_lab.serving.cases import Asker
from tiny_llm_lab.serving.inside import MIXED, Inside
from tiny_llm_lab.serving.model_folder import in_float32, with_tokenizer
from tiny_llm_lab.serving.servers import SLOTS, Name, started

SLOWEST: Name = "mlx_lm"
"""Gets a single turn: whatever is asked of it takes minutes."""

SHORT = (4, 16)
"""Tokens of its prompts and answers. It reads prompts no faster than it writes."""

NUM_FIRST = 10
"""How many first tokens of the embedded model are timed in a turn: each is short."""

CROWDED = Settings(max_num_seqs=len(MIXED), max_num_batched_tokens=256)
"""Lets all requests of mixed length run before the first of them ends."""

AWAKE_S = 0.5
"""So long the threads of an engine may look for work, on cores that others need."""

Show = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What is measured.

    Attributes:
        solution: Whose code our server runs.
        rounds: How many turns each server gets.
        llama: The program and the file of llama.cpp, with a colon between them. None
            leaves it out.
        with_mlx_lm: Whether the server of mlx_lm is measured.
    """

    solution: str
    rounds: int
    llama: str | None = None
    with_mlx_lm: bool = True

    @property
    def command(self) -> str:
        """What measures this, for everybody: without the places of files."""
        words = ["pdm run serve-bench"]
        if self.solution != "ref":
            words.append(f"--solution {self.solution}")
        words.append(f"--rounds {self.rounds}")
        if self.llama:
            words.append("--llama-server PROGRAM:FILE")
        if not self.with_mlx_lm:
            words.append("--without-mlx-lm")
        return " ".join(words)


@dataclass
class Figures:
    """What was measured, a number for each turn.

    Attributes:
        of: By what it is, and whose.
    """

    of: dict[tuple[str, Name], list[float]] = field(
        default_factory=dict[tuple[str, Name], list[float]]
    )

    def add(self, what: str, whose: Name, value: float) -> None:
        """Add what a turn gave."""
        self.of.setdefault((what, whose), []).append(value)

    def middle(self, what: str, whose: Name = "ours") -> float | None:
        """Return the middle one, if there is any."""
        values = self.of.get((what, whose))
        return median(values) if values else None


@dataclass(frozen=True)
class Target(Promise):
    """What a server is to reach.

    Attributes:
        key: Its short name.
    """

    key: str


def run(plan: Plan, show: Show) -> Figures:
    """Measure our server with the embedded model, and then all of them in turns."""
    figures = Figures()
    _measure_embedded(plan, figures, show)
    with contextlib.ExitStack() as stack:
        askers = _askers(plan, stack)
        for turn in range(plan.rounds):
            draw = random.Random(turn)  # noqa: S311 - no secret
            for asker in askers:
                if turn and asker.server.name == SLOWEST:
                    continue
                show(_turn(turn, plan.rounds, asker.server.name))
                _take_turn(asker, figures, draw)
    return figures


def _turn(turn: int, turns: int, server: str) -> str:
    """Say what runs now."""
    return say("lab.turn", turn=turn + 1, turns=turns, server=server)


def _measure_embedded(plan: Plan, figures: Figures, show: Show) -> None:
    """Measure what HTTP adds, while no other server is there, and what pages take."""
    solution = load_solution(plan.solution)
    inside = Inside(solution, Settings(max_num_seqs=SLOTS))
    crowded = Inside(solution, CROWDED)
    tokenizer = load("embedded").tokenizer
    with started("ours", "embedded", plan.solution) as server:
        asker = Asker(server, tokenizer.eos_token_ids, ())
        for turn in range(plan.rounds):
            show(_turn(turn, plan.rounds, say("lab.embedded")))
            draw = random.Random(turn)  # noqa: S311 - no secret
            prompts = inside.prompts(NUM_FIRST, draw)
            alone = [inside.first_token_s(ids) for ids in prompts]
            time.sleep(AWAKE_S)
            for ids, inside_s in zip(prompts, alone, strict=True):
                over_http_s = cases.first_token_s(asker, ids)
                figures.add("first, inside", "ours", inside_s)
                figures.add("first, over HTTP", "ours", over_http_s)
                figures.add("HTTP adds", "ours", over_http_s - inside_s)
            figures.add("pages", "ours", crowded.pages_per_token(draw))


def promises(figures: Figures) -> list[Target]:
    """Compare what was measured with what is to be reached."""

    def ratio(above: float | None, below: float | None) -> float | None:
        return above / below if above and below else None

    together = figures.middle("8 streams")
    alone, added_s = figures.middle("1 stream"), figures.middle("HTTP adds")
    return [
        Target("8 streams by our 1", 2.5, False, ratio(together, alone), "batch"),
        Target(
            "8 streams by those of mlx_lm.server",
            10,
            False,
            ratio(together, figures.middle("8 streams", "mlx_lm")),
            "mlx_lm",
        ),
        Target(
            "8 streams by those of llama.cpp's server",
            1.2,
            False,
            ratio(together, figures.middle("8 streams", "llama.cpp")),
            "llama",
        ),
        Target(
            "first token after a prefix, by the second one's",
            5,
            False,
            ratio(figures.middle("first of a prefix"), figures.middle("second of it")),
            "prefix",
        ),
        Target(
            "gap while a long prompt comes in, by the usual one",
            3,
            True,
            ratio(figures.middle("gap, long prompt"), figures.middle("gap, usual")),
            "gap",
        ),
        Target(
            "ms that HTTP adds to the first token",
            5,
            True,
            None if added_s is None else 1e3 * added_s,
            "http",
        ),
        Target("memory of pages by need", 1.15, True, figures.middle("pages"), "pages"),
    ]


def rows_of(figures: Figures) -> list[Mapping[str, Any]]:
    """Write down all figures, with their medians."""
    return [
        {"what": what, "server": whose, "median": median(values), "turns": values}
        for (what, whose), values in figures.of.items()
    ]


def _askers(plan: Plan, stack: contextlib.ExitStack) -> list[Asker]:
    """Start all servers of the large model."""
    folder = with_tokenizer()
    wanted: list[tuple[Name, Path | str]] = [("ours", folder)]
    if plan.with_mlx_lm:
        wanted.append(("mlx_lm", in_float32().resolve()))
    if plan.llama:
        wanted.append(("llama.cpp", plan.llama))
    tokenizer = load("embedded").tokenizer
    words = _words(tokenizer)

    def asker(name: Name, model: Path | str) -> Asker:
        server = stack.enter_context(started(name, model, plan.solution))
        return Asker(server, tokenizer.eos_token_ids, words)

    return [asker(*one) for one in wanted]


def _words(tokenizer: Any) -> Sequence[str]:  # noqa: ANN401 - mlx_lm has no types
    """Return texts that stay one token each when they stand side by side."""
    texts = (tokenizer.decode([one]) for one in range(cases.LOWEST, cases.HIGHEST))
    spaced = [one for one in texts if one.startswith(" ") and one[1:].isalpha()]
    return [one for one in spaced if len(tokenizer.encode(one)) == 1]


def _take_turn(asker: Asker, figures: Figures, draw: random.Random) -> None:
    """Measure a server of the large model once. Others only have 8 streams."""
    whose = asker.server.name
    lengths = SHORT if whose == SLOWEST else (cases.PROMPT, cases.ANSWER)
    for name, number in (("8 streams", SLOTS), ("1 stream", 1)):
        figures.add(name, whose, cases.streams(asker, number, draw, lengths))
    if whose != "ours":
        return
    first, second = cases.shared_prefix(asker, draw)
    figures.add("first of a prefix", whose, first)
    figures.add("second of it", whose, second)
    long, usual = cases.pause(asker, draw)
    figures.add("gap, long prompt", whose, long)
    figures.add("gap, usual", whose, usual)
