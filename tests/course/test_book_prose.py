"""What the check of the book finds in sentences, and what it accepts."""

import pytest

from tiny_llm_course.book.prose import misspelt, typed_in


def words(text: str) -> list[str]:
    return [complaint.partition(":")[0] for _, complaint in misspelt(text)]


def numbers(text: str) -> list[str]:
    return [complaint.partition(":")[0] for _, complaint in typed_in(text)]


def test_a_misspelt_word_is_found_with_its_line() -> None:
    found = list(misspelt("Right.\n\nThis is teh end.\n"))

    assert [line for line, _ in found] == [3]
    assert words("This is teh end.") == ["teh"]


def test_the_book_is_in_british_english() -> None:
    assert words("We normalise the colour.") == []
    assert words("We normalize the color.") == ["normalize", "color"]


@pytest.mark.parametrize(
    "text",
    [
        "The name `rsqrtt` is code.",
        "```python\nrsqrtt = 1\n```",
        "See https://example.org/rsqrtt and [it](rsqrtt.md).",
        r"So $\operatorname{rsqrtt}(x)$ it is.",
        "$$\nrsqrtt\n$$ (eq-rsqrtt)",
        "Linked: {source}`basics.py#rsqrtt`.",
        "% rsqrtt is in a comment",
        "The value is <<rsqrtt:.2f>>.",
    ],
)
def test_what_is_not_prose_is_not_spelt(text: str) -> None:
    assert words(text) == []


def test_prose_inside_a_directive_is_spelt() -> None:
    assert words(":::{mistakes} rsqrtt\nThis is teh end.\n:::") == ["teh"]
    assert words("```{drawing} gate\n:alt: Teh gate.\nTeh end.\n```") == ["Teh", "Teh"]


def test_prose_between_blocks_is_spelt() -> None:
    """The end of one block is not the beginning of another."""
    text = "```{drawing} a\nIt.\n```\n\nTeh.\n\n```pycon\n>>> rsqrtt\n```\n\nTeh.\n"

    assert words(text) == ["Teh", "Teh"]


def test_labels_of_an_interactive_figure_are_spelt() -> None:
    text = "```{interactive} gate\n:alt: A gate.\nrsqrtt: Teh label\n```"

    assert words(text) == ["Teh"]


def test_labels_of_a_drawing_are_spelt() -> None:
    text = '```{drawing} gate\n:alt: A gate.\nrsqrtt: "two\\nlinse"\n---\nIt.\n```'

    assert words(text) == ["linse"]


def test_a_decimal_typed_in_by_hand_is_found() -> None:
    assert numbers("It is 3.14, or 12 % more.") == ["3.14", "12"]
    assert numbers(r"It is $\pi = 3.14$.") == ["3.14"]


@pytest.mark.parametrize(
    "measured", ["44 GB/s", "50 µs", "120 ms", "3 s", "64 KB", "349 MB", "812 tokens/s"]
)
def test_a_whole_number_with_a_unit_is_no_less_measured(measured: str) -> None:
    number, _, _ = measured.partition(" ")

    assert numbers(f"Here it is {measured} or so.") == [number]
    assert numbers(f"% cited {number}: a paper\nIt is {measured}.") == []


@pytest.mark.parametrize(
    "counted", ["24 layers", "4 bytes", "Day 4 shows", "0, 1 and 2"]
)
def test_what_is_counted_or_defined_may_be_typed(counted: str) -> None:
    assert numbers(f"It has {counted} here.") == []


@pytest.mark.parametrize(
    "text",
    [
        "It is <<pi:.2f>>.",
        "There are 2 of them, and 14 heads.",
        "See arXiv:1910.07467, section 2.2.",
        "Python 3.11 to 3.14 will do.",
        "`0.5` is code.",
        "Qwen2-0.5B and the 1.5B model are names, and so is Qwen2.5.",
        "% cited 0.044715: Hendrycks and Gimpel 2016\nThe constant is 0.044715.",
    ],
)
def test_a_number_with_a_source_passes(text: str) -> None:
    assert numbers(text) == []
