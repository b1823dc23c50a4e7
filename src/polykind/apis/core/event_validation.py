"""Validation of Events in the form of core/v1. The server converts Events of events.k8s.io/v1 before validation."""

from __future__ import annotations

from polykind import errors, names
from polykind.apis.core.types import CORE_V1
from polykind.apis.machinery.internal_types import show_internal
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.utf8 import byte_length

_MAX_LENGTH = 128
_MAX_NOTE_LENGTH = 1024
_IMMUTABLE = (
    *("involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "reason", "type"),
    *("eventTime", "action", "related", "reportingComponent", "reportingInstance"),
)
_ZEROS = {"firstTimestamp": None, "lastTimestamp": None, "eventTime": None, "count": 0}
_UNSET = (("firstTimestamp", "firstTimestamp"), ("lastTimestamp", "lastTimestamp"), ("count", "count"))


def validate_event(event: JsonObject, component_field: str) -> list[FieldError]:
    """Validate the rules for events of core/v1 and events.k8s.io/v1.

    `component_field` is the name of the field `reportingComponent` in the version of the request.
    """
    namespace = event["metadata"].get("namespace") or ""
    regarding = (event.get("involvedObject") or {}).get("namespace") or ""
    if event.get("eventTime"):
        is_valid = bool(regarding) or namespace in ("default", "kube-system")
        found = _validate_new_fields(event, component_field)
    else:
        is_valid = namespace == regarding if regarding else namespace in ("", "default")
        found = []
    if not is_valid:
        found.insert(0, errors.invalid("involvedObject.namespace", regarding, "does not match event.namespace"))
    return found + [errors.invalid("namespace", namespace, text) for text in names.dns1123_subdomain(namespace)]


def _validate_new_fields(event: JsonObject, component_field: str) -> list[FieldError]:
    component = event.get("reportingComponent") or ""
    found = [] if component else [errors.required(component_field)]
    found += [errors.invalid(component_field, component, text) for text in names.qualified_name(component)]
    for field in ("reportingInstance", "action", "reason"):
        value = event.get(field) or ""
        if not value:
            found.append(errors.required(field))
        if byte_length(value) > _MAX_LENGTH:
            found.append(errors.invalid(field, "", f"can have at most {_MAX_LENGTH} characters"))
    if byte_length(event.get("message") or "") > _MAX_NOTE_LENGTH:
        found.append(errors.invalid("message", "", f"can have at most {_MAX_NOTE_LENGTH} characters"))
    return found


def validate_strict_event(event: JsonObject) -> list[FieldError]:
    """Validate the additional rules of events.k8s.io/v1 for new events, apart from the metadata."""
    found = validate_series(event)
    if not event.get("eventTime"):
        found.append(errors.required("eventTime"))
    if event.get("type") not in ("Normal", "Warning"):
        found.append(errors.invalid("type", "", f"has invalid value: {event.get('type') or ''}"))
    found += [errors.invalid(field, "", "needs to be unset") for field, name in _UNSET if event.get(name)]
    source = event.get("source") or {}
    if source.get("component") or source.get("host"):
        found.append(errors.invalid("source", "", "needs to be unset"))
    return found


def validate_series(event: JsonObject) -> list[FieldError]:
    """Validate the series of an event, which describes its repetitions."""
    series, found = event.get("series"), []
    if series is not None:
        if (series.get("count") or 0) < 2:
            found.append(errors.invalid("series.count", "", "should be at least 2"))
        if not series.get("lastObservedTime"):
            found.append(errors.required("series.lastObservedTime"))
    return found


def validate_strict_event_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate the additional rules of events.k8s.io/v1 for updates: only the series can change."""
    found = validate_series(new) if new.get("series") != old.get("series") else []
    for field in _IMMUTABLE:
        value, before = (_comparable(event, field) for event in (new, old))
        if value != before:
            name = "reportingController" if field == "reportingComponent" else field
            found.append(errors.invalid(name, _shown(field, value), "field is immutable"))
    return found


def _comparable(event: JsonObject, field: str) -> object:
    if field in ("involvedObject", "source"):
        return event.get(field) or {}
    if field == "related":
        return event.get(field)  # a pointer: an empty reference differs from none
    return event.get(field) or _ZEROS.get(field, "")


def _shown(field: str, value: object) -> object:
    """Return a field's value as kube-apiserver's error message shows it."""
    if field in ("involvedObject", "related") and isinstance(value, dict):
        return show_internal(CORE_V1.struct("ObjectReference"), value)
    if field == "source" and isinstance(value, dict):
        return show_internal(CORE_V1.struct("EventSource"), value)
    return value
