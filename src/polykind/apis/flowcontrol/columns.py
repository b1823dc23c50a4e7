"""Columns of `kubectl get` for FlowSchemas and PriorityLevelConfigurations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from polykind.apis.flowcontrol import types
from polykind.apis.machinery.columns import AGE, condition_of, value_at
from polykind.apis.machinery.kinds import Columns, Kind
from polykind.codec.table import Column
from polykind.contract import JsonObject


def _missing_level(obj: JsonObject) -> str:
    dangling = condition_of(obj["status"].get("conditions"), "Dangling")
    return str(dangling.get("status", "")) if dangling is not None else "?"


FLOW_SCHEMA = (
    Column(
        "PriorityLevel",
        "string",
        "The priority level of the requests",
        value_at("spec", "priorityLevelConfiguration", "name", default=""),
    ),
    Column(
        "MatchingPrecedence",
        "string",
        "The order of the schema; lower comes first",
        value_at("spec", "matchingPrecedence", default=0),
    ),
    Column(
        "DistinguisherMethod",
        "string",
        "The way in which requests are grouped",
        lambda obj: (obj["spec"].get("distinguisherMethod") or {"type": "<none>"}).get("type", ""),
    ),
    AGE,
    Column("MissingPL", "string", "True if the priority level does not exist", _missing_level),
)


def _queuing(name: str) -> Callable[[JsonObject], Any]:
    """Return a function that computes a cell: a setting of the queues, or `<none>` if requests are not queued."""

    def cell(obj: JsonObject) -> Any:
        queuing = ((obj["spec"].get("limited") or {}).get("limitResponse") or {}).get("queuing")
        return queuing.get(name, 0) if queuing is not None else "<none>"

    return cell


def _shares(obj: JsonObject) -> Any:
    limited = obj["spec"].get("limited")
    return limited.get("nominalConcurrencyShares", 0) if limited is not None else "<none>"


PRIORITY_LEVEL_CONFIGURATION = (
    Column("Type", "string", "Limited or Exempt", value_at("spec", "type", default="")),
    Column("NominalConcurrencyShares", "string", "The share of the server's concurrency", _shares),
    Column("Queues", "string", "The number of queues", _queuing("queues")),
    Column("HandSize", "string", "The number of queues of one flow", _queuing("handSize")),
    Column("QueueLengthLimit", "string", "The greatest length of a queue", _queuing("queueLengthLimit")),
    AGE,
)

COLUMNS: Mapping[Kind, Columns] = {
    types.FLOW_SCHEMA: FLOW_SCHEMA,
    types.PRIORITY_LEVEL_CONFIGURATION: PRIORITY_LEVEL_CONFIGURATION,
}
