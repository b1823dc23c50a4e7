"""The fields of StorageClasses, VolumeAttributesClasses and VolumeAttachments."""

from __future__ import annotations

from polykind.apis.core.persistent_volume_types import PERSISTENT_VOLUME_RECLAIM_POLICY, PERSISTENT_VOLUME_SPEC
from polykind.apis.core.reference_types import TOPOLOGY_SELECTOR_TERM
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import BOOL, INT32, STRING, STRING_MAP, STRINGS, TIME, ListOf, String
from polykind.apis.storage.types import STORAGE_V1

_struct = STORAGE_V1.struct

_VOLUME_BINDING_MODE = String("v1.VolumeBindingMode", ("Immediate", "WaitForFirstConsumer"))

STORAGE_CLASS_FIELDS = (
    Field("provisioner", 2, STRING, "The provisioner of the volumes.", omitempty=False),
    Field("parameters", 3, STRING_MAP, "The parameters of the provisioner."),
    Field("reclaimPolicy", 4, PERSISTENT_VOLUME_RECLAIM_POLICY, "The reclaim policy of the volumes.", pointer=True),
    Field("mountOptions", 5, STRINGS, "The mount options of the volumes."),
    Field("allowVolumeExpansion", 6, BOOL, "True if volumes can grow.", pointer=True),
    Field("volumeBindingMode", 7, _VOLUME_BINDING_MODE, "Immediate or WaitForFirstConsumer.", pointer=True),
    Field("allowedTopologies", 8, ListOf(TOPOLOGY_SELECTOR_TERM)),
)

VOLUME_ATTRIBUTES_CLASS_FIELDS = (
    Field("driverName", 2, STRING, omitempty=False),
    Field("parameters", 3, STRING_MAP),
)

_VOLUME_ATTACHMENT_SOURCE = _struct(
    "VolumeAttachmentSource",
    "The volume to attach.",
    Field("persistentVolumeName", 1, STRING, pointer=True),
    Field("inlineVolumeSpec", 2, PERSISTENT_VOLUME_SPEC, pointer=True),
)

_VOLUME_ATTACHMENT_SPEC = _struct(
    "VolumeAttachmentSpec",
    "The desired state of an attachment.",
    Field("attacher", 1, STRING, omitempty=False),
    Field("source", 2, _VOLUME_ATTACHMENT_SOURCE, omitempty=False),
    Field("nodeName", 3, STRING, omitempty=False),
)

_VOLUME_ERROR = _struct(
    "VolumeError",
    "The last error of an operation on a volume.",
    Field("time", 1, TIME),
    Field("message", 2, STRING),
    Field("errorCode", 3, INT32, pointer=True),
)

_VOLUME_ATTACHMENT_STATUS = _struct(
    "VolumeAttachmentStatus",
    "The observed state of an attachment.",
    Field("attached", 1, BOOL, omitempty=False),
    Field("attachmentMetadata", 2, STRING_MAP),
    Field("attachError", 3, _VOLUME_ERROR, pointer=True),
    Field("detachError", 4, _VOLUME_ERROR, pointer=True),
)

VOLUME_ATTACHMENT_FIELDS = (
    Field("spec", 2, _VOLUME_ATTACHMENT_SPEC, "The desired state.", omitempty=False),
    Field("status", 3, _VOLUME_ATTACHMENT_STATUS, "The observed state."),
)
