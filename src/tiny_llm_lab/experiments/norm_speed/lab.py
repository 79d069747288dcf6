"""RMSNorm against LayerNorm: time, bandwidth and memory, in MLX and PyTorch."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import product
from statistics import median

from tiny_llm_course.solution import Solution
from tiny_llm_lab.experiments.experiment import Lab
from tiny_llm_lab.experiments.norm_speed import in_mlx, in_torch, whole_model
from tiny_llm_lab.experiments.norm_speed.claims import (
    beside_measurement,
)
from tiny_llm_lab.experiments.norm_speed.contest import (
    BOTH,
    BUILT_IN,
    BY_HAND,
    COMPILED,
    FORWARD,
    LAYER,
    MLX,
    NUM_ELEMENTS,
    PARTIAL,
    RMS,
    TORCH,
    TRAINING,
    Case,
    Contest,
    Entrant,
)
from tiny_llm_lab.experiments.norm_speed.figure import draw
from tiny_llm_lab.experiments.norm_speed.results import Result, across, by_form, results
from tiny_llm_lab.records import Row, Value, four_digits
from tiny_llm_lab.timing import Rounds, Times, in_turns

FORMS = (
    (MLX, BUILT_IN[MLX]),
    (MLX, BY_HAND),
    (MLX, COMPILED),
    (TORCH, BUILT_IN[TORCH]),
    (TORCH, BY_HAND),
)
DTYPES = ("float32", "float16", "bfloat16")
WIDTHS = (128, 896, 4096)
QUICK_DTYPES = ("float32",)
QUICK_WIDTHS = (896,)
ROUNDS = Rounds(budget_s=2, least=7, most=60)


def cases(quick: bool) -> list[Row]:
    """Return every form with every dtype, width and direction; roots; whole models."""
    dtypes, widths = (QUICK_DTYPES, QUICK_WIDTHS) if quick else (DTYPES, WIDTHS)
    norms = [
        Case("norm", *form, dtype, width, direction)
        for form, dtype, width, direction in product(
            FORMS, dtypes, widths, (FORWARD, BOTH)
        )
    ]
    roots = [
        Case("root", *form, "float32", width, FORWARD)
        for form, width in product(FORMS, widths)
        if form[1] in (BY_HAND, COMPILED)
    ]
    models = [
        Case("model", MLX, form, "float32", whole_model.SIZE.dim, direction)
        for form, direction in product(
            (COMPILED,) if quick else (BY_HAND, COMPILED),
            (FORWARD,) if quick else (FORWARD, BOTH, TRAINING),
        )
    ]
    return [asdict(case) for case in (*norms, *roots, *models)]


def measure(case: Row, solution: Solution) -> Iterable[Row]:
    """Time the variants of a case, interleaved, then measure the memory of each."""
    contest = _contest(Case.of(case), solution)
    entrants = contest.entrants
    times = in_turns({name: own.step for name, own in entrants.items()}, ROUNDS)
    first = next(iter(times.values()))
    for name, entrant in entrants.items():
        peak_bytes = contest.peak_bytes(entrant.step)
        yield {
            "variant": name,
            **timed(times[name], first, entrant),
            "held_bytes": entrant.held_bytes,
            "peak_bytes": peak_bytes,
        }


def _contest(case: Case, solution: Solution) -> Contest:
    """Build the variants of a case."""
    if case.part == "model":
        return whole_model.contest(case, solution)
    if case.library == TORCH:
        return in_torch.contest(case)
    return in_mlx.contest(case, solution)


def timed(times: Times, first: Times, entrant: Entrant) -> Row:
    """Summarise the rounds of one variant."""
    own, ratio = times.spread, times.over(first)
    speed = entrant.moved_bytes / own.middle / 1e9
    return {
        "rounds": len(times.wall_s),
        "median_s": four_digits(own.middle),
        "q1_s": four_digits(own.low),
        "q3_s": four_digits(own.high),
        "times_first": four_digits(ratio.middle),
        "times_first_q1": four_digits(ratio.low),
        "times_first_q3": four_digits(ratio.high),
        "cores": round(times.cores, 2),
        "moved_bytes": entrant.moved_bytes or "",
        "gb_per_s": four_digits(speed) if entrant.moved_bytes else "",
    }


def about(solution: Solution, quick: bool) -> Mapping[str, Value]:
    """Return what computes here: devices, threads and kernels."""
    del solution, quick
    return {**in_mlx.about(), **in_torch.about(), "elements": NUM_ELEMENTS}


def summary(rows: Sequence[Row]) -> list[Row]:
    """Return a row for every form, dtype and direction: RMSNorm and LayerNorm."""
    return [
        {
            "library": library,
            "form": form,
            "dtype": dtype,
            "direction": direction,
            "RMS, Layer ms": _pair(own, _milliseconds, "{:.3g}"),
            "Layer / RMS": _over_widths(own, LAYER),
            "partial / RMS": _over_widths(own, PARTIAL),
            "bandwidth": _pair(own, Result.copy_share, "{:.0%}"),
            "peak": _pair(own, Result.peak_in_inputs, "{:.1f}"),
        }
        for (library, form, dtype, direction), own in by_form(results(rows), "norm")
    ]


def _milliseconds(result: Result, variant: str) -> float:
    """Return the time of a variant."""
    return 1000 * result.number(variant, "median_s")


def _over_widths(found: Sequence[Result], variant: str) -> str:
    """Write how much longer a variant takes than RMSNorm, with the spread."""
    if variant not in found[0].rows:
        return ""
    times = across([result.times_first(variant) for result in found])
    return f"{times.middle:.2f} ({times.low:.2f}-{times.high:.2f})"


def _pair(
    found: Sequence[Result], get: Callable[[Result, str], float], layout: str
) -> str:
    """Write a figure of RMSNorm and of LayerNorm, as medians over the widths."""
    both = [median(get(result, norm) for result in found) for norm in (RMS, LAYER)]
    return ", ".join(map(layout.format, both))


LAB = Lab(
    "norm-speed",
    ("part", "library", "form", "dtype", "width", "direction"),
    (
        "variant",
        "rounds",
        "median_s",
        "q1_s",
        "q3_s",
        "times_first",
        "times_first_q1",
        "times_first_q3",
        "cores",
        "moved_bytes",
        "gb_per_s",
        "held_bytes",
        "peak_bytes",
    ),
    cases,
    measure,
    summary,
    draw,
    about,
    claims=beside_measurement,
)
