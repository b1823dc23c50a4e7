"""Imports for programs that must start fast, without optional modules that Polykind does not use."""

from __future__ import annotations

import sys


def import_msgspec() -> None:
    """Import msgspec without typing_extensions.

    If typing_extensions is installed, msgspec imports it for names that Python's typing has since 3.11. Its import is
    a twentieth of the server's start. Call this function before any other import of msgspec.
    """
    if "msgspec" in sys.modules or "typing_extensions" in sys.modules:
        return
    sys.modules["typing_extensions"] = None  # type: ignore[assignment]  # import raises ModuleNotFoundError
    try:
        import msgspec  # noqa: F401
    finally:
        del sys.modules["typing_extensions"]
