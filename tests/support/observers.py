"""Observers of a resource cache."""

from __future__ import annotations

from typing import Any

from polykind.controllers.informer import Informer


def owner(observer: Any) -> str:
    """Return the module of the controller that an observer belongs to."""
    callback: Any = observer.handle_changes if isinstance(observer, Informer) else observer.on_changes
    return type(callback.__self__).__module__
