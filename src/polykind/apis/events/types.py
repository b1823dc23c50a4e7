"""The kind of the events.k8s.io group: Event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polykind.apis.machinery.kinds import Columns, Kind
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table

if TYPE_CHECKING:
    from polykind.apis.machinery.version_conversion import VersionConversion

EVENTS_V1 = GroupVersion("events.k8s.io", "v1", type_table("events", "v1"), group_priority=17750, version_priority=15)


def _conversion() -> VersionConversion:
    from polykind.apis.core.event_conversion import EVENTS_V1_CONVERSION

    return EVENTS_V1_CONVERSION


def _columns(_: Kind) -> Columns:
    from polykind.apis.core import event_columns

    return event_columns.EVENT


EVENT = Kind(
    EVENTS_V1,
    "Event",
    columns=_columns,
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
    conversion=_conversion,
    strategy="polykind.strategies.events.strategy:EventStrategy",
)

KINDS = (EVENT,)
