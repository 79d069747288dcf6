"""What results say, in the language of the learner.

Files of results are in English, whoever has measured: programs and chapters read them.
Only the screen shows them in another language.
"""

import re

from tiny_llm_course.catalogue import has, say

_NUMBER = re.compile(r"\d[\d.,]*(?<![.,])")


def worded(kind: str, text: str) -> str:
    """Return a text of a file of results as the catalogue has it.

    Args:
        kind: The table of `lab.toml`.
        text: In English. Its numbers are not part of the key, and stand where the
            catalogue says `{n0}`, `{n1}` and so on.

    Returns:
        The text itself, if the catalogue does not have it: a name, for example.
    """
    key = f"lab.{kind}.{key_of(text)}"
    if not has(key):
        return text
    values = {f"n{at}": found for at, found in enumerate(_NUMBER.findall(text))}
    return say(key, **values)


def key_of(text: str) -> str:
    """Return the key of a text: its words, with `n` for every number."""
    words = _NUMBER.sub("n", text.lower())
    return re.sub(r"[^a-z]+", "_", words).strip("_")
