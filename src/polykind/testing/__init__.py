"""A real API server for tests: the pytest plugin and the objects that its fixtures return.

Every pytest run loads `plugin.py` if Polykind is installed. All other modules are imported when a test needs a server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polykind.testing.apiserver import ApiServer
    from polykind.testing.async_apiserver import AsyncApiServer
    from polykind.testing.checkpoint import Checkpoint
    from polykind.testing.event_watch import AsyncEventWatch, EventWatch, WatchEvent
    from polykind.testing.exceptions import Refused, Unmet
    from polykind.testing.hosted_converter import Converter
    from polykind.testing.server_factory import Factory
    from polykind.testing.simulation.simulation import AsyncSimulation, Simulation

__all__ = [
    "ApiServer",
    "AsyncApiServer",
    "AsyncEventWatch",
    "AsyncSimulation",
    "Checkpoint",
    "Converter",
    "EventWatch",
    "Factory",
    "Refused",
    "Simulation",
    "Unmet",
    "WatchEvent",
]

_HOMES = {
    "ApiServer": "apiserver",
    "AsyncApiServer": "async_apiserver",
    "AsyncEventWatch": "event_watch",
    "AsyncSimulation": "simulation.simulation",
    "Checkpoint": "checkpoint",
    "Converter": "hosted_converter",
    "EventWatch": "event_watch",
    "Factory": "server_factory",
    "Refused": "exceptions",
    "Simulation": "simulation.simulation",
    "Unmet": "exceptions",
    "WatchEvent": "event_watch",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
