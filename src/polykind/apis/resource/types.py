"""Kinds of the resource.k8s.io group: dynamic allocation of devices."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Columns, Kind, Subresource
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table

RESOURCE_V1 = GroupVersion(
    "resource.k8s.io", "v1", type_table("resource", "v1"), group_priority=16200, version_priority=21
)


def _columns(kind: Kind) -> Columns:
    from polykind.apis.resource.columns import COLUMNS

    return COLUMNS[kind]


DEVICE_CLASS = Kind(
    RESOURCE_V1,
    "DeviceClass",
    columns=_columns,
    plural="deviceclasses",
    strategy="polykind.strategies.resource.strategy:DeviceClassStrategy",
    delete_returns_object=True,
)

RESOURCE_SLICE = Kind(
    RESOURCE_V1,
    "ResourceSlice",
    columns=_columns,
    selectable=(".spec.nodeName", ".spec.driver"),
    strategy="polykind.strategies.resource.strategy:ResourceSliceStrategy",
    delete_returns_object=True,
)

RESOURCE_CLAIM = Kind(
    RESOURCE_V1,
    "ResourceClaim",
    columns=_columns,
    namespaced=True,
    subresources=(Subresource("status"),),
    strategy="polykind.strategies.resource.strategy:ResourceClaimStrategy",
    delete_returns_object=True,
)

RESOURCE_CLAIM_TEMPLATE = Kind(
    RESOURCE_V1,
    "ResourceClaimTemplate",
    columns=_columns,
    namespaced=True,
    strategy="polykind.strategies.resource.strategy:ResourceClaimTemplateStrategy",
    delete_returns_object=True,
)

KINDS = (
    DEVICE_CLASS,
    RESOURCE_SLICE,
    RESOURCE_CLAIM,
    RESOURCE_CLAIM_TEMPLATE,
)
