"""The fields of Events of the events.k8s.io group."""

from __future__ import annotations

from polykind.apis.core.event_types import EVENT_SOURCE
from polykind.apis.core.reference_types import OBJECT_REFERENCE
from polykind.apis.events.types import EVENTS_V1
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import INT32, MICRO_TIME, STRING, TIME

_struct = EVENTS_V1.struct


_EVENT_SERIES = _struct(
    "EventSeries",
    "The repetitions of an event.",
    Field("count", 1, INT32, omitempty=False),
    Field("lastObservedTime", 2, MICRO_TIME, omitempty=False),
)

EVENT_FIELDS = (
    Field("eventTime", 2, MICRO_TIME, omitempty=False),
    Field("series", 3, _EVENT_SERIES, pointer=True),
    Field("reportingController", 4, STRING),
    Field("reportingInstance", 5, STRING),
    Field("action", 6, STRING),
    Field("reason", 7, STRING),
    Field("regarding", 8, OBJECT_REFERENCE),
    Field("related", 9, OBJECT_REFERENCE, pointer=True),
    Field("note", 10, STRING),
    Field("type", 11, STRING),
    Field("deprecatedSource", 12, EVENT_SOURCE),
    Field("deprecatedFirstTimestamp", 13, TIME),
    Field("deprecatedLastTimestamp", 14, TIME),
    Field("deprecatedCount", 15, INT32),
)
