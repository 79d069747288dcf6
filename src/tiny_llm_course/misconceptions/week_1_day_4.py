"""Day 4: what goes wrong in RMSNorm, SiLU and the MLP."""

import mlx.core as mx

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.basics import linear, silu
from tiny_llm_ref.layer_norm import RMSNorm
from tiny_llm_ref.qwen2_week1 import Qwen2MLP

RMS_NORM = "layer_norm.RMSNorm"
SILU = "basics.silu"
MLP = "qwen2_week1.Qwen2MLP"


@specimen(1, symbol=RMS_NORM)
class eps_outside_the_root(RMSNorm):
    def __call__(self, x: mx.array) -> mx.array:
        wide = x.astype(mx.float32)
        root = mx.sqrt(mx.mean(wide * wide, axis=-1, keepdims=True))
        return (wide / (root + self.eps) * self.weight).astype(x.dtype)


@specimen(2, symbol=MLP)
class silu_on_the_up_branch(Qwen2MLP):
    def __call__(self, x: mx.array) -> mx.array:
        up = silu(linear(x, self.w_up))
        return linear(linear(x, self.w_gate) * up, self.w_down)
