"""The fields of PersistentVolumeClaims."""

from __future__ import annotations

from polykind.apis.core.reference_types import TYPED_LOCAL_OBJECT_REFERENCE, TYPED_OBJECT_REFERENCE
from polykind.apis.core.types import CORE_V1
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import RESOURCE_LIST, STRING, TIME, ListOf, MapOf, String
from polykind.apis.meta.types import LABEL_SELECTOR, OBJECT_META

_struct = CORE_V1.struct

_CLAIM_RESOURCE_STATUS = String(
    "v1.ClaimResourceStatus",
    (
        "ControllerResizeInProgress",
        "ControllerResizeInfeasible",
        "NodeResizeInProgress",
        "NodeResizeInfeasible",
        "NodeResizePending",
    ),
)

PERSISTENT_VOLUME_ACCESS_MODE = String(
    "v1.PersistentVolumeAccessMode", ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
)
_PERSISTENT_VOLUME_CLAIM_MODIFY_VOLUME_STATUS = String(
    "v1.PersistentVolumeClaimModifyVolumeStatus", ("InProgress", "Infeasible", "Pending")
)
_PERSISTENT_VOLUME_CLAIM_PHASE = String("v1.PersistentVolumeClaimPhase", ("Bound", "Lost", "Pending"))
PERSISTENT_VOLUME_MODE = String("v1.PersistentVolumeMode", ("Block", "Filesystem"))

_VOLUME_RESOURCE_REQUIREMENTS = _struct(
    "VolumeResourceRequirements",
    "The storage that a volume must and may have.",
    Field("limits", 1, RESOURCE_LIST, "The greatest size."),
    Field("requests", 2, RESOURCE_LIST, "The least size."),
)

_PERSISTENT_VOLUME_CLAIM_SPEC = _struct(
    "PersistentVolumeClaimSpec",
    "The desired state of a claim.",
    Field("accessModes", 1, ListOf(PERSISTENT_VOLUME_ACCESS_MODE), "The ways in which nodes can mount the volume."),
    Field("selector", 4, LABEL_SELECTOR, "The labels of the volume.", pointer=True),
    Field("resources", 2, _VOLUME_RESOURCE_REQUIREMENTS, "The requested size of the volume."),
    Field("volumeName", 3, STRING, "The volume to which the claim is bound."),
    Field("storageClassName", 5, STRING, "The storage class of the volume.", pointer=True),
    Field("volumeMode", 6, PERSISTENT_VOLUME_MODE, "Filesystem or Block.", pointer=True),
    Field("dataSource", 7, TYPED_LOCAL_OBJECT_REFERENCE, pointer=True),
    Field("dataSourceRef", 8, TYPED_OBJECT_REFERENCE, pointer=True),
    Field("volumeAttributesClassName", 9, STRING, pointer=True),
)

_PERSISTENT_VOLUME_CLAIM_CONDITION = _struct(
    "PersistentVolumeClaimCondition",
    "One aspect of the state of a claim.",
    Field(
        "type",
        1,
        String("v1.PersistentVolumeClaimConditionType"),
        "The aspect of the state, in CamelCase.",
        omitempty=False,
    ),
    Field("status", 2, String("v1.ConditionStatus"), "True, False or Unknown.", omitempty=False),
    Field("lastProbeTime", 3, TIME, "The time of the last check."),
    Field("lastTransitionTime", 4, TIME, "The time of the last change of the status."),
    Field("reason", 5, STRING, "The reason for the last change, in CamelCase."),
    Field("message", 6, STRING, "A readable explanation."),
)

_MODIFY_VOLUME_STATUS = _struct(
    "ModifyVolumeStatus",
    "The progress of a change of the volume's attributes.",
    Field("targetVolumeAttributesClassName", 1, STRING),
    Field("status", 2, _PERSISTENT_VOLUME_CLAIM_MODIFY_VOLUME_STATUS, "The observed state.", omitempty=False),
)

_PERSISTENT_VOLUME_CLAIM_STATUS = _struct(
    "PersistentVolumeClaimStatus",
    "The observed state of a claim.",
    Field("phase", 1, _PERSISTENT_VOLUME_CLAIM_PHASE, "Pending, Bound or Lost."),
    Field("accessModes", 2, ListOf(PERSISTENT_VOLUME_ACCESS_MODE)),
    Field("capacity", 3, RESOURCE_LIST, "The size of the volume."),
    Field("conditions", 4, ListOf(_PERSISTENT_VOLUME_CLAIM_CONDITION), keys=("type",), merge_key="type"),
    Field("allocatedResources", 5, RESOURCE_LIST),
    Field(
        "allocatedResourceStatuses",
        7,
        MapOf(_CLAIM_RESOURCE_STATUS, "map[v1.ResourceName]v1.ClaimResourceStatus"),
        map_type="granular",
    ),
    Field("currentVolumeAttributesClassName", 8, STRING, pointer=True),
    Field("modifyVolumeStatus", 9, _MODIFY_VOLUME_STATUS, pointer=True),
)

PERSISTENT_VOLUME_CLAIM_FIELDS = (
    Field("spec", 2, _PERSISTENT_VOLUME_CLAIM_SPEC, "The desired state."),
    Field("status", 3, _PERSISTENT_VOLUME_CLAIM_STATUS, "The observed state."),
)

PERSISTENT_VOLUME_CLAIM_TEMPLATE = _struct(
    "PersistentVolumeClaimTemplate",
    "A template from which a claim is created.",
    Field("metadata", 1, OBJECT_META),
    Field("spec", 2, _PERSISTENT_VOLUME_CLAIM_SPEC, "The desired state.", omitempty=False),
)
