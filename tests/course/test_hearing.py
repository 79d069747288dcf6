"""What the book lets the model say is what a learner hears after the same change."""

from pathlib import Path

import mlx.core as mx
import pytest
from click.testing import CliRunner

from tiny_llm_course.book.checkouts import lay_out
from tiny_llm_course.book.hearing import NOTHING, Change, heard
from tiny_llm_course.commands.main import command
from tiny_llm_course.inference.engine import Settings
from tiny_llm_course.records.replacing import StaleRecordError

DAY_1, DAY_3 = "week-1-day-1-attention", "week-1-day-3-grouped-query-attention"
FEW = Settings(temp=0, max_tokens=8)

REVERSED = Change("positional_encoding", "a * cos - b * sin", "a * cos + b * sin")
AXIS = Change("attention", "softmax(scores, axis=-1) @", "softmax(scores, axis=-2) @")
KEYS = Change(
    "qwen2_week1",
    "self.rope(key).swapaxes(1, 2),",
    "self.rope(key).swapaxes(1, 2)[:, ::-1],",
)


@pytest.mark.skipif(
    mx.default_device() != mx.cpu, reason="a GPU has weights of 16 bits, the book of 32"
)
@pytest.mark.parametrize(("page", "change"), [(DAY_1, AXIS), (DAY_3, KEYS)])
def test_a_learner_hears_the_same(
    page: str, change: Change, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On both days, whose models differ: from Day 3 on there is no cache."""
    checkout = lay_out(tmp_path, page, "so-far")
    path = checkout.starter / f"{change.file}.py"
    text = path.read_text(encoding="utf-8")
    assert change.old in text
    path.write_text(text.replace(change.old, change.new), encoding="utf-8")
    monkeypatch.syspath_prepend(checkout.root / "src")

    learner = CliRunner().invoke(
        command,
        ["--try", "--temp", "0", "--max-tokens", "8"],
        env={"TINY_LLM_HOME": str(checkout.root)},
    )

    answers = heard(page, {"changed": change}, FEW)
    assert answers["changed"] == " ".join(learner.stdout.split())
    assert answers["changed"] != answers["right"]


def test_what_a_day_does_not_have_yet_cannot_be_broken() -> None:
    """On Day 1 the rotation is ours."""
    answers = heard(DAY_1, {"rotation": REVERSED}, FEW)

    assert answers["rotation"] == answers["right"]


def test_a_change_that_no_longer_fits_our_solution_is_an_error() -> None:
    with pytest.raises(StaleRecordError, match="expected 'no such text' 1 times"):
        heard(DAY_1, {"stale": Change("basics", "no such text", "")}, FEW)


def test_silence_and_bars_stand_in_a_table() -> None:
    """The end token at once, and special tokens that are printed."""
    says = "print({!r}); model(mx.array([[1]])); return ''"
    start = "ids = list(tokenizer.encode(prompt))\n    if not ids:\n        raise Va"
    silent, bars = (
        Change("generate", start, f"{says.format(text)}\n    {start}")
        for text in ("", "<|im_end|>")
    )

    answers = heard("week-1-day-6-generating", {"a": silent, "b": bars}, FEW)

    assert (answers["a"], answers["b"]) == (NOTHING, r"<\|im_end\|>")
