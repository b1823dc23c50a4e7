"""Defaults of EndpointSlices."""

from __future__ import annotations

from polykind.contract import JsonObject


def default_endpoint_slice(endpoint_slice: JsonObject) -> None:
    """Set the default name and protocol of each port, in place."""
    for port in endpoint_slice.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")
