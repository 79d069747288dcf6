"""Building the engine and the server of a solution, on a checkpoint."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tiny_llm_course.catalogue import say
from tiny_llm_course.checkpoint import LoadedCheckpoint, load
from tiny_llm_course.errors import CourseError
from tiny_llm_course.inference.blame import SolutionError, blame
from tiny_llm_course.inference.engine import without_torch
from tiny_llm_course.inference.flash import has_flash
from tiny_llm_course.inference.loaders import fastest, prepare
from tiny_llm_course.inference.whose import choose
from tiny_llm_course.serving.watched import WatchedEngine
from tiny_llm_course.solution import Solution
from tiny_llm_course.unsolved import Unsolved
from tiny_llm_course.untrusted import visible

EMBEDDED_NAME = "tiny"
"""How clients call the model that comes with the course."""

PROMPT_TOKENS = 16
"""Tokens of prompts that a step computes beside one of each request that runs.

With more of them a long prompt is read sooner, and those who run wait longer for their
next token: `pdm run serve-bench` measures by how much.
"""

TOGETHER = (
    frozenset(
        {
            "qwen2_week2.Qwen2MultiHeadAttention",
            "qwen2_week2.Qwen2MLP",
            "qwen2_week2.Qwen2TransformerBlock",
            "qwen2_week2.Qwen2ModelWeek2",
            "qwen2_week3.Qwen2ModelWeek3",
            "qwen2_week3.run_pieces",
        }
    ),
    frozenset({"paged_kv_cache.TinyKvPagedPool", "paged_kv_cache.TinyKvPagedCache"}),
)
"""Parts that read attributes of each other, for which everybody has other names.

