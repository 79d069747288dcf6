"""What goes over the wire between the real client and the reference's server."""

import functools
import json
from typing import Any

from tiny_llm_course.grading.scenarios.served import HELLO, Site, served
from tiny_llm_course.solution import load_solution

ASKED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}),
    "usage": ({"stream_options": {"include_usage": True}}, {}),
    "length": ({"max_tokens": 3}, {}),
    "error": ({}, {"fails_at": 2}),
}
"""What a client asks for besides a stream, and what the engine behind it does."""

WRONG: list[dict[str, Any]] = [
    {"model": "gpt"},
    {"n": 2},
    {"temperature": "hot"},
    {"messages": [{"role": "wizard", "content": "Hi"}]},
    {"messages": [{"role": "user", "content": "x" * 99}]},
]


@functools.cache
def streams() -> dict[str, list[dict[str, str]]]:
    """Return the events of each stream: what stands in them, and the text so far."""
    return {name: _told(*asked) for name, asked in ASKED.items()}


def _told(more: dict[str, Any], engine: dict[str, Any]) -> list[dict[str, str]]:
    asked = {"model": "tiny", "messages": HELLO, "stream": True, **more}

    def drive(site: Site) -> str:
        return site.http("POST", "/v1/chat/completions", json=asked).text

    sent: str = served(drive, "", engine=engine).run(load_solution("ref"))
    text, events = "", list[dict[str, str]]()
    for event in sent.split("\n\n")[:-1]:
        events.append(_event(event.removeprefix("data: "), text))
        text = events[-1]["text"]
    return events


def _event(said: str, text: str) -> dict[str, str]:
    """Return what stands in one event."""
    nothing = {"kind": "done", "content": "", "role": "", "reason": "", "usage": ""}
    if said == "[DONE]":
        return {**nothing, "text": text}
    chunk = json.loads(said)
    if "error" in chunk:
        told = chunk["error"]["message"]
        return {**nothing, "kind": "error", "reason": told, "text": text}
    if not chunk["choices"]:
        used = f"{chunk['usage']['prompt_tokens']} + "
        used += f"{chunk['usage']['completion_tokens']}"
        return {**nothing, "kind": "usage", "usage": used, "text": text}
    (choice,) = chunk["choices"]
    content = choice["delta"]["content"]
    known = {"role": choice["delta"].get("role", ""), "content": content}
    reason = choice["finish_reason"] or ""
    kind = "end" if reason else "text"
    return {**nothing, **known, "kind": kind, "reason": reason, "text": text + content}


def refusals() -> list[list[str]]:
    """Return what the client raises for each wrong request."""
    ours = load_solution("ref")
    rows: list[list[str]] = []
    for more in WRONG:

        def drive(site: Site, more: dict[str, Any] = more) -> dict[str, Any]:
            return site.refused(lambda: site.chat(**more))

        got = served(drive, "").run(ours)
        ((name, value),) = more.items()
        shown = f"{name}={value!r}"
        short = shown if len(shown) < 40 else f"{shown[:36]} ..."
        rows.append([f"`{short}`", f"`{got['error']}`", f"`{got['code']}`"])
    return rows
