"""Validation and conversion of Events."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.core.event_conversion import to_core_v1, to_events_v1
from polykind.apis.core.event_validation import (
    validate_event,
    validate_strict_event,
    validate_strict_event_update,
)
from polykind.contract import JsonObject

TIME = "2024-01-01T00:00:00.000000Z"


def event(namespace: str = "ns", regarding: str = "ns", **fields: Any) -> JsonObject:
    return {"metadata": {"name": "e", "namespace": namespace}, "involvedObject": {"namespace": regarding}, **fields}


def new_event(**fields: Any) -> JsonObject:
    return event(
        **{
            "eventTime": TIME,
            "reportingComponent": "x.io/c",
            "reportingInstance": "i",
            "action": "Do",
            "reason": "Done",
            "type": "Normal",
            **fields,
        }
    )


@pytest.mark.parametrize(
    ("obj", "fields"),
    [
        (event(), []),
        (event("default", ""), []),
        (event("ns", ""), ["involvedObject.namespace"]),
        (event("ns", "other"), ["involvedObject.namespace"]),
        (new_event(), []),
        (new_event(namespace="kube-system", regarding=""), []),
        (new_event(regarding=""), ["involvedObject.namespace"]),
        (new_event(action="", reason="r" * 129), ["action", "reason"]),
        (new_event(reportingComponent=""), ["c"]),
        (new_event(message="m" * 1025), ["message"]),
    ],
)
def test_rules_of_all_versions(obj: JsonObject, fields: list[str]) -> None:
    assert list(dict.fromkeys(error.field for error in validate_event(obj, "c"))) == fields


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, []),
        ({"eventTime": None}, ["eventTime: Required value"]),
        ({"type": "Odd"}, ['type: Invalid value: "": has invalid value: Odd']),
        ({"count": 2, "source": {"host": "h"}}, ["count", "source"]),
        ({"series": {"count": 1}}, ["series.count", "series.lastObservedTime"]),
    ],
)
def test_strict_rules(fields: JsonObject, expected: list[str]) -> None:
    found = validate_strict_event(new_event(**fields))
    assert len(found) == len(expected)
    for error, text in zip(found, expected, strict=True):
        assert text in (str(error), error.field)


def test_only_the_series_can_change() -> None:
    series = {"count": 2, "lastObservedTime": TIME}
    assert validate_strict_event_update(new_event(series=series), new_event()) == []
    changed = new_event(action="Undo", reportingComponent="y", related={"kind": "Node"})
    assert [str(error) for error in validate_strict_event_update(changed, new_event())] == [
        'action: Invalid value: "Undo": field is immutable',
        'related: Invalid value: {"Kind":"Node","Namespace":"","Name":"","UID":"","APIVersion":"","ResourceVersion":"",'
        '"FieldPath":""}: field is immutable',
        'reportingController: Invalid value: "y": field is immutable',
    ]


def test_an_empty_related_reference_is_a_change() -> None:
    found = validate_strict_event_update(new_event(related={}), new_event())
    assert [error.field for error in found] == ["related"]


def test_conversion_renames_fields_in_both_directions() -> None:
    obj = {"metadata": {}, "involvedObject": {}, "message": "m", "count": 1, "source": {}, "reason": "r"}
    converted = to_events_v1(obj)
    assert converted == {
        "metadata": {},
        "regarding": {},
        "note": "m",
        "deprecatedCount": 1,
        "deprecatedSource": {},
        "reason": "r",
    }
    assert to_core_v1(converted) == obj
