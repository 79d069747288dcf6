"""Renders one chat template, as a program in a process that may fail or be killed.

`templates.py` starts it. It reads JSON from stdin: the template, its variables, and how
many bytes of memory it may use. It prints the rendered text; on failure it prints the
error and exits with 1.
"""

import contextlib
import json
import resource
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NoReturn

from jinja2 import TemplateError, nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

MAX_CHARACTERS = 4 * 2**20
"""Eight times what fits the context of the longest Qwen2."""


class PublicNamespace(Namespace):
    """The namespace of a template's variables, without access to Python's internals."""

    def __init__(self, *given: Mapping[str, object], **more: object) -> None:
        super().__init__()
        for name, value in dict(*given, **more).items():
            self[name] = value

    def __setitem__(self, name: str, value: object) -> None:
        if name.startswith("_"):
            raise SecurityError(f"{name!r} is unsafe as a name in a namespace")
        super().__setitem__(name, value)


class Generation(Extension):
    """The block that says which part of a text is the model's; here it is just text."""

    tags = {"generation"}  # noqa: RUF012 - as jinja2 has it

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """Parse the content of the block."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def render(template: str, values: Mapping[str, object]) -> str:
    """Render a chat template as `transformers` does, in the same sandbox."""
    sandbox = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
    )
    sandbox.filters["tojson"] = _to_json
    names = {
        "raise_exception": _raise_exception,
        "strftime_now": _now,
        "namespace": PublicNamespace,
    }
    return sandbox.from_string(template, globals=names).render(values)


def _to_json(value: object, **options: Any) -> str:  # noqa: ANN401
    """Write JSON without escaping what HTML would want escaped."""
    options.setdefault("ensure_ascii", False)
    return json.dumps(value, **options)


def _now(form: str) -> str:
    return datetime.now().astimezone().strftime(form)


def _raise_exception(message: str) -> NoReturn:
    """Let a template refuse a conversation."""
    raise TemplateError(message)


def main() -> int:
    """Render the template from stdin."""
    given = json.load(sys.stdin)
    # macOS accepts the limit but does not enforce it.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (given["max_bytes"],) * 2)
    try:
        text = render(given["template"], given["values"])
        if len(text) > MAX_CHARACTERS:
            raise TemplateError(f"{len(text)} characters are too many")
        answer, code = text.encode(), 0
    except MemoryError:
        answer, code = b"takes too much memory", 1
    except Exception as error:  # noqa: BLE001 - a template can raise anything
        answer, code = str(error).encode(errors="backslashreplace"), 1
    sys.stdout.buffer.write(answer)
    return code


if __name__ == "__main__":
    sys.exit(main())
