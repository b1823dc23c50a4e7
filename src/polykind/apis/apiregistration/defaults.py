"""Defaults of APIServices."""

from __future__ import annotations

from polykind.contract import JsonObject


def default_api_service(api_service: JsonObject) -> None:
    """Set the port of the service."""
    service = api_service["spec"].get("service")
    if service is not None:
        service.setdefault("port", 443)
