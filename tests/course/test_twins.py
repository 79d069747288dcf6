"""What a translation has in common with its English, and how Chinese is written."""
# ruff: noqa: RUF001 - punctuation of full width on purpose

import tomllib

import pytest

from tiny_llm_course.checks import chinese, twins

ENGLISH = """\
# Day 1: attention

% cited 0.5: somebody 2020

Take `softmax` of $x$, see [Day 2](week-1-day-2-rope.md): <<share:.1f>>, {eq}`eq-1`.

$$
y = x \\text{ if large}
$$ (eq-1)

```{drawing} growth
:alt: A curve.
x: layers
y: size
```

:::{question} Why is it so?
Because.
:::

:::{mistake} sum-for-mean A sum
:try: norm(1)
It is too large.
:::

```python
x = 1  # one
```

```text
for each row o
    sum = 0
    for each column i     one load
        sum = sum + max(0, q[o, i] of the row) * x
    new top = sum
```

```sh
pdm run bench --quick  # some minutes
```
"""

OWN = """\
% section day-1-attention
# 第1天：注意力

% cited 0.5: somebody 2020

对$x$求`softmax`，见[第2天](week-1-day-2-rope.md)：<<share:.1f>>，{eq}`eq-1`。

$$
y = x \\text{（较大时）}
$$ (eq-1)

```{drawing} growth
:alt: 一条曲线。
x: 层
y: 大小
```

:::{question} 为什么？
因为如此。
:::

:::{mistake} sum-for-mean 求了和
:try: norm(1)
太大了。
:::

```python
x = 1  # one
```

```text
对每一行 o
    sum = 0
    对每一列 i            装载一次
        sum = sum + max(0, 这一行的 q[o, i]) * x
    新的 top = sum
```

```sh
pdm run bench --quick  # 几分钟
```
"""


def test_a_twin_of_other_words_has_no_fault() -> None:
    assert list(twins.of_chapter(ENGLISH, OWN, "zh")) == []


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("# 第", "## 第", "headings: missing: # day-1-attention"),
        ("day-1-attention", "day-2", "headings: English has no: # day-2"),
        ("x = 1  # one", "x = 2  # one", "blocks: missing: python x = 1  # one"),
        ("sum-for-mean", "sum-for-means", "blocks: English has no: {mistake}"),
        (":try: norm(1)", ":try: norm(2)", "blocks: missing: {mistake}"),
        ("\ny: 大小", "", "blocks: missing: {drawing} growth x y"),
        ("x: 层", "x: : 层", "blocks: English has no: {drawing} growth no YAML"),
        ("<<share:.1f>>", "<<share>>", "data: 1 times missing: <<share:.1f>>"),
        (
            "(week-1-day-2-rope.md)",
            "(week-1.md)",
            "links: 1 times too often: week-1.md",
        ),
        ("% cited 0.5: somebody 2020", "", "cited numbers: 1 times missing"),
        ("(eq-1)", "", "formulas of their own: 1 times missing"),
        ("y = x", "y = 2x", "formulas of their own: 1 times missing"),
        ("$x$", "$z$", "formulas: missing: $x$"),
        ("`softmax`", "softmax", "code: missing: softmax"),
        ("{eq}`eq-1`", "{eq}`eq-2`", "roles: missing: eq eq-1"),
        ("因为如此", "因为 `softmax`如此", "no space belongs here"),
        ("为什么？", "为什么?", "punctuation of half width"),
        ("太大了", "太大了。It is far too large for all of us", "English: It is far"),
        ("一条曲线", "一条令牌曲线", "令牌: we say 词元"),
        ("    sum = 0\n", "", "blocks: missing: text"),
        ("    sum = 0", "  sum = 0", "blocks: missing: text"),
        ("    sum = 0", "    sum = 1", "blocks: missing: text"),
        ("    sum = 0", "    和 = 0", "blocks: missing: text"),
        (") * x", ") + x", "blocks: missing: text"),
        (") * x", ") * y", "blocks: missing: text"),
        ("q[o, i]", "q[i, o]", "blocks: missing: text"),
        ("max(", "最大值(", "blocks: missing: text"),
        ("对每一行 o", "for each row o", "line 32: English: for each"),
        ("装载一次", "one load", "line 32: English: one load"),
        ("装载一次", "it takes no more than one single load", "English: it takes no"),
        ("对每一行 o", "对每一行o", "line 32: a space belongs here"),
        ("装载一次", "装载一个令牌", "line 34: 令牌: we say 词元"),
        ("几分钟", "some minutes", "line 40: English: some minutes"),
        ("几分钟", "几分钟, 好", "line 40: punctuation of half width"),
        ("--quick", "", "blocks: missing: sh pdm run bench --quick"),
    ],
)
def test_what_a_twin_lacks_is_named(old: str, new: str, complaint: str) -> None:
    assert old in OWN

    found = list(twins.of_chapter(ENGLISH, OWN.replace(old, new), "zh"))

    assert [one for one in found if complaint in one]


