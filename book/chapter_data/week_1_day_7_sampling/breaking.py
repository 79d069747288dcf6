"""The model's story, when the sampler is changed in one place."""

from tiny_llm_course.book.hearing import Change, heard
from tiny_llm_course.inference.engine import Settings

PAGE = "week-1-day-7-sampling"

CHANGES = {
    "multiplied": Change("sampler", "kept / temp", "kept * temp"),
    "same_seed": Change(
        "sampler",
        "return mx.random.categorical(kept / temp)",
        "mx.random.seed(0)\n        return mx.random.categorical(kept / temp)",
    ),
    "tail": Change("sampler", "before < top_p", "before >= top_p"),
}


def told() -> dict[str, dict[str, str]]:
    """Return the stories by the options, and by the name of the change."""
    hot = {"multiplied": CHANGES["multiplied"]}
    return {
        "seed_1": heard(PAGE, CHANGES, Settings(max_tokens=14, seed=1)),
        "seed_2": heard(PAGE, CHANGES, Settings(max_tokens=14, seed=2)),
        "hot": heard(PAGE, hot, Settings(max_tokens=14, seed=1, temp=2, top_p=1)),
    }
