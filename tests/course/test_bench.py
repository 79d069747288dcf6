"""`pdm run bench`: engines are interleaved, and compared with the machine's speeds."""

import io
import itertools
import json
import time
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import pytest

from tiny_llm_lab.bench import engines, machine, worker
from tiny_llm_lab.bench.engines import (
    ATTENTION,
    KINDS,
    PEERS,
    VARIANTS,
    Kind,
    Step,
    Stored,
    chosen,
    names_of,
)
from tiny_llm_lab.bench.figure import draw
from tiny_llm_lab.bench.interleaved import (
    BUDGET_S,
    LONGEST_S,
    SLOW_S,
    Case,
    environment,
    take_turns,
)
from tiny_llm_lab.bench.machine import Machine
from tiny_llm_lab.bench.models import EMBEDDED_MODEL, QWEN2_0_5B, args_of
from tiny_llm_lab.bench.results import about, cost_of, machine_of, row_of, write
from tiny_llm_lab.bench.whole_run import Plan, planned

MACHINE = Machine(44e9, 208e9, best_read_bytes_per_s=48e9)
DENSE = Stored("float32", "float32")
FOUR_BITS = Stored("4-bit, float32", "float32", bits=4)


@pytest.mark.parametrize(
    "module", sorted({one.module for one in (*KINDS, ATTENTION, engines.MACHINE)})
)
def test_what_a_worker_is_to_time_is_where_it_looks(module: str) -> None:
    """It is imported by its name, in a process of its own."""
    assert find_spec(f"{worker.__package__}.{module}")


class FakeEngine:
    """A fake engine that records its requests."""

    stored = DENSE

    def __init__(self) -> None:
        self.asked: list[str] = []

    def prefill(self, num_tokens: int) -> Step:
        self.asked.append(f"prefill {num_tokens}")
        return lambda: time.sleep(0.001)

    def generate(self, context: int) -> Step:
        self.asked.append(f"generate {context}")
        return lambda: time.sleep(0.001)


class FakeWorker:
    """A fake worker that answers at once, with given times."""

    def __init__(self, kind: Kind, steps_s: Iterable[float], log: list[str]) -> None:
        self.kind = kind
        self._steps_s = iter(steps_s)
        self._log = log

    def measure(self, work: str, tokens: int, for_s: float) -> list[float]:
        del for_s
        self._log.append(f"{self.kind.key} {work} {tokens}")
        return [next(self._steps_s)]


def show_nothing(done: int, total: int, case: str) -> None:
    del done, total, case


def case_of(kind: Kind, work: str = "generate", tokens: int = 32) -> Case:
    return Case(kind, QWEN2_0_5B, work, tokens)


def run(workers: list[FakeWorker], cases: list[Case], num_rounds: int) -> list[str]:
    """Return the messages about cases that are left out."""
    said: list[str] = []
    take_turns(workers, cases, num_rounds, show_nothing, said.append)  # pyright: ignore
    return said


def peer(key: str) -> Kind:
    (kind,) = [kind for kind in KINDS if kind.key == key]
    return kind


def machine_kind() -> Kind:
    return engines.MACHINE


WEEK_1, MLX_LM = VARIANTS[0], PEERS[0]


def test_engines_have_their_turns_one_after_the_other() -> None:
    """So that other load on the machine affects all of them."""
    log: list[str] = []
    workers = [FakeWorker(kind, [0.5] * 9, log) for kind in (WEEK_1, MLX_LM)]

    run(workers, [case_of(WEEK_1), case_of(MLX_LM)], 1)

    first, second = "week1 generate 32", f"{MLX_LM.key} generate 32"
    assert log == [first, first, second, second, first, second]


def test_two_steps_are_a_warm_up() -> None:
    case = case_of(WEEK_1)

    run([FakeWorker(WEEK_1, [4.0, 3.0, 1.0, 2.0], [])], [case], 2)

    assert case.steps_s == [1.0, 2.0]


def test_a_slow_case_is_measured_once_and_for_all() -> None:
    """A prompt of 1024 tokens takes `mlx_lm` minutes."""
    case = case_of(WEEK_1)

    run([FakeWorker(WEEK_1, [SLOW_S + BUDGET_S], [])], [case], 5)

    assert case.steps_s == [SLOW_S + BUDGET_S]


