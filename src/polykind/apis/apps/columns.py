"""Columns of `kubectl get` for the kinds of the apps group."""

from __future__ import annotations

from collections.abc import Mapping

from polykind.apis.apps import types
from polykind.apis.machinery.columns import AGE, container_columns, labels_at, selector_at, value_at
from polykind.apis.machinery.kinds import Columns, Kind
from polykind.codec.table import Column
from polykind.contract import JsonObject

_CONTAINERS = container_columns("spec", "template")
_SELECTOR = Column("Selector", "string", "The labels of the controlled pods", selector_at("spec", "selector"), 1)


def _ready(obj: JsonObject) -> str:
    return f"{obj['status'].get('readyReplicas', 0)}/{obj['spec'].get('replicas', 0)}"


_READY = Column("Ready", "string", "The number of ready pods and of desired pods", _ready)


def _number(name: str, doc: str, field: str, kind: str = "integer") -> Column:
    """Return a column with a number of the status."""
    return Column(name, kind, doc, value_at("status", field, default=0))


DEPLOYMENT = (
    _READY,
    _number("Up-to-date", "The number of pods of the current template", "updatedReplicas", "string"),
    _number("Available", "The number of available pods", "availableReplicas", "string"),
    AGE,
    *_CONTAINERS,
    _SELECTOR._replace(cell=selector_at("spec", "selector", empty="")),
)

REPLICA_SET = (
    Column("Desired", "integer", "The desired number of pods", value_at("spec", "replicas", default=0)),
    _number("Current", "The number of pods", "replicas"),
    _number("Ready", "The number of ready pods", "readyReplicas"),
    AGE,
    *_CONTAINERS,
    _SELECTOR,
)

STATEFUL_SET = (_READY, AGE, *_CONTAINERS)

DAEMON_SET = (
    _number("Desired", "The number of nodes that should run the pod", "desiredNumberScheduled"),
    _number("Current", "The number of these nodes that run the pod", "currentNumberScheduled"),
    _number("Ready", "The number of nodes with a ready pod", "numberReady"),
    _number("Up-to-date", "The number of nodes with a pod of the current template", "updatedNumberScheduled"),
    _number("Available", "The number of nodes with an available pod", "numberAvailable"),
    Column(
        "Node Selector",
        "string",
        "The labels of the nodes that run the pod",
        labels_at("spec", "template", "spec", "nodeSelector"),
    ),
    AGE,
    *_CONTAINERS,
    _SELECTOR,
)


def _controller(obj: JsonObject) -> str:
    owners = obj["metadata"].get("ownerReferences") or ()
    owner = next((owner for owner in owners if owner.get("controller")), None)
    if owner is None:
        return "<none>"
    group = owner["apiVersion"].rpartition("/")[0]
    return f"{owner['kind']}{'.' if group else ''}{group}".lower() + f"/{owner['name']}"


CONTROLLER_REVISION = (
    Column("Controller", "string", "The object that owns the revision", _controller),
    Column("Revision", "string", "The number of the revision", value_at("revision", default=0)),
    AGE,
)

COLUMNS: Mapping[Kind, Columns] = {
    types.DEPLOYMENT: DEPLOYMENT,
    types.REPLICA_SET: REPLICA_SET,
    types.STATEFUL_SET: STATEFUL_SET,
    types.DAEMON_SET: DAEMON_SET,
    types.CONTROLLER_REVISION: CONTROLLER_REVISION,
}
