"""Defaults of APIServices."""

from __future__ import annotations

from polykind.contract import JsonObject


def default_api_service(api_service: JsonObject) -> None:
    """Set the default port of the service that an APIService refers to."""
    service = api_service["spec"].get("service")
    if service is not None:
        service.setdefault("port", 443)
