"""Columns of `kubectl get events`, for the core group and for events.k8s.io."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from polykind.apis.machinery.columns import value_at
from polykind.codec.table import NAME_DESCRIPTION, Column, age
from polykind.contract import JsonObject


class _Names(NamedTuple):
    """The names of the fields of an Event in one of its groups."""

    target: str
    message: str
    first: str
    last: str
    number: str
    source: str
    controller: str


_CORE = _Names("involvedObject", "message", "firstTimestamp", "lastTimestamp", "count", "source", "reportingComponent")
_EVENTS = _Names(
    *("regarding", "note", "deprecatedFirstTimestamp", "deprecatedLastTimestamp", "deprecatedCount"),
    *("deprecatedSource", "reportingController"),
)


def _columns(names: _Names) -> tuple[Column, ...]:
    def first_seen(event: JsonObject, now: datetime) -> str:
        return age(event.get(names.first) or event.get("eventTime") or "", now)

    def last_seen(event: JsonObject, now: datetime) -> str:
        series = event.get("series")
        if series is not None:
            return age(series.get("lastObservedTime") or "", now)
        last = event.get(names.last)
        return age(last, now) if last else first_seen(event, now)

    def count(event: JsonObject) -> int:
        series = event.get("series")
        return int(series.get("count", 0) if series is not None else event.get(names.number) or 1)

    def target(event: JsonObject) -> str:
        found = event.get(names.target) or {}
        kind = found.get("kind", "").lower()
        return f"{kind}/{found['name']}" if found.get("name") else kind

    def source(event: JsonObject) -> str:
        found = event.get(names.source) or {}
        component = found.get("component") or event.get(names.controller, "")
        instance = found.get("host") or event.get("reportingInstance", "")
        return f"{component}, {instance}" if instance else component

    def message(event: JsonObject) -> str:
        return str(event.get(names.message, "")).strip()

    return (
        Column("Last Seen", "string", "The time since the event was last seen", at_time=last_seen),
        Column("Type", "string", "Normal or Warning", value_at("type", default="")),
        Column("Reason", "string", "The reason for the event, in CamelCase", value_at("reason", default="")),
        Column("Object", "string", "The object of the event", target),
        Column("Subobject", "string", "The part of the object", value_at(names.target, "fieldPath", default=""), 1),
        Column("Source", "string", "The component that reports the event", source, priority=1),
        Column("Message", "string", "A readable explanation", message),
        Column("First Seen", "string", "The time since the event was first seen", priority=1, at_time=first_seen),
        Column("Count", "string", "The number of times that the event was seen", count, priority=1),
        Column("Name", "string", NAME_DESCRIPTION, value_at("metadata", "name", default=""), 1, format="name"),
    )


CORE_EVENT = _columns(_CORE)
EVENT = _columns(_EVENTS)
