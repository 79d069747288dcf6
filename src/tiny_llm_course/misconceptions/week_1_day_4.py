"""Day 4: what goes wrong in RMSNorm, SiLU and the MLP."""

import mlx.core as mx

from tiny_llm_course.misconceptions.registry import misconception
from tiny_llm_ref.basics import linear, silu
from tiny_llm_ref.layer_norm import RMSNorm
from tiny_llm_ref.qwen2_week1 import Qwen2MLP

RMS_NORM = "layer_norm.RMSNorm"
SILU = "basics.silu"
MLP = "qwen2_week1.Qwen2MLP"


@misconception(
    task=1,
    symbol=RMS_NORM,
    says="eps is added to the root instead of the mean square. Small rows come out too "
    "large: take the root of (mean square + eps).",
)
class EpsOutsideTheRoot(RMSNorm):
    def __call__(self, x: mx.array) -> mx.array:
        wide = x.astype(mx.float32)
        root = mx.sqrt(mx.mean(wide * wide, axis=-1, keepdims=True))
        return (wide / (root + self.eps) * self.weight).astype(x.dtype)


@misconception(
    task=2,
    symbol=MLP,
    says="gate and up are swapped: the SiLU is on the branch of w_up. It belongs on "
    "the branch of w_gate, and the branch of w_up goes in as it is.",
)
class SiluOnTheUpBranch(Qwen2MLP):
    def __call__(self, x: mx.array) -> mx.array:
        up = silu(linear(x, self.w_up))
        return linear(linear(x, self.w_gate) * up, self.w_down)
