"""A real API server for tests: the pytest plugin, and what its fixtures hand out.

`plugin.py` is loaded by every run of pytest where Polykind is installed; what it stands on is imported when a test
asks for a server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polykind.testing.apiserver import ApiServer
    from polykind.testing.checkpoint import Checkpoint
    from polykind.testing.exceptions import Refused
    from polykind.testing.hosted_converter import Converter
    from polykind.testing.server_factory import Factory
    from polykind.testing.waiting import Unmet

__all__ = ["ApiServer", "Checkpoint", "Converter", "Factory", "Refused", "Unmet"]

_HOMES = {
    "ApiServer": "apiserver",
    "Checkpoint": "checkpoint",
    "Converter": "hosted_converter",
    "Factory": "server_factory",
    "Refused": "exceptions",
    "Unmet": "waiting",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
