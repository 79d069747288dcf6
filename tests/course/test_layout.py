"""Text is measured in the cells of a terminal, where a Chinese character takes two."""
# ruff: noqa: RUF001 - punctuation of full width on purpose

import textwrap

import pytest
from rich.cells import cell_len

from tiny_llm_course.layout import column, fitted, pad, unfolded, widest, wrapped

ENGLISH = (
    "Repeat the well-known key/value heads --only once, e.g. `mx.repeat(key, 2)`: a "
    "copy is made of 32,768 tokens; long-lived names-of-parts stay (or not) together."
)
CHINESE = "均方根归一化，把每个向量缩放到单位均方根。然后乘以学到的增益！"


@pytest.mark.parametrize("width", range(16, 90))
def test_english_is_folded_as_everywhere_in_python(width: int) -> None:
    assert list(wrapped(ENGLISH, width)) == textwrap.wrap(ENGLISH, width)


@pytest.mark.parametrize("width", range(6, 40))
def test_text_without_spaces_is_folded_within_the_width(width: int) -> None:
    lines = list(wrapped(CHINESE, width))

    assert "".join(lines) == CHINESE
    assert all(cell_len(line) <= width for line in lines)
    assert not any(line[0] in "，。！" for line in lines)


def test_columns_are_padded_to_the_same_cells() -> None:
    names = ["RMSNorm", "均方根", "SwiGLU 层"]

    padded = [pad(name, widest(names)) for name in names]

    assert {cell_len(one) for one in padded} == {9}


def test_a_line_that_is_too_long_is_folded_below_its_own_beginning() -> None:
    text = "short\n\n    y = first, second, third\nlast one"

    assert fitted(text, 16) == (
        "short\n\n    y = first,\n    second,\n    third\nlast one"
    )


def test_text_that_goes_to_a_file_is_not_folded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)

    assert fitted("word " * 100) == "word " * 100


@pytest.mark.parametrize(("terminal", "column_width"), [(120, 44), (80, 44), (60, 18)])
def test_a_column_makes_room_in_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, terminal: int, column_width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(terminal))

    assert column(["a" * 44, "b"], beside=42) == column_width


def test_text_is_folded_to_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")

    assert max(map(len, fitted("word " * 100).splitlines())) <= 40


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("one\n  two  three\n", "one two three"),
        ("与别的\n轮流运行", "与别的轮流运行"),
        ("一句。\nCtrl-C 结束", "一句。Ctrl-C 结束"),
        ("看\n（见上）", "看（见上）"),
        ("用 float32\n（默认）", "用 float32（默认）"),
        ("用 float32\n求和", "用 float32 求和"),
        ("输入\nCtrl-C", "输入 Ctrl-C"),
    ],
)
def test_a_paragraph_becomes_one_line(text: str, line: str) -> None:
    assert unfolded(text) == line


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("你的（tiny_llm）", 6, ["你的", "（tiny_llm）"]),
        ("再来（429），好", 10, ["再来", "（429），", "好"]),
        ("页  [默认：8]", 6, ["页", "[默", "认：8]"]),
    ],
)
def test_no_line_ends_or_begins_with_the_wrong_bracket(
    text: str, width: int, lines: list[str]
) -> None:
    assert list(wrapped(text, width)) == lines


def test_chinese_lines_that_are_too_long_are_folded_together() -> None:
    text = "先把每个数平方再求均值，\n然后加上那个很小的数。\n短。\n另一段。"

    assert fitted(text, 20) == (
        "先把每个数平方再求均\n值，然后加上那个很小\n的数。短。\n另一段。"
    )


def test_code_is_not_joined_with_what_stands_beside_it() -> None:
    text = "先平方再求均值，然后：\nx = a  # 均值乘以权重\n  还有：乘以学到的增益"

    lines = fitted(text, 20).split("\n")

    assert "x = a  # 均值乘以权" in lines
    assert "  还有：乘以学到的增" in lines
