"""Imports of the parts of a declaration that only some servers need, at their first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def import_by_path(path: str) -> Any:
    """Import a module-level name. `path` is `package.module:NAME`."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
