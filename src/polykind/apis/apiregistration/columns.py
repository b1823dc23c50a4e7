"""Columns of `kubectl get` for APIServices."""

from __future__ import annotations

from collections.abc import Mapping

from polykind.apis.apiregistration import types
from polykind.apis.machinery.columns import AGE, condition_of
from polykind.apis.machinery.kinds import Columns, Kind
from polykind.codec.table import Column
from polykind.contract import JsonObject


def _service(obj: JsonObject) -> str:
    service = obj["spec"].get("service")
    return f"{service.get('namespace', '')}/{service.get('name', '')}" if service is not None else "Local"


def _available(obj: JsonObject) -> str:
    available = condition_of(obj["status"].get("conditions"), "Available")
    if available is None:
        return "Unknown"
    status, reason = available.get("status", ""), available.get("reason")
    return f"{status} ({reason})" if status != "True" and reason else str(status)


API_SERVICE = (
    Column("Service", "string", "The service of the API server", _service),
    Column("Available", "string", "True if the API server responds", _available),
    AGE,
)

COLUMNS: Mapping[Kind, Columns] = {
    types.API_SERVICE: API_SERVICE,
}
