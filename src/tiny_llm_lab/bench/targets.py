"""The performance targets of the course's kernels, and whether a run meets them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tiny_llm_lab.bench.attending import cache_bytes
from tiny_llm_lab.bench.models import EMBEDDED_MODEL, QWEN2_0_5B
from tiny_llm_lab.bench.probing import Found
from tiny_llm_lab.bench.results import Row
from tiny_llm_lab.bench.whole_run import Measured
from tiny_llm_lab.promise import Promise
from tiny_llm_lab.records import four_digits

CONTEXT = 4096

SERVERS = ("onnxruntime", "openvino")
"""What a user would install to serve a model of 4 bits on a CPU."""

AGAINST_SERVERS = (
    ("generate", 32, 1.2),
    ("generate", 1024, 1.2),
    ("prefill", 32, 1.1),
    ("prefill", 256, 1.1),
    ("prefill", 1024, 1.1),
)
"""How many times as fast as they ours is to be: kind of work, tokens, bound."""


@dataclass(frozen=True)
class Target(Promise):
    """A performance target.

    Attributes:
        how: A description of what was compared.
    """

    how: str


def promises(
    measured: Measured,
    accuracy: Mapping[str, Found],
    memory: Mapping[str, Found],
    package: str,
) -> list[Target]:
    """Compute the reached figures, all on the random model of a real size.

    Args:
        measured: The speeds of a run.
        accuracy: The results of `accuracy.py`, by model.
        memory: The results of `memory.py`, by model.
        package: The name of the solution in the rows.
    """
    rows = [row for row in measured.rows if row["model"] == QWEN2_0_5B]
    return [
        *(_against_mlx_lm(rows, package, context) for context in (32, 1024)),
        *(_against_llama_cpp(rows, package, context) for context in (32, 1024)),
        _share_of_bandwidth(rows, package),
        _reading_a_prompt(rows, package),
        *(_against_servers(rows, package, *one) for one in AGAINST_SERVERS),
        _attention(measured),
        *_accuracies(accuracy),
        *_memories(memory.get(QWEN2_0_5B)),
    ]


def kept(found: Sequence[Target]) -> list[dict[str, Any]]:
    """Return promises in the form for the file."""
    return [
        {
            **asdict(one),
            "reached": None if one.reached is None else four_digits(one.reached),
            "holds": one.holds,
        }
        for one in found
    ]


def _against_mlx_lm(rows: Sequence[Row], package: str, context: int) -> Target:
    """Compare with the fastest dtype of `mlx_lm`."""
    ours = _everything(rows, package, "generate", context)
    peer = _fastest(rows, ["mlx_lm"], "generate", context)
    what = f"generation at {context}, times the speed of mlx_lm"
    return Target(what, 20.0, False, *_ratio(ours, peer))


def _against_llama_cpp(rows: Sequence[Row], package: str, context: int) -> Target:
    """Compare with llama.cpp, whose Q4_0 has the same bits for a weight."""
    ours = _everything(rows, package, "generate", context)
    peer = _fastest(rows, ["llama.cpp"], "generate", context)
    what = f"generation at {context}, times the speed of llama.cpp"
    return Target(what, 1.1, False, *_ratio(ours, peer))


def _share_of_bandwidth(rows: Sequence[Row], package: str) -> Target:
    """Compare with the median bandwidth measured in this run."""
    ours = _everything(rows, package, "generate", 32)
    reached = None if ours is None else float(ours["share_of_bandwidth"])
    how = "missing" if ours is None else f"{_speed(ours)}, weights and cache read once"
    return Target("generation at 32, share of the bandwidth", 0.6, False, reached, how)


def _reading_a_prompt(rows: Sequence[Row], package: str) -> Target:
    """Compare with the faster of two peers."""
    ours = _everything(rows, package, "prefill", 256)
    quick = [row for row in rows if row["weights"] != "float32"]
    peer = _fastest(quick, ["llama.cpp", "transformers"], "prefill", 256)
    what = "a prompt of 256, times the speed of the faster peer"
    return Target(what, 1.0, False, *_ratio(ours, peer))


def _against_servers(
    rows: Sequence[Row], package: str, work: str, tokens: int, bound: float
) -> Target:
    """Compare with the faster of these, whatever they compute in."""
    ours = _everything(rows, package, work, tokens)
    peer = _fastest(rows, SERVERS, work, tokens)
    name = {"generate": "generation at", "prefill": "a prompt of"}[work]
    what = f"{name} {tokens}, times the speed of onnxruntime and openvino"
    return Target(what, bound, False, *_ratio(ours, peer))


def _attention(measured: Measured) -> Target:
    """Compare with the time to read keys and values once."""
    what = f"attention over {CONTEXT}, times the time to read the cache"
    seconds = measured.attention_s.get((QWEN2_0_5B, CONTEXT))
    if seconds is None:
        return Target(what, 1.5, True, None, "missing")
    least = cache_bytes(QWEN2_0_5B, CONTEXT) / measured.machine.read_bytes_per_s
    how = f"{1e3 * seconds:.2f} ms in all layers, {1e3 * least:.2f} ms to read"
    return Target(what, 1.5, True, seconds / least, how)


def _accuracies(accuracy: Mapping[str, Found]) -> list[Target]:
    """Judge both models, each by the worse of the two ways to read a text.

    The divergence counts for both. The likeliest token counts only for the trained
    model. In the random one, all 151,936 logits come from the same distribution, so the
    two largest are close, and their order says little.
    """
    found: list[Target] = []
    for model in (QWEN2_0_5B, EMBEDDED_MODEL):
        one = accuracy.get(model)
        divergence = same = None
        how = "missing"
        if one is not None:
            divergence = max(one["prefill_kl"], one["generate_kl"])
            same = min(one["prefill_same_argmax"], one["generate_same_argmax"])
            how = f"{one['positions']:.0f} positions, at once and one by one: the worse"
        trained = "" if model == EMBEDDED_MODEL else "; untrained: near ties"
        found += [
            Target(f"KL divergence, {model}", 1e-3, True, divergence, how),
            Target(f"same likeliest token, {model}", 0.98, False, same, how + trained),
        ]
    return found


def _memories(found: Found | None) -> list[Target]:
    """Judge MLX's peak memory, and the peak of the process beyond its libraries."""
    names = ("peak of MLX's memory", "peak of the process")
    if found is None:
        return [_of_memory(name, None, "missing") for name in names]
    least = found["weight_bytes"] + found["cache_bytes"]
    of_mlx = found["mlx_peak_bytes"]
    of_process = found["process_peak_bytes"] - found["process_bytes_before"]
    how = f"{{:.0f}} MB for {least / 1e6:.0f} MB, at {found['tokens']:.0f} tokens; "
    loading = found["mlx_peak_bytes_when_loading"] / 1e6
    before = found["process_bytes_before"] / 1e6
    return [
        _of_memory(
            names[0],
            of_mlx / least,
            how.format(of_mlx / 1e6) + f"{loading:.0f} MB when it was loaded",
        ),
        _of_memory(
            names[1],
            of_process / least,
            how.format(of_process / 1e6) + f"libraries took {before:.0f} MB before",
        ),
    ]


