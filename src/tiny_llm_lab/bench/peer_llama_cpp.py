"""llama.cpp, if it is installed: the same sizes, with random weights."""

import os
from pathlib import Path
from typing import Any

from tiny_llm_lab.bench.engines import MissingError, Step, Stored
from tiny_llm_lab.bench.models import config_of
from tiny_llm_lab.bench.tokens import draw

INSTALL = "pdm install -L pdm.llama.lock"
FILES = Path("runs/bench/gguf")


def build(model: str, solution: str, option: str) -> "LlamaCppEngine":
    """Build llama.cpp's model in the format that `option` names.

    Raises:
        MissingError: llama.cpp is not installed.
    """
    del solution
    try:
        import gguf  # noqa: F401 # pyright: ignore
        import llama_cpp  # noqa: F401 # pyright: ignore
    except ImportError as error:
        message = f"not installed: `{INSTALL}` builds it, in about ten minutes"
        raise MissingError(message) from error
    from tiny_llm_lab.bench.gguf_files import write

    return LlamaCppEngine(model, write(FILES, config_of(model), option), option)


class LlamaCppEngine:
    """A model of llama.cpp, with its own cache.

    Args:
        model: The model whose sizes are used.
        path: The GGUF file.
        quantised: Its format, such as "q4_0".
    """

    def __init__(self, model: str, path: Path, quantised: str) -> None:
        from llama_cpp import Llama  # pyright: ignore

        config = config_of(model)
        threads = int(os.environ.get("OMP_NUM_THREADS", "2"))
        self._vocab_size: int = config["vocab_size"]
        self._llama: Any = Llama(
            str(path),
            n_ctx=min(2048, config["max_position_embeddings"]),
            n_threads=threads,
            n_threads_batch=threads,
            n_batch=512,
            verbose=False,
        )
        # Its keys and values are float16. Its table has more bits than the rest.
        self.stored = Stored(quantised, "float16", weight_bytes=path.stat().st_size)
        self._num_filled = 0

    def prefill(self, num_tokens: int) -> Step:
        """Prepare to read a prompt."""
        ids = draw(num_tokens, self._vocab_size)
        self._llama.reset()
        self._num_filled = 0
        return lambda: self._llama.eval(ids)

    def generate(self, context: int) -> Step:
        """Prepare to run one token through the model, then the one after that.

        `eval` drops everything after the first `n_tokens`, so one cache serves many
        steps.
        """
        if self._num_filled != context - 1:
            self._llama.reset()
            self._llama.eval(draw(context - 1, self._vocab_size))
            self._num_filled = context - 1
        self._llama.n_tokens = context - 1
        return lambda: self._llama.eval([5])
