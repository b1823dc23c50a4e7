"""The place where a rule is declared: the line of the author's Python file or rules file."""

from __future__ import annotations

import inspect

_PACKAGE = __file__.removesuffix("declare/rule_place.py")


def caller_place() -> str:
    """Return the file and line of the code outside this package that declares a rule, or "" if there is none."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""


class RuleError(ValueError):
    """A rule cannot convert an object. `place` is the file and line where the rule is declared."""

    def __init__(self, message: str, place: str) -> None:
        super().__init__(message)
        self.place = place
