"""The interactive figure of day 2 of week 2 counts as the course and its bench do."""

import mlx.core as mx
import pytest
from mlx import nn
from mlx.utils import tree_flatten
from mlx_lm.models import qwen2
from tests.book.conftest import OpenFigure

from tiny_llm_course.book.chapter_data import values_of
from tiny_llm_lab.bench.engines import VARIANTS, Stored
from tiny_llm_lab.bench.interleaved import Case
from tiny_llm_lab.bench.machine import Machine
from tiny_llm_lab.bench.models import EMBEDDED_MODEL, QWEN2_0_5B, args_of
from tiny_llm_lab.bench.results import cost_of
from tiny_llm_lab.measured import machine
from tiny_llm_ref.roofline import bytes_per_token, flops_per_token, roofline

CHAPTER = "week-2-day-2-measuring"
NAME = "roofline-of-a-model"

READ, PRODUCTS = (
    float(f"{rate:.3g}") for rate in (machine().read_bytes_per_s, machine().flops_per_s)
)
CHAPTER_MACHINE = Machine(READ, PRODUCTS, READ)
H100 = (3.35e12, 990e12)
MODELS = {"ours": EMBEDDED_MODEL, "qwen2-0.5b": QWEN2_0_5B}
FORMATS = {
    "dense": (None, mx.float32),
    "bfloat16": (None, mx.bfloat16),
    "eight": (8, mx.float32),
    "four": (4, mx.float32),
    "four_half": (4, mx.float16),
}
QWEN2_7B = qwen2.ModelArgs(
    *("qwen2", 3584, 28, 18944, 28, 1e-6, 152064, 4), tie_word_embeddings=False
)


def choose(figure: OpenFigure, length: int | None = None, texts: int = 1) -> None:
    """Set the sliders of both numbers; without a length, the highest that there is."""
    places = figure.data["lengths"]
    place = len(places) - 1 if length is None else places.index(length)
    figure.set(seen=place, texts=places.index(texts))


@pytest.mark.parametrize(
    ("model", "weights", "work", "length"),
    [
        ("qwen2-0.5b", "four", "generate", 1024),
        ("qwen2-0.5b", "dense", "generate", 1),
        ("qwen2-0.5b", "four", "prefill", 1024),
        ("qwen2-0.5b", "bfloat16", "prefill", 13),
        ("qwen2-0.5b", "four_half", "prefill", 32768),
        ("ours", "eight", "prefill", 1),
        ("ours", "four", "generate", 512),
    ],
)
def test_a_step_costs_what_the_bench_sets_its_measurements_against(
    figure: OpenFigure, model: str, weights: str, work: str, length: int
) -> None:
    bits, dtype = FORMATS[weights]
    stored = Stored(weights, str(dtype).removeprefix("mlx.core."), bits)
    case = Case(VARIANTS[0], MODELS[model], work, length)
    expected = cost_of(case, stored, CHAPTER_MACHINE)

    choice = {"prefill": "read", "generate": "write"}[work]
    figure.set(model=model, format=weights, work=choice)
    choose(figure, length)

    num_new = length if work == "prefill" else 1
    assert figure.read("flops") == expected.flops
    assert figure.read("bytes") == expected.num_bytes
    assert figure.read("seconds") == pytest.approx(expected.seconds, rel=1e-12)
    assert figure.read("speed") == pytest.approx(num_new / expected.seconds)


@pytest.mark.parametrize(
    ("weights", "context", "texts"),
    [
        ("dense", 1024, 8),
        ("bfloat16", 32768, 32),
        ("eight", 1, 256),
        ("four", 32768, 256),
        ("four_half", 32, 256),
    ],
)
def test_texts_share_the_weights_and_nothing_else(
    figure: OpenFigure, weights: str, context: int, texts: int
) -> None:
    bits, dtype = FORMATS[weights]
    shared = bytes_per_token(QWEN2_7B, 0, bits, dtype=dtype)
    own = bytes_per_token(QWEN2_7B, context, bits, dtype=dtype) - shared
    work = texts * flops_per_token(QWEN2_7B, context), shared + texts * own
    seconds, limit = roofline(*work, H100[1], H100[0])

    figure.set(model="qwen2-7b", format=weights, machine="h100")
    choose(figure, context, texts)

    assert (figure.read("flops"), figure.read("bytes")) == work
    assert figure.read("intensity") == pytest.approx(work[0] / work[1])
    assert figure.read("limit") == limit
    assert figure.read("seconds") == pytest.approx(seconds, rel=1e-12)
    assert figure.read("speed") == pytest.approx(texts / seconds)
    assert figure.read("each") == pytest.approx(1 / seconds)


