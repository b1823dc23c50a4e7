"""Deprecated names of the public API."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def deprecated_names(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a function for a module's `__getattr__` that resolves old names with a DeprecationWarning.

    `names` maps each old name to its replacement, written as `package.module:name`.
    """

    def getattr_with_warning(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, _, new = names[name].partition(":")
        warnings.warn(f"{module}.{name} is deprecated, use {home}.{new}", DeprecationWarning, stacklevel=2)
        return getattr(import_module(home), new)

    return getattr_with_warning
