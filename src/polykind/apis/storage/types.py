"""Kinds of the storage.k8s.io group."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Kind, Subresource
from polykind.apis.machinery.structs import GroupVersion

STORAGE_V1 = GroupVersion("storage.k8s.io", "v1", "io.k8s.api.storage.v1", group_priority=16800, version_priority=15)

STORAGE_CLASS = Kind(
    STORAGE_V1,
    "StorageClass",
    "A class of storage, with the provisioner that creates its volumes.",
    fields_in="polykind.apis.storage.storage_class_types:STORAGE_CLASS_FIELDS",
    columns="polykind.apis.storage.columns:STORAGE_CLASS",
    plural="storageclasses",
    short_names=("sc",),
    strategy="polykind.strategies.storage.strategy:StorageClassStrategy",
    delete_returns_object=True,
)

VOLUME_ATTRIBUTES_CLASS = Kind(
    STORAGE_V1,
    "VolumeAttributesClass",
    "A set of mutable attributes of volumes, such as their performance.",
    fields_in="polykind.apis.storage.storage_class_types:VOLUME_ATTRIBUTES_CLASS_FIELDS",
    columns="polykind.apis.storage.columns:VOLUME_ATTRIBUTES_CLASS",
    plural="volumeattributesclasses",
    short_names=("vac",),
    strategy="polykind.strategies.storage.strategy:VolumeAttributesClassStrategy",
    delete_returns_object=True,
)

VOLUME_ATTACHMENT = Kind(
    STORAGE_V1,
    "VolumeAttachment",
    "A request to attach a volume to a node.",
    fields_in="polykind.apis.storage.storage_class_types:VOLUME_ATTACHMENT_FIELDS",
    columns="polykind.apis.storage.columns:VOLUME_ATTACHMENT",
    subresources=(Subresource("status"),),
    strategy="polykind.strategies.storage.strategy:VolumeAttachmentStrategy",
    delete_returns_object=True,
)

CSI_DRIVER = Kind(
    STORAGE_V1,
    "CSIDriver",
    "A driver of the Container Storage Interface that is installed in the cluster.",
    fields_in="polykind.apis.storage.csi_types:CSI_DRIVER_FIELDS",
    columns="polykind.apis.storage.columns:CSI_DRIVER",
    strategy="polykind.strategies.storage.strategy:CSIDriverStrategy",
    delete_returns_object=True,
)

CSI_NODE = Kind(
    STORAGE_V1,
    "CSINode",
    "The storage drivers that are installed on a node.",
    fields_in="polykind.apis.storage.csi_types:CSI_NODE_FIELDS",
    columns="polykind.apis.storage.columns:CSI_NODE",
    strategy="polykind.strategies.storage.strategy:CSINodeStrategy",
    delete_returns_object=True,
)

CSI_STORAGE_CAPACITY = Kind(
    STORAGE_V1,
    "CSIStorageCapacity",
    "The storage that a driver can still provide in one part of the cluster.",
    fields_in="polykind.apis.storage.csi_types:CSI_STORAGE_CAPACITY_FIELDS",
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
