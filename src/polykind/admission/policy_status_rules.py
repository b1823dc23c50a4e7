"""What the status of a ValidatingAdmissionPolicy must obey: others than this server write it."""

from __future__ import annotations

from collections.abc import Callable

from polykind.cel.library.strings import trim
from polykind.contract import JsonObject
from polykind.errors import FieldError, invalid, required
from polykind.schema import conditionrules

Unreadable = Callable[[str], str]
"""Why a text is no JSONPath; empty if it is one."""


def status_problems(status: JsonObject, unreadable: Unreadable) -> list[FieldError]:
    found: list[FieldError] = []
    at = "status.typeChecking.expressionWarnings"
    for index, warning in enumerate((status.get("typeChecking") or {}).get("expressionWarnings") or ()):
        found += _warning(warning, f"{at}[{index}]", unreadable)
    return found + conditionrules.problems(status.get("conditions") or (), "status.conditions")


def _warning(warning: JsonObject, at: str, unreadable: Unreadable) -> list[FieldError]:
    found = [] if warning["warning"] else [required(f"{at}.warning")]
    ref = trim(warning["fieldRef"])
    if not ref:
        return [*found, required(f"{at}.fieldRef")]
    wrong = unreadable(ref)
    return [*found, invalid(f"{at}.fieldRef", ref, f"invalid JSONPath: {wrong}")] if wrong else found