def test_what_would_take_too_long_is_left_out() -> None:
    """Judged by a shorter prompt: 8 times the tokens take 8 times as long."""
    short, long = (case_of(MLX_LM, "prefill", tokens) for tokens in (32, 256))
    just_too_slow_s = 1.01 * LONGEST_S / 8

    said = run(
        [FakeWorker(MLX_LM, [just_too_slow_s] * 3, [])], [short, long], num_rounds=1
    )

    assert len(short.steps_s) == 1
    assert long.steps_s == []
    assert said == [f"{long} is left out: it would take some 61 s"]


def test_a_prompt_takes_no_longer_than_its_tokens_one_by_one() -> None:
    """So an engine that takes 3 s for a token gets no prompt at all."""
    token, prompt = case_of(MLX_LM), case_of(MLX_LM, "prefill", 32)

    said = run([FakeWorker(MLX_LM, [3.0] * 3, [])], [token, prompt], num_rounds=1)

    assert prompt.steps_s == []
    assert len(said) == 1


def test_a_worker_prepares_each_prompt_anew() -> None:
    engine = FakeEngine()

    steps_s = worker.measure(engine, "prefill", 8, for_s=0.0)

    assert engine.asked == ["prefill 8"]
    assert len(steps_s) == 1
    assert steps_s[0] >= 0.001


def test_a_worker_writes_some_tokens_after_each_other() -> None:
    """One cache serves all of them, and only the first may have to grow it."""
    engine = FakeEngine()

    steps_s = worker.measure(engine, "generate", 8, for_s=0.2)

    assert len(steps_s) > len(engine.asked)


def test_a_worker_takes_steps_until_the_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The clock here advances by a second at each reading."""
    clock = itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(clock)))

    steps_s = worker.measure(FakeEngine(), "generate", 8, for_s=2.5)

    assert steps_s == [1.0, 1.0, 1.0]


def test_a_worker_speaks_json_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "PAUSE_S", 0.0)
    request = json.dumps({"work": "generate", "tokens": 8, "for_s": 0.0})
    answers = io.StringIO()

    worker.serve(FakeEngine(), io.StringIO(f"{request}\n{request}\n"), answers)

    stored, *steps_s = [json.loads(line) for line in answers.getvalue().splitlines()]
    assert Stored(**stored) == DENSE
    assert [len(one) for one in steps_s] == [1, 1]


def test_the_cost_of_a_token_is_that_of_day_2() -> None:
    """278 MB of weights and their groups' float32 scales, and 32 tokens of cache."""
    cost = cost_of(case_of(WEEK_1), FOUR_BITS, MACHINE)

    assert cost.flops == 990674944
    assert cost.num_bytes == 309798400
    assert cost.seconds == pytest.approx(309798400 / 44e9)


def test_a_prompt_goes_through_the_head_once() -> None:
    short = cost_of(case_of(WEEK_1, "prefill", 1), DENSE, MACHINE)
    long = cost_of(case_of(WEEK_1, "prefill", 2), DENSE, MACHINE)

    config = args_of(QWEN2_0_5B)
    head = 2 * config.vocab_size * config.hidden_size
    layers = short.flops - head
    attention = 4 * config.hidden_size * config.num_hidden_layers
    assert long.flops == head + 2 * layers + attention


def test_a_row_sets_the_speed_against_the_roof() -> None:
    case = case_of(MLX_LM)
    case.steps_s += [0.1, 0.2, 9.0]

    row = row_of(case, DENSE, MACHINE, "tiny_llm_ref")

    cost = cost_of(case, DENSE, MACHINE)
    assert row["engine"] == "mlx_lm"
    assert row["tokens_per_s"] == 5.0
    assert row["bytes_moved"] == cost.num_bytes
    assert row["share_of_bandwidth"] == pytest.approx(
        cost.num_bytes / 0.2 / 44e9, rel=1e-3
    )
    assert row["roofline_tokens_per_s"] == pytest.approx(1 / cost.seconds, rel=1e-3)


