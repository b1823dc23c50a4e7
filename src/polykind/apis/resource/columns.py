"""Columns of `kubectl get` for the kinds of the resource.k8s.io group."""

from __future__ import annotations

from collections.abc import Mapping

from polykind.apis.machinery.columns import AGE, value_at
from polykind.apis.machinery.kinds import Columns, Kind
from polykind.apis.resource import types
from polykind.codec.table import Column
from polykind.contract import JsonObject

DEVICE_CLASS = (AGE,)
RESOURCE_CLAIM_TEMPLATE = (AGE,)


def _state(obj: JsonObject) -> str:
    deleted = "deletionTimestamp" in obj["metadata"]
    states = ["deleted"] if deleted else []
    if "allocation" in obj["status"]:
        states += ["allocated", "reserved"] if obj["status"].get("reservedFor") else ["allocated"]
    elif not deleted:
        states.append("pending")
    return ",".join(states)


RESOURCE_CLAIM = (Column("State", "string", "The state of the claim in short", _state), AGE)

RESOURCE_SLICE = (
    Column("Node", "string", "The node with the devices", value_at("spec", "nodeName", default="")),
    Column("Driver", "string", "The driver of the devices", value_at("spec", "driver", default="")),
    Column("Pool", "string", "The pool of the devices", value_at("spec", "pool", "name", default="")),
    AGE,
)

COLUMNS: Mapping[Kind, Columns] = {
    types.DEVICE_CLASS: DEVICE_CLASS,
    types.RESOURCE_SLICE: RESOURCE_SLICE,
    types.RESOURCE_CLAIM: RESOURCE_CLAIM,
    types.RESOURCE_CLAIM_TEMPLATE: RESOURCE_CLAIM_TEMPLATE,
}