def test_the_bytes_are_those_of_the_arrays(figure: OpenFigure) -> None:
    model = qwen2.Model(args_of(QWEN2_0_5B))
    model.set_dtype(mx.float16)
    nn.quantize(model, group_size=64, bits=4)
    weights = sum(one.nbytes for _, one in tree_flatten(model.parameters()))
    keys_or_values = mx.zeros((8, 2, 256, 64), mx.float16).nbytes

    figure.set(format="four_half")
    choose(figure, 256, texts=8)

    assert figure.read("bytes") == weights + 24 * 2 * keys_or_values


@pytest.mark.parametrize(
    ("bandwidth", "arithmetic"), [(1, 1), (1, 6), (4, 1), (4, 6), (2.7, 4.44)]
)
@pytest.mark.parametrize("work", ["write", "read"])
def test_the_longer_time_counts_on_any_machine(
    figure: OpenFigure, bandwidth: float, arithmetic: float, work: str
) -> None:
    rates = [1e9 * float(f"{10**power:.3g}") for power in (bandwidth, arithmetic)]

    figure.set(work=work, bandwidth=bandwidth, arithmetic=arithmetic)

    seconds, limit = roofline(figure.read("flops"), figure.read("bytes"), *rates[::-1])
    assert figure.read("balance") == pytest.approx(rates[1] / rates[0])
    assert figure.read("seconds") == pytest.approx(seconds, rel=1e-12)
    assert figure.read("limit") == limit


def test_the_embedded_model_has_positions_for_no_more(figure: OpenFigure) -> None:
    choose(figure)

    figure.set(model="ours")

    expected = flops_per_token(args_of(EMBEDDED_MODEL), 512)
    assert figure.read("flops") == expected


def test_a_machine_is_named_until_its_rates_are_changed(figure: OpenFigure) -> None:
    shown = figure.page.locator(f"#figure-{NAME} [data-control=machine]")
    before = shown.input_value()
    figure.set(bandwidth=2)
    changed = shown.input_value()

    figure.set(machine="h100")

    assert (before, changed, shown.input_value()) == ("chapter", "own", "h100")
    assert figure.read("balance") == pytest.approx(H100[1] / H100[0])


@pytest.mark.parametrize("weights", ["four", "dense"])
def test_the_edge_of_the_roof_is_where_the_text_says(
    figure: OpenFigure, weights: str
) -> None:
    length = values_of(CHAPTER, "numbers")["crossing"][weights]
    figure.set(format=weights, work="read")

    limits = []
    for one in (length - 1, length):
        choose(figure, one)
        limits.append(figure.read("limit"))

    assert limits == ["memory", "compute"]


def test_several_texts_take_as_long_as_the_text_says(figure: OpenFigure) -> None:
    expected = values_of(CHAPTER, "numbers")["several"]
    times: dict[tuple[int, int], float] = {}

    figure.set(format="dense")
    for texts in (1, 8):
        choose(figure, 32, texts)
        assert 1e3 * figure.read("seconds") == pytest.approx(expected[f"of_{texts}"])
    figure.set(model="qwen2-7b", format="bfloat16", machine="h100")
    for context in (32, 32768):
        for texts in (1, 32):
            choose(figure, context, texts)
            times[context, texts] = figure.read("seconds")
            assert figure.read("limit") == "memory"
        ratio = times[context, 32] / times[context, 1]
        assert ratio == pytest.approx(expected[f"at_{context}"])


@pytest.mark.parametrize(
    "way", [{"work": "read"}, {"work": "write", "format": "four_half"}]
)
def test_arithmetic_can_be_made_the_limit_of_a_fast_machine(
    figure: OpenFigure, way: dict[str, str]
) -> None:
    """The last thing to try has an answer, and more than one."""
    figure.set(model="qwen2-7b", format="bfloat16", machine="h100")
    choose(figure, 32, texts=256)
    assert figure.read("limit") == "memory"

    figure.set(**way)

    assert figure.read("limit") == "compute"
