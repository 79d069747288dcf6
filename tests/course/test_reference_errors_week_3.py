"""The reference's Week 3 reports wrong arguments in one line, as the others do."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import mlx.core as mx
import pytest

from tiny_llm_course.grading.scenarios.fakes import ByteTokenizer
from tiny_llm_course.grading.scenarios.scripted_engine import ChatTokenizer
from tiny_llm_ref.attention import paged_attention
from tiny_llm_ref.block_manager import BlockManager
from tiny_llm_ref.distributed import shard_columns, shard_rows, split_model
from tiny_llm_ref.engine import Engine
from tiny_llm_ref.generate import speculative_generate
from tiny_llm_ref.limits import Admission
from tiny_llm_ref.metrics import Family, Metrics
from tiny_llm_ref.paged_kernels import paged_attention_online
from tiny_llm_ref.paged_kv_cache import TinyKvPagedCache, TinyKvPagedPool
from tiny_llm_ref.protocol import parse_chat, parse_completion, read_object
from tiny_llm_ref.quantize import QuantizedWeights
from tiny_llm_ref.qwen2_week3 import run_pieces
from tiny_llm_ref.request import Request, SamplingParams
from tiny_llm_ref.sampler import LogitsProcessors
from tiny_llm_ref.scheduler import Scheduler
from tiny_llm_ref.streaming import TextStream

MODEL: Any = SimpleNamespace(num_hidden_layers=2)
TOKENIZER: Any = ByteTokenizer()
SILENT: Any = SimpleNamespace(encode=lambda _: list[int]())
ANYTHING: Any = "anything"
HEADS: Any = SimpleNamespace(attention=SimpleNamespace(num_heads=4, num_kv_heads=2))
COUNTER = Family("served_total", "counter", "Requests.")


def zeros(*shape: int) -> mx.array:
    return mx.zeros(shape)


def packed(num_outputs: int, num_inputs: int) -> QuantizedWeights:
    words, scales, biases = mx.quantize(zeros(num_outputs, num_inputs), 64, 4)
    return QuantizedWeights(scales, biases, 64, 4, words)


def asked(length: int, **params: Any) -> Callable[[Engine], None]:  # noqa: ANN401
    """Return what asks an engine with room for 8 tokens."""
    return lambda engine: engine.add_request(
        "a", [1] * length, SamplingParams(**params)
    )


def engine(*asks: Callable[[Engine], None]) -> object:
    made = Engine(MODEL, TOKENIZER, num_pages=2, page_size=4)
    for ask in asks:
        ask(made)
    return made


def paged(**options: Any) -> TinyKvPagedCache:  # noqa: ANN401
    return TinyKvPagedCache(TinyKvPagedPool(page_size=4, num_pages=1), **options)


def given(cache: TinyKvPagedCache, rows: int, length: int) -> object:
    new = zeros(rows, 1, length, 4)
    return cache.update_and_fetch(new, new)


def admission(num_open: int = 0, *, is_draining: bool = False) -> Admission:
    """Return a gate with one place."""
    made = Admission(1)
    made.num_open, made.is_draining = num_open, is_draining
    return made


CASES: list[tuple[Callable[[], object], str]] = [
    (
        lambda: paged_attention(
            zeros(1, 1, 1, 4),
            zeros(1, 1, 2, 4),
            zeros(1, 1, 2, 4),
            mx.array([[0]]),
            mx.array([1]),
            4,
        ),
        "paged_attention: expected pages of 4 tokens, got 2",
    ),
    (
        lambda: BlockManager(1, 4).allocate(Request("a", [1] * 5, SamplingParams())),
        "BlockManager.allocate: expected pages for 5 tokens, got 1 free ones of 4 "
        "tokens; ask can_allocate first",
    ),
    (
        lambda: engine(asked(1), asked(1)),
        "Engine: expected a new id, got 'a', which is in use",
    ),
    (
        lambda: engine(asked(1, max_tokens=0)),
        "Engine: expected max_tokens of 1 or more, got 0",
    ),
    (
        lambda: engine(asked(9)),
        "Engine: expected a prompt of 1 to 7 tokens, got 9; with its answer it may "
        "have 8",
    ),
    (
        lambda: speculative_generate(MODEL, MODEL, TOKENIZER, TOKENIZER, "Once", 0),
        "speculative_generate: expected a proposal_length of 1 or more, got 0",
    ),
    (
        lambda: speculative_generate(MODEL, MODEL, SILENT, SILENT, "Once"),
        "speculative_generate: expected a prompt, got an empty one",
    ),
    (
        lambda: speculative_generate(MODEL, MODEL, SILENT, TOKENIZER, "Once"),
        "speculative_generate: expected tokenizers that agree, got other ids for the "
        "prompt from the draft's",
    ),
    (
        lambda: paged_attention_online(*[zeros(1)] * 5, 1.0, ANYTHING),
        "paged_attention_online: expected 'causal' or None, got 'anything'",
    ),
    (lambda: Admission(0), "Admission: expected 1 place or more, got 0"),
    (lambda: admission().enter(2), "prompt: expected 1 of them at most, got 2"),
    (lambda: admission(1).enter(), "all 1 places are taken; try again later"),
    (
        lambda: admission(is_draining=True).enter(),
        "the server is shutting down; try another one, or again later",
    ),
    (
        lambda: read_object(b"[1]"),
        "the body: expected an object, got [1]",
    ),
    (
        lambda: read_object(b'{"a": NaN}'),
        "the body is not the JSON of an object: NaN is no number in JSON",
    ),
    (
        lambda: read_object(b"[" * 50 + b"]" * 50),
        "the body is not the JSON of an object: nested too deeply",
    ),
    (
        lambda: parse_chat(
            b'{"messages": [{"role": "assistant", "content": "Hi"}]}', ChatTokenizer()
        ),
        "messages: the model's template refuses them: the user speaks first",
    ),
    (
        lambda: parse_completion(b'{"prompt": [[1], [5, -1]]}', ChatTokenizer()),
        "prompt[1][1]: expected the id of a token, got -1",
    ),
    (
        lambda: parse_completion(
            b'{"prompt": "Hi", "model": "tiny", "n": 2}', ChatTokenizer()
        ),
        "n: this server does not have it; leave it out",
    ),
    (
        lambda: Metrics([COUNTER] * 2),
        "Metrics: expected names that differ, got served_total, served_total",
    ),
    (
        lambda: Metrics([Family("s", "histogram", "Times.", (2, 1))]),
        "Metrics: expected rising bounds of s, got [2, 1]",
    ),
    (
        lambda: Metrics([COUNTER]).count("served_total", -1),
        "Metrics: expected served_total to grow, got -1",
    ),
    (
        lambda: Metrics([COUNTER]).set("served_total", 1),
        "Metrics: expected served_total to be a gauge, got a counter",
    ),
    (
        lambda: TinyKvPagedPool(num_pages=1).free(0),
        "TinyKvPagedPool.free: expected a page in use, got 0; give each page back once",
    ),
    (
        lambda: given(paged(), 1, 5),
        "TinyKvPagedPool.allocate: expected a free page, got none of 1; release a "
        "cache first",
    ),
    (
        lambda: paged().rewind(1),
        "TinyKvPagedCache.rewind: expected 0 to 0 tokens, got 1",
    ),
    (
        lambda: given(paged(), 2, 1),
        "TinyKvPagedCache: expected one text, got keys of shape (2, 1, 1, 4); make a "
        "cache for each",
    ),
    (
        lambda: given(paged(block_table=[]), 1, 1),
        "TinyKvPagedCache: expected 1 pages in the block table, got 0; its owner has "
        "to append them first",
    ),
    (
        lambda: run_pieces(MODEL, [[]], [[]]),
        "run_pieces: expected one token at least and 2 caches for each text, got 0 "
        "and 0",
    ),
    (
        lambda: LogitsProcessors(SamplingParams(logit_bias={9: 1.0}))(zeros(4), [], []),
        "logit_bias: expected tokens from 0 to 3, got 9",
    ),
    (
        lambda: Scheduler(2, 1),
        "Scheduler: expected max_num_seqs from 1 to max_num_batched_tokens, got 2 and "
        "1",
    ),
    (
        lambda: shard_columns(zeros(7, 2), 0, 2),
        "shard_columns: expected a number of outputs that can be dealt out to 2 "
        "processes, and one of these, got 7 outputs and process 0",
    ),
    (
        lambda: shard_rows(zeros(2, 8), 2, 2),
        "shard_rows: expected a number of inputs that can be dealt out to 2 "
        "processes, and one of these, got 8 inputs and process 2",
    ),
    (
        lambda: shard_rows(packed(2, 64), 0, 4),
        "shard_rows: expected parts of a multiple of 32 inputs of a packed weight, "
        "got 16",
    ),
    (
        lambda: split_model(SimpleNamespace(layers=[HEADS]), 0, 3, abs),  # pyright: ignore[reportArgumentType]
        "split_model: expected a number of key heads that can be dealt out to 3 "
        "processes, and one of these, got 2 key heads and process 0",
    ),
    (
        lambda: TextStream(TOKENIZER, [""]),
        "TextStream: expected stop texts with characters, got ''",
    ),
]


def test_request_that_never_fits_is_told_in_full() -> None:
    full: Any = SimpleNamespace(can_allocate=lambda _: False)
    scheduler = Scheduler(1, 1, full)
    scheduler.add(Request("a", [1, 2], SamplingParams()))

    with pytest.raises(MemoryError) as error:
        scheduler.schedule()

    assert str(error.value) == (
        "Scheduler: expected room for the 2 tokens of 'a' alone, got less; refuse such "
        "a request before it is added"
    )
