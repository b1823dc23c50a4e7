"""A real API server for tests: the pytest plugin and the objects that its fixtures return.

Every pytest run loads `plugin.py` if Polykind is installed. All other modules are imported when a test needs a server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polykind.testing.apiserver import ApiServer
    from polykind.testing.checkpoint import Checkpoint
    from polykind.testing.exceptions import Refused, Unmet
    from polykind.testing.hosted_converter import Converter
    from polykind.testing.server_factory import Factory


__all__ = ["ApiServer", "Checkpoint", "Converter", "Factory", "Refused", "Unmet"]

_HOMES = {
    "ApiServer": "apiserver",
    "Checkpoint": "checkpoint",
    "Converter": "hosted_converter",
    "Factory": "server_factory",
    "Refused": "exceptions",
    "Unmet": "exceptions",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