def test_one_word_of_pseudocode_may_be_a_name() -> None:
    own = OWN.replace("这一行的 q", "row 的 q")

    assert own != OWN
    assert list(twins.of_chapter(ENGLISH, own, "zh")) == []


def test_another_order_is_named() -> None:
    question = OWN[OWN.index(":::{question}") : OWN.index(":::{mistake}")]
    moved = OWN.replace(question, "") + "\n" + question

    found = list(twins.of_chapter(ENGLISH, moved, "zh"))

    assert found == ["blocks: another order, from {question} on"]


@pytest.mark.parametrize(
    ("own", "complaint"),
    [
        ("有 {got} 个，应为 {expected} 个", None),
        ("有 {got} 个", "a: fields ['expected', 'got'], not ['got']"),
        ("有{got}个，应为 {expected} 个", None),
        ("用 RMSNorm，{got}，{expected}", None),
        ("用RMSNorm，{got}，{expected}", "a: a space belongs here: 用RMSNorm"),
        ("用 x ，{got}，{expected}", None),
        ("好 ，{got}，{expected}", "a: a space at full-width punctuation"),
        (f"{{got}}{{expected}}\n{'长' * 45}", "a: more than 88 cells"),
        (f"{{got}}{{expected}}{'长' * 45}", None),
    ],
)
def test_a_sentence_of_the_catalogue(own: str, complaint: str | None) -> None:
    english = {"a": "{got} of {expected}"}

    found = list(twins.of_catalogue(english, {"a": own}, "zh"))

    assert [one[: len(complaint or "")] for one in found] == (
        [complaint] * bool(complaint)
    )


def test_a_missing_key_is_named() -> None:
    found = list(twins.of_catalogue({"a": "x", "b": "y"}, {"a": "甲"}, "zh"))

    assert found == ["keys: missing: b"]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("**甲**，乙", None),
        ("说**“甲”**的", "bold around punctuation"),
        ("**“甲”**", None),
        ("**甲。**乙", "bold around punctuation"),
        ("它说“Once upon a time there was a brave snail”。", None),
        ("它说*Once upon a time there was a brave snail*。", None),
        ("形状是B x H x L x D x E x F x G", None),
    ],
)
def test_what_chinese_markdown_and_quotations_are(line: str, fault: str | None) -> None:
    found = list(chinese.complaints(line, in_terminal=False))

    assert [one.partition(":")[0] for one in found] == ([fault] * bool(fault))


def test_the_glossary_has_the_terms_of_the_translators() -> None:
    """At least 150 terms, and none that another one forbids."""
    text = (twins.BOOK / "zh" / "terms.toml").read_text(encoding="utf-8")
    words = tomllib.loads(text)["terms"].values()

    assert len(words) >= 150
    assert [one for word in words for one in chinese.complaints(word, False)] == []
