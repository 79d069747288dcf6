"""Log-probabilities and changed logits, as PyTorch computes them in float64."""

from collections.abc import Mapping, Sequence

import mlx.core as mx
import numpy as np
import torch

from tiny_llm_course.grading.judgement.closeness import Truth
from tiny_llm_course.grading.scenarios.architecture import Architecture, Weights
from tiny_llm_course.oracle import qwen2
from tiny_llm_course.oracle.exact import exact, float32_share, truth


def token_logprobs(logits: mx.array, tokens: Sequence[int]) -> Truth:
    """Return the log-probability of a token in each row.

    The error scale is that of the two numbers that are subtracted.
    """
    scores = exact(logits)
    rows = torch.arange(len(tokens))
    value = scores.log_softmax(-1)[rows, list(tokens)]
    scale = scores.abs()[rows, list(tokens)] + scores.logsumexp(-1).abs()
    return truth(value, scale)


def of_prompts(
    prompts: Sequence[Sequence[int]], weights: Weights, sizes: Architecture
) -> Truth:
    """Return the log-probabilities of all tokens but the first of some prompts.

    Args:
        prompts: Their ids.
        weights: Of the model.
        sizes: Of the model.
    """
    found = [_of_prompt(prompt, weights, sizes) for prompt in prompts]
    return Truth(
        np.concatenate([one.value for one in found]),
        np.concatenate([one.scale for one in found]),
    )


def _of_prompt(prompt: Sequence[int], weights: Weights, sizes: Architecture) -> Truth:
    """Return those of one prompt, judged at the scale of the logits."""
    of_logits = qwen2.model(mx.array([list(prompt)]), weights, sizes)
    scores = torch.as_tensor(of_logits.value[0, :-1])
    rows, tokens = torch.arange(len(prompt) - 1), list(prompt[1:])
    largest = np.broadcast_to(of_logits.scale, of_logits.value.shape).max(-1)
    value = scores.log_softmax(-1)[rows, tokens]
    return Truth(value.numpy(), 2 * largest[0, :-1] + np.abs(value.numpy()))


def processed(
    logits: mx.array,
    prompt: Sequence[int],
    output: Sequence[int],
    params: Mapping[str, float | Mapping[int, float]],
) -> Truth:
    """Return logits after penalties and biases, token by token.

    The error scale is what is added up.
    """
    value = exact(logits)
    scale = value.abs()
    repetition = _number(params, "repetition_penalty", 1.0)
    for token in {*prompt, *output}:
        value[token] *= 1 / repetition if value[token] > 0 else repetition
    scale = torch.maximum(scale, value.abs()) * float32_share(logits.dtype)
    for token in set(output):
        penalty = _number(params, "presence_penalty", 0.0)
        penalty += _number(params, "frequency_penalty", 0.0) * output.count(token)
        value[token] -= penalty
        scale[token] += abs(penalty) * float32_share(logits.dtype)
    bias = params.get("logit_bias", {})
    assert isinstance(bias, Mapping)
    for token, added in bias.items():
        value[token] += added
        scale[token] += abs(added) * float32_share(logits.dtype)
    return truth(value, scale + value.abs())


def _number(
    params: Mapping[str, float | Mapping[int, float]], name: str, usual: float
) -> float:
    found = params.get(name, usual)
    assert isinstance(found, float)
    return found
