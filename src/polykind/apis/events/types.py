"""The kind of the events.k8s.io group: Event."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Kind
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table

EVENTS_V1 = GroupVersion("events.k8s.io", "v1", type_table("events", "v1"), group_priority=17750, version_priority=15)

EVENT = Kind(
    EVENTS_V1,
    "Event",
    columns="polykind.apis.core.event_columns:EVENT",
    namespaced=True,
    stored_group="",
    short_names=("ev",),
    selectable=(
        ".regarding.kind",
        ".regarding.namespace",
        ".regarding.name",
        ".regarding.uid",
        ".regarding.apiVersion",
        ".regarding.resourceVersion",
        ".regarding.fieldPath",
        ".reason",
        ".reportingController",
        ".type",
    ),
    conversion="polykind.apis.core.event_conversion:EVENTS_V1_CONVERSION",
    strategy="polykind.strategies.events.strategy:EventStrategy",
)

KINDS = (EVENT,)
