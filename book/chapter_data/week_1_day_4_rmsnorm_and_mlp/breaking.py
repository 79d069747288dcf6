"""The model's story, when a norm or the MLP is changed in one place."""

from tiny_llm_course.book.hearing import Change, heard

PAGE = "week-1-day-4-rmsnorm-and-mlp"

CHANGES = {
    "gain_forgotten": Change(
        "layer_norm", "unit * self.weight.astype(mx.float32)", "unit"
    ),
    "mean_subtracted": Change(
        "layer_norm",
        "wide = x.astype(mx.float32)",
        "wide = x.astype(mx.float32) - mx.mean(x, axis=-1, keepdims=True)",
    ),
    "branches_exchanged": Change(
        "qwen2_week1",
        "gate * linear(x, self.w_up)",
        "linear(x, self.w_gate) * silu(linear(x, self.w_up))",
    ),
}


def told() -> dict[str, str]:
    """Return the stories, by the name of the change."""
    return heard(PAGE, CHANGES)