`run_pieces` takes a layer of the model apart, and a cache its pool.
"""

SPLIT = frozenset(
    {
        "distributed.shard_columns",
        "distributed.shard_rows",
        "distributed.split_model",
    }
)
"""What takes a model apart for several processes, by the names of its author."""

PAGE_SIZE = 16
"""Tokens in a page."""


@dataclass(frozen=True)
class Settings:
    """The options of `serve`.

    Attributes:
        solution: The solution to run, named as for `load_solution`. None is ours.
        only_mine: Whether to leave unfinished parts missing, instead of using ours.
        attempts: Whether to run parts that are begun, right or wrong.
        model: The weights, named as for `checkpoint.load`.
        api_key: What clients have to bring. None is nothing.
        max_num_seqs: How many requests run at a time.
        max_queue: How many more may wait. Whoever comes then is refused.
        max_num_batched_tokens: How many tokens a step computes. None is one of each
            request that runs, and `PROMPT_TOKENS` of a prompt.
        num_pages: How many pages of 16 tokens there are for keys and values.
        processes: How many compute together, each with a part of the model.
    """

    solution: str | None = None
    only_mine: bool = False
    attempts: bool = False
    model: str = "embedded"
    api_key: str | None = None
    max_num_seqs: int = 8
    max_queue: int = 64
    max_num_batched_tokens: int | None = None
    num_pages: int = 512
    processes: int = 1

    @property
    def budget(self) -> int:
        """How many tokens a step computes."""
        return self.max_num_batched_tokens or self.max_num_seqs + PROMPT_TOKENS


@dataclass(frozen=True)
class Served:
    """A server that is ready.

    Attributes:
        solution: Whose code runs.
        engine: The engine, and how it stands.
        app: The server.
        limits: Of its clients.
        admission: Who may come in. None where the solution has not written it yet.
        metrics: What it counts. None as well.
        model_name: How clients call the model.
    """

    solution: Solution
    engine: WatchedEngine
    app: Any
    limits: Any
    admission: Any | None
    metrics: Any | None
    model_name: str = field(default=EMBEDDED_NAME)

    async def drain(self) -> None:
        """Let no more requests in, and wait until the others have their answers."""
        if self.admission is not None:
            self.admission.drain()
        await self.app.state.engine_thread.drain()


Split = Callable[[Solution, Any, Any], Any]
"""Leaves of a model a part, and returns what runs it together with the others."""


def start(settings: Settings, split: Split | None = None) -> Served:
    """Load a checkpoint, and build on it the engine and the server of a solution.

    Args:
        settings: What is asked for.
        split: Called with the solution, its model and what runs that. None: one process
            computes all.

    Raises:
        CourseError: There is no such solution or checkpoint.
        SolutionError: The solution cannot build them, or its engine takes no step.
    """
    solution, checkpoint = chosen(settings)
    with blame(solution):
        engine = engine_of(solution, checkpoint, settings, split)
        _warm_up(solution, engine)
        watched = WatchedEngine(engine)
        limits = solution.get("limits.Limits")(api_key=settings.api_key)
        name = (
            EMBEDDED_NAME if checkpoint.is_ours else settings.model.rpartition("/")[2]
        )
        places = settings.max_num_seqs + settings.max_queue
        admission = _if_written(solution, "limits.Admission", places)
        metrics = _if_written(solution, "metrics.RequestMetrics")
        app = solution.get("server.create_app")(
            watched, limits, admission=admission, metrics=metrics, model_name=name
        )
    return Served(solution, watched, app, limits, admission, metrics, name)


def _if_written(solution: Solution, symbol: str, *arguments: object) -> Any | None:  # noqa: ANN401 - of a solution
    """Build a part of Day 7, which a server does without until it is there."""
    try:
        return solution.get(symbol)(*arguments)
    except Unsolved:
        return None


def chosen(settings: Settings) -> tuple[Solution, LoadedCheckpoint]:
    """Load the solution and the checkpoint that are asked for.

    Raises:
        CourseError: There is no such solution or checkpoint, or the model cannot be
            split among so many processes.
    """
    with_parts = (TOGETHER[0] | SPLIT, *TOGETHER[1:])
    solution = choose(
        settings.solution,
        only_mine=settings.only_mine,
        attempts=settings.attempts,
        together=TOGETHER if settings.processes == 1 else with_parts,
    )
    with without_torch():
        checkpoint = load(settings.model)
    num_heads = checkpoint.config["num_key_value_heads"]
    if num_heads % settings.processes:
        names = {"number": settings.processes, "heads": num_heads}
        raise CourseError(say("serve.heads", **names))
    return solution, checkpoint


def engine_of(
    solution: Solution,
    checkpoint: LoadedCheckpoint,
    settings: Settings,
    split: Split | None = None,
) -> Any:  # noqa: ANN401 - of a solution
    """Build the model and the engine that computes with it.

    Args:
        solution: Whose.
        checkpoint: The weights, the tokenizer and the context.
        settings: How many requests, tokens and pages there are.
        split: As for `start`.
    """
    model, run = model_of(solution, checkpoint)
    if split is not None:
        run = split(solution, model, run)
    return solution.get("engine.Engine")(
        model,
        _guarded(checkpoint),
        max_num_seqs=settings.max_num_seqs,
        max_num_batched_tokens=settings.budget,
        num_pages=settings.num_pages,
        page_size=PAGE_SIZE,
        context=checkpoint.context,
        run=run,
    )


def model_of(solution: Solution, checkpoint: LoadedCheckpoint) -> tuple[Any, Any]:
    """Build the model, with the fastest weights that the solution can use here.

    Returns:
        The model, and what computes a step with it.
    """
    runs_kernels = fastest(solution, checkpoint.model) == "kernels"
    prepare("kernels" if runs_kernels else "week2", checkpoint.model)
    build = solution.get("qwen2_week3.Qwen2ModelWeek3")
    model = build(checkpoint.model, has_flash(solution))
    return model, solution.get("qwen2_week3.run_pieces")


def _warm_up(solution: Solution, engine: Any) -> None:  # noqa: ANN401 - of a solution
    """Let an engine answer once.

    MLX computes an array when it is needed, and only on the thread that began it: what
    the model has put off, such as a table of rotations, could not be computed on the
    engine's thread any more.

    Raises:
        SolutionError: The engine ends the answer with an error.
    """
    params = solution.get("request.SamplingParams")
    engine.add_request("warm-up", [0], params(max_tokens=2, temperature=1.0, seed=0))
    while engine.has_work:
        for output in engine.step():
            if output.error:
                lines = visible(f"  {output.error}")
                raise SolutionError(say("commands.talking.error", lines=lines))


def _guarded(checkpoint: LoadedCheckpoint) -> Any:  # noqa: ANN401 - mlx_lm has no types
    """Return the tokenizer; templates of strangers run in a process of their own."""
    return checkpoint.tokenizer if checkpoint.is_ours else _Guarded(checkpoint)


class _Guarded:
    """A tokenizer with the chat template of a stranger."""

    def __init__(self, checkpoint: LoadedCheckpoint) -> None:
        self._checkpoint = checkpoint

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - mlx_lm has no types
        return getattr(self._checkpoint.tokenizer, name)

    def apply_chat_template(
        self, conversation: list[dict[str, str]], tokenize: bool = True, **_: object
    ) -> str | list[int]:
        """Write a chat as one text, or encode that."""
        text = self._checkpoint.chat_prompt(conversation)
        return self._checkpoint.tokenizer.encode(text) if tokenize else text
