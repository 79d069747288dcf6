"""What results say, in the language of the learner.

Files of results are in English, whoever has measured: programs and chapters read them.
Only the screen shows them in another language.
"""

import re

from tiny_llm_course.catalogue import has, say

_NUMBER = re.compile(r"(?:(?<![\w.])-)?\d[\d.,]*(?<![.,])")


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


def cell(value: object) -> str:
    """Return a value of a file of results as a table or a line of progress shows it."""
    text = str(value)
    # `rows_in_4_lanes` is a function, `rows in 4 lanes` says what it does.
    return text if "_" in text else worded("cells", text)


def compared(how: str) -> str:
    """Return what a promise of the benches compares, in the language of the learner."""
    ours, against, peer = how.partition(" against ")
    if against:
        return say("lab.against", ours=ours, peer=peer)
    ours, read_once, _ = how.partition(", weights and cache read once")
    return say("lab.read_once", ours=ours) if read_once else worded("targets", how)


def key_of(text: str) -> str:
    """Return the key of a text: its words, with `n` for every number."""
    words = _NUMBER.sub("n", text.lower().replace("%", "percent"))
    return re.sub(r"[^a-z]+", "_", words).strip("_")
