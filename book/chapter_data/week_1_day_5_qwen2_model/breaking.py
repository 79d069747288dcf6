"""The model's story, when the model is changed in one place."""

from tiny_llm_course.book.hearing import Change, heard

PAGE = "week-1-day-5-qwen2-model"

CHANGES = {
    "without_the_first": Change(
        "qwen2_week1", "for layer in self.layers:", "for layer in self.layers[1:]:"
    ),
    "without_the_last": Change(
        "qwen2_week1", "for layer in self.layers:", "for layer in self.layers[:-1]:"
    ),
    "without_the_last_norm": Change("qwen2_week1", "x = self.norm(x)", "x = x"),
}


def told() -> dict[str, str]:
    """Return the stories, by the name of the change."""
    return heard(PAGE, CHANGES)
