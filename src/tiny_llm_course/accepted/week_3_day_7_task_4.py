"""Day 7, task 4: other right ways to let a small model propose."""

from typing import Any

import mlx.core as mx
import numpy as np

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.kv_cache import TinyKvFullCache

LOOP = "generate.speculative_generate"


@specimen(4, symbol=LOOP)
def full_caches_moved_back(
    draft_model: Any,  # noqa: ANN401
    model: Any,  # noqa: ANN401
    draft_tokenizer: Any,  # noqa: ANN401
    tokenizer: Any,  # noqa: ANN401
    prompt: str,
    proposal_length: int = 4,
) -> str:
    """One loop, with the caches of Week 2: places after `offset` are written over."""
    del draft_tokenizer
    ids = list(tokenizer.encode(prompt))
    num_prompt = len(ids)
    models = (draft_model, model)
    caches = [
        [TinyKvFullCache() for _ in range(one.num_hidden_layers)] for one in models
    ]

    def likeliest(which: int, text: list[int]) -> list[int]:
        offset = caches[which][0].offset
        logits = models[which](mx.array([text[offset:]]), offset, caches[which])
        return np.array(mx.argmax(logits[0], axis=-1)).tolist()

    while not set(ids[num_prompt:]) & set(tokenizer.eos_token_ids):
        text = list(ids)
        for _ in range(proposal_length):
            text.append(likeliest(0, text)[-1])
        own = likeliest(1, text)[-proposal_length - 1 :]
        for place, token in enumerate(own):
            ids.append(token)
            if text[len(ids) - 1 : len(ids)] != [token] or place == proposal_length:
                break
        for of_model in caches:
            for cache in of_model:
                cache.offset = min(cache.offset, len(ids) - 1)
    ends = [place for place, one in enumerate(ids) if one in tokenizer.eos_token_ids]
    answer = ids[num_prompt : next(one for one in ends if one >= num_prompt)]
    detokenizer = tokenizer.detokenizer
    detokenizer.reset()
    for token in answer:
        detokenizer.add_token(token)
    detokenizer.finalize()
    print(detokenizer.text)
    return detokenizer.text
