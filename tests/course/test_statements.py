"""Mistakes composed of changes to loops, methods and results."""

import pytest

from tiny_llm_course.composed_mistakes.mistakes import composed
from tiny_llm_course.syllabus import Address

GENERATING, EMBEDDING, MODEL = Address(1, 6, 1), Address(1, 5, 2), Address(1, 5, 3)


@pytest.mark.parametrize(
    ("task", "says"),
    [
        (GENERATING, "`finalize` is inside the loop, and belongs after it."),
        (GENERATING, "`append` of the ids comes too late in the loop"),
        (GENERATING, "`print` of `last_segment` is after the loop"),
        (EMBEDDING, "The method `as_linear` is missing."),
        (EMBEDDING, "Columns of `weight` are looked up, where its rows are due."),
        (EMBEDDING, "`argmax` is applied to the result"),
        (EMBEDDING, "An input with exactly 3 axes is expected"),
        (MODEL, "The weight of `q_proj` is read as it is stored."),
        (MODEL, "`num_attention_heads` is always 14, as in one model."),
    ],
)
def test_a_statement_that_is_elsewhere_has_a_sentence(task: Address, says: str) -> None:
    assert any(one.says.startswith(says) for one in composed(task))
