"""Every regular expression of the source takes linear time, because Python's `re` holds the interpreter lock.

An expression whose time grows with the square of a text's length stops the server for seconds if a client sends a text
of some hundred kilobytes. The test matches each expression with texts that repeat the characters of the expression.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import time
from collections.abc import Iterator
from itertools import permutations, product
from types import ModuleType
from typing import Any

import polykind

_LENGTH = 10_000
_MAX_SECONDS = 0.06
"""Far above the time for a text of this length if it is linear (3 ms), far below a quadratic time (some 200 ms)."""
_OFFLINE = ("polykind.toolkit", "polykind.testing", "polykind.benchmark", "polykind.launchers", "polykind.cli")
"""Packages that never read what clients of the server send."""
_SAMPLES = "a1A.:/-%\\\"'[({,;=_ @+~é\n\x00"
_ENDS = ("", "\x00!")


def _modules() -> Iterator[ModuleType]:
    for module in pkgutil.walk_packages(polykind.__path__, "polykind."):
        if not module.name.startswith(_OFFLINE) and not module.name.endswith("__main__"):
            yield importlib.import_module(module.name)


def _expressions() -> dict[str, Any]:
    """Return the functions of all compiled expressions, such as `fullmatch`, by the name of their variable."""
    found: dict[Any, tuple[str, Any]] = {}
    for module in _modules():
        for name, value in vars(module).items():
            values = value.items() if isinstance(value, dict) else [("", value)]
            for key, item in values:
                owner = item if isinstance(item, re.Pattern) else getattr(item, "__self__", None)
                if isinstance(owner, re.Pattern):
                    function = item.search if isinstance(item, re.Pattern) else item
                    found.setdefault((owner.pattern, function.__name__), (f"{module.__name__}.{name} {key}", function))
    return dict(found.values())


def _call(function: Any, text: str) -> None:
    """Call a function of an expression as the source calls it, except that matches are only counted."""
    subject: Any = text.encode() if isinstance(function.__self__.pattern, bytes) else text
    if function.__name__ in ("sub", "subn"):
        function(subject[:0], subject)
    elif function.__name__ == "finditer":
        for _ in function(subject):
            pass
    else:
        function(subject)


def _characters(pattern: str | bytes) -> str:
    """Return sample characters that a part of the expression accepts or that stand in it."""
    text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
    return "".join(dict.fromkeys(char for char in _SAMPLES if char in text or char in "a1A.\x00 "))


def _texts(pattern: str | bytes) -> Iterator[str]:
    """Yield texts that repeat one or two characters of the expression, after different beginnings."""
    characters = _characters(pattern)
    units = [*characters, *map("".join, permutations(characters[:6], 2))]
    for unit, start, end in product(units, ("", "a", "a1:", '"', "1.", "-----BEGIN A-----\n"), _ENDS):
        yield start + unit * (_LENGTH // len(unit)) + end


def _slow_text(function: Any) -> str:
    """Return the beginning of a text for which an expression takes long, or "" if there is none."""
    for text in _texts(function.__self__.pattern):
        # Other programs can slow down one call, but not all.
        if all(_seconds(function, text) > _MAX_SECONDS for _ in range(3)):
            return text[:20]
    return ""


def _seconds(function: Any, text: str) -> float:
    """Return the CPU time of a call."""
    started = time.thread_time()
    _call(function, text)
    return time.thread_time() - started


def test_regular_expressions_take_linear_time() -> None:
    slow = {name: _slow_text(function) for name, function in _expressions().items()}
    assert {name: text for name, text in slow.items() if text} == {}
