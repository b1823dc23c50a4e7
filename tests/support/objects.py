"""Objects for tests of built-in kinds: changed copies, and validation errors as text."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable
from typing import Any, Final

from polykind.contract import JsonObject
from polykind.errors import FieldError

ABSENT: Final = object()
"""The value that removes a field."""


def edited(obj: JsonObject, *changes: tuple[str, Any]) -> JsonObject:
    """Return a copy with a value at each path, such as `spec.rules[0].host`."""
    result = copy.deepcopy(obj)
    for path, value in changes:
        *parents, last = [int(step) if step.isdigit() else step for step in re.findall(r"[^.\[\]]+", path)]
        target: Any = result
        for step in parents:
            target = target[step]
        if value is ABSENT:
            del target[last]
        else:
            target[last] = value
    return result


def texts(found: Iterable[FieldError]) -> list[str]:
    """Return the errors as the message of a Status shows them."""
    return [str(error) for error in found]
