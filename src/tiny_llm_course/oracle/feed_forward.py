"""The MLP of Qwen2 in PyTorch operations, in float64.

`transformers` has a class for it, which takes four seconds to import: longer than all
else that the day does. tests/course/test_oracle.py proves that the two agree.
"""

import mlx.core as mx
import torch.nn.functional as F  # noqa: N812 - PyTorch's own custom

from tiny_llm_course.grading.closeness import Truth
from tiny_llm_course.oracle.exact import exact, layer_truth


def swiglu(x: mx.array, w_gate: mx.array, w_up: mx.array, w_down: mx.array) -> Truth:
    """Gate, and judge each vector on its largest entry.

    Args:
        x: N.. x L x E.
        w_gate: I x E.
        w_up: I x E.
        w_down: E x I.
    """
    inputs = exact(x)
    gate = F.silu(F.linear(inputs, exact(w_gate)))
    up = F.linear(inputs, exact(w_up))
    output = F.linear(gate * up, exact(w_down))
    return layer_truth(output, w_gate.shape[0], x.dtype)
