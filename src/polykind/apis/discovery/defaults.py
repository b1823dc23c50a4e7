"""Defaults of EndpointSlices."""

from __future__ import annotations

from polykind.contract import JsonObject


def default_endpoint_slice(endpoint_slice: JsonObject) -> None:
    """Set the name and the protocol of ports."""
    for port in endpoint_slice.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")