def test_a_prompt_counts_all_its_tokens() -> None:
    case = case_of(WEEK_1, "prefill", 256)
    case.steps_s.append(2.0)

    row = row_of(case, DENSE, MACHINE, "tiny_llm_ref")

    assert row["tokens_per_s"] == 128.0
    assert row["engine"] == "tiny_llm_ref"
    assert row["rung"] == "week 1"


def test_a_file_that_is_known_to_be_larger_counts_as_it_is() -> None:
    stored = Stored("q4_0", "float16", weight_bytes=10**9)

    cost = cost_of(case_of(peer("llama.cpp-q4_0"), tokens=1), stored, MACHINE)

    assert cost.num_bytes == 10**9 + 24 * 2 * 128 * 2


def test_results_are_one_object_with_rows(tmp_path: Path) -> None:
    case = case_of(WEEK_1)
    case.steps_s.append(0.5)
    row = row_of(case, DENSE, MACHINE, "tiny_llm_ref")

    kept = {**about("pdm run bench", MACHINE), "rows": [row]}

    write(tmp_path / "new" / "bench.json", kept)

    found = json.loads((tmp_path / "new" / "bench.json").read_text())
    names = {"machine", "command", "date", "read_bandwidth_gb_per_s", "rows"}
    assert names <= found.keys()
    assert found["read_bandwidth_gb_per_s"] == 44.0
    assert found["rows"] == [row]


def test_results_that_cannot_be_written_leave_those_before(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    write(file, {"rows": []})
    before = file.read_text()

    with pytest.raises(TypeError):
        write(file, {"rows": [object()]})

    assert file.read_text() == before


def test_the_machine_is_what_it_was_in_the_median() -> None:
    """Engines use medians as well, and met the same disturbances."""
    reads = Case(machine_kind(), QWEN2_0_5B, "read", 512, [0.02, 0.04, 0.03])
    products = Case(machine_kind(), QWEN2_0_5B, "multiply", 256, [0.02, 0.01, 0.05])

    found = machine_of([reads, products])

    assert found.read_bytes_per_s == pytest.approx(512e6 / 0.03)
    assert found.best_read_bytes_per_s == pytest.approx(512e6 / 0.02)
    assert found.flops_per_s == pytest.approx(2 * 256 * 896 * 4864 / 0.02)


def test_the_figure_has_a_panel_for_each_model_and_work() -> None:
    cases = [
        Case(WEEK_1, model, work, 32, [0.5])
        for model in (EMBEDDED_MODEL, QWEN2_0_5B)
        for work in ("prefill", "generate")
    ]

    figure = draw([row_of(one, DENSE, MACHINE, "tiny_llm_ref") for one in cases])

    assert len(figure.axes) == 4


def test_reading_memory_takes_time() -> None:
    """A terabyte per second would be the time of an empty call, not of reading."""
    assert 1e8 < machine.read_bandwidth(1 << 24, 2) < 1e12


def test_every_engine_has_a_name_of_its_own() -> None:
    keys = [kind.key for kind in (*KINDS, ATTENTION)]

    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("name", "number"), [("mlx_lm", 3), ("mlx_lm-float32", 1), ("week1", 1)]
)
def test_an_engine_is_chosen_by_its_key_or_with_all_of_its_library(
    name: str, number: int
) -> None:
    assert name in names_of(KINDS)
    assert len(chosen([name])) == number


def test_only_the_last_variants_have_kernels() -> None:
    on = [kind.key for kind in KINDS if environment(kind)["TINY_LLM_KERNELS"] == "own"]

    assert on == ["kernels", "everything", "week3"]


def test_a_model_is_not_asked_for_more_positions_than_it_has() -> None:
    """Only the large model has a case of attention over 4096 tokens."""
    work = {"generate": (32, 1024), "attend": (4096,)}
    plan = Plan([], [], work, num_rounds=1, solution="ref")

    of_small = list(planned(plan, EMBEDDED_MODEL))
    of_large = list(planned(plan, QWEN2_0_5B))

    machine_alone = [("read", 512), ("multiply", 256)]
    assert of_small == [("generate", 32), *machine_alone]
    long_ones = [("generate", 1024), ("attend", 4096)]
    assert of_large == [("generate", 32), *long_ones, *machine_alone]
