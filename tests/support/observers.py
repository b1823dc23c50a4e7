"""Observers of a resource cache."""

from __future__ import annotations

from typing import Any


def owner(observer: Any) -> str:
    """Return the module of the controller that an observer belongs to."""
    return type(observer.on_changes.__self__).__module__
