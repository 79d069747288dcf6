"""`transformers`: Qwen2 in PyTorch, with dense weights."""

import os

import torch
from transformers import DynamicCache, Qwen2Config, Qwen2ForCausalLM

from tiny_llm_course.checkpoint.names import EMBEDDED
from tiny_llm_lab.bench.engines import Step, Stored
from tiny_llm_lab.bench.models import EMBEDDED_MODEL, config_of
from tiny_llm_lab.bench.tokens import draw


def build(model: str, solution: str, option: str) -> "TransformersEngine":
    """Build the model of `transformers` in the dtype that `option` names."""
    del solution
    return TransformersEngine(model, option)


class TransformersEngine:
    """The model of `transformers`, with its own cache.

    Args:
        model: The model's weights.
        dtype: Theirs, and that of keys and values.
    """

    def __init__(self, model: str, dtype: str) -> None:
        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
        torch.manual_seed(0)
        self._dtype: torch.dtype = getattr(torch, dtype)
        if model == EMBEDDED_MODEL:
            network = Qwen2ForCausalLM.from_pretrained(EMBEDDED, dtype=self._dtype)
        else:
            config = Qwen2Config.from_dict(config_of(model))
            network = Qwen2ForCausalLM(config)
            torch.nn.Module.to(network, self._dtype)
        # The default for Qwen2, and its fastest on a CPU.
        network.set_attn_implementation("sdpa")
        self._model = network.eval()
        self.stored = Stored(dtype, dtype)

    def prefill(self, num_tokens: int) -> Step:
        """Get ready to read a prompt. The head is applied to the last token only."""
        return self._step(num_tokens, self._filled(0))

    def generate(self, context: int) -> Step:
        """Prepare to run one token through the model, then the one after that."""
        return self._step(1, self._filled(context - 1))

    def _step(self, num_tokens: int, cache: DynamicCache) -> Step:
        """Make a step that takes in tokens and finds the next one."""
        ids = torch.tensor([draw(num_tokens, self._model.config.vocab_size)])

        @torch.inference_mode()
        def step() -> None:
            output = self._model(
                input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=1
            )
            output.logits[0, -1].argmax().item()

        return step

    def _filled(self, num_tokens: int) -> DynamicCache:
        """Make a cache that holds that many tokens, with arbitrary values."""
        config = self._model.config
        cache = DynamicCache(config=config)
        if num_tokens:
            head_dim = config.hidden_size // config.num_attention_heads
            num_heads = config.num_key_value_heads or config.num_attention_heads
            seen = torch.randn(1, num_heads, num_tokens, head_dim, dtype=self._dtype)
            for layer in range(config.num_hidden_layers):
                cache.update(seen, seen, layer)
        return cache
