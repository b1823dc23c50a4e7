"""Columns of `kubectl get` for EndpointSlices."""

from __future__ import annotations

from collections.abc import Mapping

from polykind.apis.discovery import types
from polykind.apis.machinery.columns import AGE, first_items, value_at
from polykind.apis.machinery.kinds import Columns, Kind
from polykind.codec.table import Column
from polykind.contract import JsonObject


def _ports(obj: JsonObject) -> str:
    ports = [str(port.get("port", port.get("name", "*"))) for port in obj.get("ports") or ()]
    return first_items(ports, 3) or "<unset>"


def _endpoints(obj: JsonObject) -> str:
    addresses = [address for point in obj.get("endpoints") or () for address in point.get("addresses") or ()]
    return first_items(addresses, 3) or "<unset>"


ENDPOINT_SLICE = (
    Column("AddressType", "string", "The type of the addresses", value_at("addressType", default="")),
    Column("Ports", "string", "The ports of the endpoints", _ports),
    Column("Endpoints", "string", "The addresses of the endpoints", _endpoints),
    AGE,
)

COLUMNS: Mapping[Kind, Columns] = {
    types.ENDPOINT_SLICE: ENDPOINT_SLICE,
}
