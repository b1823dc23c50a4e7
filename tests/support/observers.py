"""Who hears of the changes in a cache."""

from __future__ import annotations

from typing import Any


def owner(observer: Any) -> str:
    """The module of the controller that an observer tells."""
    return type(observer.on_occurrences.__self__).__module__
