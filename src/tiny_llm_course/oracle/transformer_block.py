"""A layer of the parts in `grading.scenarios.parts`, computed by PyTorch in float64."""

import mlx.core as mx
import torch
import torch.nn.functional as F  # noqa: N812 - PyTorch's own custom

from tiny_llm_course.grading.judgement.closeness import Truth
from tiny_llm_course.grading.scenarios.parts import MLP, Attention, Norm, Parts
from tiny_llm_course.oracle.exact import exact, layer_truth


def pre_norm(x: mx.array, parts: Parts) -> Truth:
    """Compute a pre-norm block. The error scale of a vector is its largest entry."""
    attention, mlp, norm1, norm2 = parts
    start = exact(x)
    h = start + _attend(attention, _rescale(norm1, start))
    y = h + _transform(mlp, _rescale(norm2, h))
    return layer_truth(y, x.shape[-1], x.dtype)


def post_norm(x: mx.array, parts: Parts) -> Truth:
    """Compute a post-norm block. The error scale of a vector is its largest entry."""
    attention, mlp, norm1, norm2 = parts
    start = exact(x)
    h = _rescale(norm1, start + _attend(attention, start))
    y = _rescale(norm2, h + _transform(mlp, h))
    return layer_truth(y, x.shape[-1], x.dtype)


def _attend(part: Attention, x: torch.Tensor) -> torch.Tensor:
    """Average the tokens up to each one, and reverse the channels."""
    shares = torch.ones(x.shape[-2], x.shape[-2], dtype=torch.float64).tril()
    means = shares / shares.sum(dim=-1, keepdim=True) @ x
    return means.flip(-1) * exact(part.weight)


def _transform(part: MLP, x: torch.Tensor) -> torch.Tensor:
    """Cut off negative channels, and weight the others."""
    return F.relu(x) * exact(part.weight)


def _rescale(part: Norm, x: torch.Tensor) -> torch.Tensor:
    return F.rms_norm(x, x.shape[-1:], exact(part.weight), eps=part.eps)
