"""Kinds of the storage.k8s.io group."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Columns, Kind, Subresource
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table

STORAGE_V1 = GroupVersion(
    "storage.k8s.io", "v1", type_table("storage", "v1"), group_priority=16800, version_priority=15
)


def _columns(kind: Kind) -> Columns:
    from polykind.apis.storage.columns import COLUMNS

    return COLUMNS[kind]


STORAGE_CLASS = Kind(
    STORAGE_V1,
    "StorageClass",
    columns=_columns,
    plural="storageclasses",
    short_names=("sc",),
    strategy="polykind.strategies.storage.strategy:StorageClassStrategy",
    delete_returns_object=True,
)

VOLUME_ATTRIBUTES_CLASS = Kind(
    STORAGE_V1,
    "VolumeAttributesClass",
    columns=_columns,
    plural="volumeattributesclasses",
    short_names=("vac",),
    strategy="polykind.strategies.storage.strategy:VolumeAttributesClassStrategy",
    delete_returns_object=True,
)

VOLUME_ATTACHMENT = Kind(
    STORAGE_V1,
    "VolumeAttachment",
    columns=_columns,
    subresources=(Subresource("status"),),
    strategy="polykind.strategies.storage.strategy:VolumeAttachmentStrategy",
    delete_returns_object=True,
)

CSI_DRIVER = Kind(
    STORAGE_V1,
    "CSIDriver",
    columns=_columns,
    strategy="polykind.strategies.storage.strategy:CSIDriverStrategy",
    delete_returns_object=True,
)

CSI_NODE = Kind(
    STORAGE_V1,
    "CSINode",
    columns=_columns,
    strategy="polykind.strategies.storage.strategy:CSINodeStrategy",
    delete_returns_object=True,
)

CSI_STORAGE_CAPACITY = Kind(
    STORAGE_V1,
    "CSIStorageCapacity",
    plural="csistoragecapacities",
    namespaced=True,
    strategy="polykind.strategies.storage.strategy:CSIStorageCapacityStrategy",
)

KINDS = (
    STORAGE_CLASS,
    VOLUME_ATTRIBUTES_CLASS,
    VOLUME_ATTACHMENT,
    CSI_DRIVER,
    CSI_NODE,
    CSI_STORAGE_CAPACITY,
)
