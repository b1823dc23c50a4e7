"""The fields of CSIDrivers, CSINodes and CSIStorageCapacities."""

from __future__ import annotations

from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import BOOL, INT32, INT64, QUANTITY, STRING, STRINGS, ListOf, String
from polykind.apis.meta.types import LABEL_SELECTOR
from polykind.apis.storage.types import STORAGE_V1

_struct = STORAGE_V1.struct


_TOKEN_REQUEST = _struct(
    "TokenRequest",
    "A service account token that a driver needs.",
    Field("audience", 1, STRING, omitempty=False),
    Field("expirationSeconds", 2, INT64, pointer=True),
)

_CSI_DRIVER_SPEC = _struct(
    "CSIDriverSpec",
    "The properties of a driver.",
    Field("attachRequired", 1, BOOL, pointer=True),
    Field("podInfoOnMount", 2, BOOL, pointer=True),
    Field("volumeLifecycleModes", 3, ListOf(String("v1.VolumeLifecycleMode")), list_type="set"),
    Field("storageCapacity", 4, BOOL, pointer=True),
    Field("fsGroupPolicy", 5, String("v1.FSGroupPolicy"), pointer=True),
    Field("tokenRequests", 6, ListOf(_TOKEN_REQUEST)),
    Field("requiresRepublish", 7, BOOL, pointer=True),
    Field("seLinuxMount", 8, BOOL, pointer=True),
    Field("nodeAllocatableUpdatePeriodSeconds", 9, INT64, pointer=True),
    Field("serviceAccountTokenInSecrets", 10, BOOL, pointer=True),
    Field("preventPodSchedulingIfMissing", 11, BOOL, pointer=True),
)

CSI_DRIVER_FIELDS = (Field("spec", 2, _CSI_DRIVER_SPEC, "The desired state.", omitempty=False),)

_VOLUME_NODE_RESOURCES = _struct(
    "VolumeNodeResources",
    "The limits of a driver on a node.",
    Field("count", 1, INT32, pointer=True),
)

_CSI_NODE_DRIVER = _struct(
    "CSINodeDriver",
    "A driver on a node.",
    Field("name", 1, STRING, omitempty=False),
    Field("nodeID", 2, STRING, omitempty=False),
    Field("topologyKeys", 3, STRINGS, omitempty=False, required=False),
    Field("allocatable", 4, _VOLUME_NODE_RESOURCES, pointer=True),
)

_CSI_NODE_SPEC = _struct(
    "CSINodeSpec",
    "The drivers on a node.",
    Field("drivers", 1, ListOf(_CSI_NODE_DRIVER), omitempty=False, keys=("name",), merge_key="name"),
)

CSI_NODE_FIELDS = (Field("spec", 2, _CSI_NODE_SPEC, "The desired state.", omitempty=False),)

CSI_STORAGE_CAPACITY_FIELDS = (
    Field("nodeTopology", 2, LABEL_SELECTOR, pointer=True),
    Field("storageClassName", 3, STRING, omitempty=False),
    Field("capacity", 4, QUANTITY, pointer=True),
    Field("maximumVolumeSize", 5, QUANTITY, pointer=True),
)
