"""The fields of a body: each is taken once, and refused by name if it is wrong."""

import json
import re
from typing import Any, NoReturn, TypeGuard

NEUTRAL: dict[str, object] = {
    "n": 1,
    "best_of": 1,
    "store": False,
    "response_format": {"type": "text"},
    "tools": [],
    "tool_choice": "none",
    "service_tier": "auto",
}
"""Fields of the OpenAI API that this server does not have, with the value that asks for
nothing. That one is accepted, as `null` is, and any other refused.
"""

_FOLDERS = re.compile(
    r"(?<!\w)(?:[A-Za-z]:)?(?:"
    r"(?<=['\"])[\\/][^'\"\n]*[\\/]"  # in quotes, where blanks may be
    r"|[\\/](?:[^\s\\/'\":]+[\\/])+)"
)
"""Where a file is, up to its name."""


class RefusedError(ValueError):
    """Something that a client does not get, and why.

    Attributes:
        status: Of the answer in HTTP.
        code: The reason, in a word for programs.
        param: The field of the body that is to blame. None if it is no single one.
        retry_after_s: When it is worth another try. None if the same fails again.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int,
        code: str,
        param: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.param = status, code, param
        self.retry_after_s = retry_after_s


class BadRequestError(RefusedError):
    """What a client asks for cannot be meant: its own mistake, by default a 400."""

    def __init__(
        self,
        message: str,
        *,
        param: str | None = None,
        code: str = "invalid_value",
        status: int = 400,
    ) -> None:
        super().__init__(message, status=status, code=code, param=param)


class Fields:
    """The fields of a body, each taken once: what nobody takes is refused.

    Every method but `take` raises a `BadRequestError` that names the field.

    Args:
        fields: By name. It is left as it is.
    """

    def __init__(self, fields: dict[str, Any]) -> None:
        self._left = dict(fields)

    def take(self, name: str) -> Any:  # noqa: ANN401 - of JSON
        """Return the value of a field, or None where there is none."""
        return self._left.pop(name, None)

    def number(self, name: str, default: float, low: float, high: float) -> float:
        """Return a number in a range, in which neither NaN nor infinity is."""
        value = self.take(name)
        if value is None:
            return default
        if not is_number(value) or not low <= value <= high:
            refuse(name, f"a number from {low:g} to {high:g}", value)
        return float(value)

    def whole(self, name: str, low: int, high: int = 2**63 - 1) -> int | None:
        """Return a whole number in a range, or None where there is none."""
        value = self.take(name)
        if value is not None and (not is_whole(value) or not low <= value <= high):
            refuse(name, f"a whole number from {low} to {high}", value)
        return value

    def flag(self, name: str) -> bool:
        """Return a truth value, false where there is none."""
        value = self.take(name)
        if value is not None and not isinstance(value, bool):
            refuse(name, "true or false", value)
        return bool(value)

    def refuse_rest(self, where: str = "") -> None:
        """Refuse what nobody has taken, unless it asks for nothing.

        Args:
            where: What stands before the names, if the fields are part of another.
        """
        for name, value in self._left.items():
            if value is None or (name in NEUTRAL and value == NEUTRAL[name]):
                continue
            raise BadRequestError(
                f"{shown(where + name)}: this server does not have it; leave it out",
                param=(where + name)[:64],
                code="unsupported_parameter",
            )


def is_number(value: object) -> TypeGuard[float]:
    """Tell whether a value of JSON is a number. In Python true and false are, too."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: object) -> TypeGuard[int]:
    """Tell whether a value of JSON is a whole number, written without a point."""
    return isinstance(value, int) and not isinstance(value, bool)


def refuse(param: str, expected: str, got: object) -> NoReturn:
    """Raise the error for one field."""
    message = f"{param}: expected {expected}, got {shown(got)}"
    raise BadRequestError(message, param=param)


def engine_failed(reason: str | None) -> RefusedError:
    """Return the error for a request that the engine did not bring to its end.

    The reason may name files of this machine: no client is told in which folders.
    """
    message = f"the engine failed: {_FOLDERS.sub('', reason or '')}"
    return RefusedError(message, status=500, code="engine_failed")


def shown(value: object) -> str:
    """Write a value of a client's in a few characters that any terminal can show."""
    text = value if isinstance(value, str) else json.dumps(value)
    return ascii(text)[1:-1] if len(text) <= 60 else f"{ascii(text[:60])[1:-1]}..."
