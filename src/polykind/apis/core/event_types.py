"""The fields of Events of the core group."""

from __future__ import annotations

from polykind.apis.core.reference_types import OBJECT_REFERENCE
from polykind.apis.core.types import CORE_V1
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import INT32, MICRO_TIME, STRING, TIME

_struct = CORE_V1.struct


EVENT_SOURCE = _struct(
    "EventSource",
    "The component that reported an event.",
    Field("component", 1, STRING),
    Field("host", 2, STRING),
)

_EVENT_SERIES = _struct(
    "EventSeries",
    "The repetitions of an event.",
    Field("count", 1, INT32),
    Field("lastObservedTime", 2, MICRO_TIME),
)

EVENT_FIELDS = (
    Field("involvedObject", 2, OBJECT_REFERENCE, omitempty=False),
    Field("reason", 3, STRING),
    Field("message", 4, STRING),
    Field("source", 5, EVENT_SOURCE),
    Field("firstTimestamp", 6, TIME),
    Field("lastTimestamp", 7, TIME),
    Field("count", 8, INT32),
    Field("type", 9, STRING),
    Field("eventTime", 10, MICRO_TIME),
    Field("series", 11, _EVENT_SERIES, pointer=True),
    Field("action", 12, STRING),
    Field("related", 13, OBJECT_REFERENCE, pointer=True),
    Field("reportingComponent", 14, STRING, omitempty=False, required=False),
    Field("reportingInstance", 15, STRING, omitempty=False, required=False),
)