def _of_memory(name: str, reached: float | None, how: str) -> Target:
    """Return the promise for one way to count memory."""
    return Target(f"{name}, times weights and cache", 1.3, True, reached, how)


def _everything(
    rows: Sequence[Row], package: str, work: str, tokens: int
) -> Row | None:
    """Return the row of the last variants: the faster one, where both are there."""
    own = [row for row in rows if row["rung"] in {"everything", "week 3"}]
    return _fastest(own, [package], work, tokens)


def _fastest(
    rows: Sequence[Row], engines: Sequence[str], work: str, tokens: int
) -> Row | None:
    """Return the row of the fastest engine with one of these names."""
    matching = [
        row
        for row in rows
        if row["engine"] in engines and (row["work"], row["tokens"]) == (work, tokens)
    ]
    return max(matching, key=lambda row: float(row["tokens_per_s"]), default=None)


def _ratio(ours: Row | None, peer: Row | None) -> tuple[float | None, str]:
    """Return how many times as fast ours is, with a description."""
    if ours is None or peer is None:
        return None, "missing"
    times = float(ours["tokens_per_s"]) / float(peer["tokens_per_s"])
    return times, f"{_speed(ours)} against {_speed(peer)}"


def _speed(row: Row) -> str:
    """Write a row in short."""
    return f"{row['engine']} {row['weights']}: {row['tokens_per_s']:.4g}/s"
