"""Conversion of Events between core/v1, at which they are stored, and events.k8s.io/v1."""

from __future__ import annotations

from polykind.apis.machinery.version_conversion import VersionConversion
from polykind.contract import JsonObject

_NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
"""The fields of core/v1 that have another name in events.k8s.io/v1."""
_CORE_NAMES = {name: core_name for core_name, name in _NAMES.items()}


def to_events_v1(event: JsonObject) -> JsonObject:
    """Return an Event of core/v1 with the field names of events.k8s.io/v1."""
    return {_NAMES.get(name, name): value for name, value in event.items()}


def to_core_v1(event: JsonObject) -> JsonObject:
    """Return an Event of events.k8s.io/v1 with the field names of core/v1."""
    return {_CORE_NAMES.get(name, name): value for name, value in event.items()}


EVENTS_V1_CONVERSION = VersionConversion(to_stored=to_core_v1, from_stored=to_events_v1)
