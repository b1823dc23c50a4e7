"""The fields of StatefulSets, DaemonSets and ControllerRevisions."""

from __future__ import annotations

from polykind.apis.apps.types import APPS_V1
from polykind.apis.core.pod_types import POD_TEMPLATE_SPEC
from polykind.apis.core.types import PERSISTENT_VOLUME_CLAIM
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import INT32, INT64, INT_OR_STRING, RAW_EXTENSION, STRING, TIME, ListOf, String
from polykind.apis.meta.types import LABEL_SELECTOR

_struct = APPS_V1.struct

_CONDITION_STATUS = String("v1.ConditionStatus")
_DAEMON_SET_UPDATE_STRATEGY_TYPE = String("v1.DaemonSetUpdateStrategyType", ("OnDelete", "RollingUpdate"))
_PERSISTENT_VOLUME_CLAIM_RETENTION_POLICY_TYPE = String("v1.PersistentVolumeClaimRetentionPolicyType")
_POD_MANAGEMENT_POLICY_TYPE = String("v1.PodManagementPolicyType", ("OrderedReady", "Parallel"))
_STATEFUL_SET_UPDATE_STRATEGY_TYPE = String("v1.StatefulSetUpdateStrategyType", ("OnDelete", "RollingUpdate"))

_ROLLING_UPDATE_STATEFUL_SET_STRATEGY = _struct(
    "RollingUpdateStatefulSetStrategy",
    "The pace of a rolling update.",
    Field("partition", 1, INT32, "The number of the first pod to update.", pointer=True),
    Field(
        "maxUnavailable",
        2,
        INT_OR_STRING,
        "The number or share of pods that may be unavailable during an update.",
        pointer=True,
    ),
)

_STATEFUL_SET_UPDATE_STRATEGY = _struct(
    "StatefulSetUpdateStrategy",
    "The way in which old pods are replaced.",
    Field("type", 1, _STATEFUL_SET_UPDATE_STRATEGY_TYPE, "RollingUpdate or OnDelete."),
    Field("rollingUpdate", 2, _ROLLING_UPDATE_STATEFUL_SET_STRATEGY, "The settings of RollingUpdate.", pointer=True),
)

_STATEFUL_SET_PERSISTENT_VOLUME_CLAIM_RETENTION_POLICY = _struct(
    "StatefulSetPersistentVolumeClaimRetentionPolicy",
    "The treatment of claims of deleted pods.",
    Field("whenDeleted", 1, _PERSISTENT_VOLUME_CLAIM_RETENTION_POLICY_TYPE),
    Field("whenScaled", 2, _PERSISTENT_VOLUME_CLAIM_RETENTION_POLICY_TYPE),
)

_STATEFUL_SET_ORDINALS = _struct(
    "StatefulSetOrdinals",
    "The numbers of the pods.",
    Field("start", 1, INT32, omitempty=False, required=False),
)

_STATEFUL_SET_SPEC = _struct(
    "StatefulSetSpec",
    "The desired state of a StatefulSet.",
    Field("replicas", 1, INT32, "The desired number of pods.", pointer=True),
    Field(
        "selector",
        2,
        LABEL_SELECTOR,
        "The labels of the pods. Cannot be changed.",
        omitempty=False,
        pointer=True,
        required=True,
    ),
    Field("template", 3, POD_TEMPLATE_SPEC, "The template of the pods.", omitempty=False),
    Field("volumeClaimTemplates", 4, ListOf(PERSISTENT_VOLUME_CLAIM), "The templates of the claims of each pod."),
    Field(
        "serviceName",
        5,
        STRING,
        "The headless service that gives the pods their names.",
        omitempty=False,
        required=False,
    ),
    Field(
        "podManagementPolicy",
        6,
        _POD_MANAGEMENT_POLICY_TYPE,
        "OrderedReady or Parallel: the order of starts and stops.",
    ),
    Field("updateStrategy", 7, _STATEFUL_SET_UPDATE_STRATEGY, "The way in which old pods are replaced."),
    Field("revisionHistoryLimit", 8, INT32, "The number of old revisions to keep.", pointer=True),
    Field("minReadySeconds", 9, INT32, "The time that a pod must be ready before it is available."),
    Field(
        "persistentVolumeClaimRetentionPolicy", 10, _STATEFUL_SET_PERSISTENT_VOLUME_CLAIM_RETENTION_POLICY, pointer=True
    ),
    Field("ordinals", 11, _STATEFUL_SET_ORDINALS, pointer=True),
)

_STATEFUL_SET_CONDITION = _struct(
    "StatefulSetCondition",
    "One aspect of the state of a StatefulSet.",
    Field("type", 1, String("v1.StatefulSetConditionType"), "The aspect of the state, in CamelCase.", omitempty=False),
    Field("status", 2, _CONDITION_STATUS, "True, False or Unknown.", omitempty=False),
    Field("lastTransitionTime", 3, TIME, "The time of the last change of the status."),
    Field("reason", 4, STRING, "The reason for the last change, in CamelCase."),
    Field("message", 5, STRING, "A readable explanation."),
)

_STATEFUL_SET_STATUS = _struct(
    "StatefulSetStatus",
    "The observed state of a StatefulSet.",
    Field("observedGeneration", 1, INT64),
    Field("replicas", 2, INT32, omitempty=False),
    Field("readyReplicas", 3, INT32),
    Field("currentReplicas", 4, INT32),
    Field("updatedReplicas", 5, INT32),
    Field("currentRevision", 6, STRING),
    Field("updateRevision", 7, STRING),
    Field("collisionCount", 9, INT32, pointer=True),
    Field("conditions", 10, ListOf(_STATEFUL_SET_CONDITION), keys=("type",), merge_key="type"),
    Field("availableReplicas", 11, INT32, omitempty=False, required=False),
)

STATEFUL_SET_FIELDS = (
    Field("spec", 2, _STATEFUL_SET_SPEC, "The desired state."),
    Field("status", 3, _STATEFUL_SET_STATUS, "The observed state."),
)

_ROLLING_UPDATE_DAEMON_SET = _struct(
    "RollingUpdateDaemonSet",
    "The pace of a rolling update.",
    Field(
        "maxUnavailable",
        1,
        INT_OR_STRING,
        "The number or share of pods that may be unavailable during an update.",
        pointer=True,
    ),
    Field(
        "maxSurge", 2, INT_OR_STRING, "The number or share of nodes that may run an old and a new pod.", pointer=True
    ),
)

_DAEMON_SET_UPDATE_STRATEGY = _struct(
    "DaemonSetUpdateStrategy",
    "The way in which old pods are replaced.",
    Field("type", 1, _DAEMON_SET_UPDATE_STRATEGY_TYPE, "RollingUpdate or OnDelete."),
    Field("rollingUpdate", 2, _ROLLING_UPDATE_DAEMON_SET, "The settings of RollingUpdate.", pointer=True),
)

_DAEMON_SET_SPEC = _struct(
    "DaemonSetSpec",
    "The desired state of a DaemonSet.",
    Field(
        "selector",
        1,
        LABEL_SELECTOR,
        "The labels of the pods. Cannot be changed.",
        omitempty=False,
        pointer=True,
        required=True,
    ),
    Field("template", 2, POD_TEMPLATE_SPEC, "The template of the pods.", omitempty=False),
    Field("updateStrategy", 3, _DAEMON_SET_UPDATE_STRATEGY, "The way in which old pods are replaced."),
    Field("minReadySeconds", 4, INT32, "The time that a pod must be ready before it is available."),
    Field("revisionHistoryLimit", 6, INT32, "The number of old revisions to keep.", pointer=True),
)

_DAEMON_SET_CONDITION = _struct(
    "DaemonSetCondition",
    "One aspect of the state of a DaemonSet.",
    Field("type", 1, String("v1.DaemonSetConditionType"), "The aspect of the state, in CamelCase.", omitempty=False),
    Field("status", 2, _CONDITION_STATUS, "True, False or Unknown.", omitempty=False),
    Field("lastTransitionTime", 3, TIME, "The time of the last change of the status."),
    Field("reason", 4, STRING, "The reason for the last change, in CamelCase."),
    Field("message", 5, STRING, "A readable explanation."),
)

_DAEMON_SET_STATUS = _struct(
    "DaemonSetStatus",
    "The observed state of a DaemonSet.",
    Field("currentNumberScheduled", 1, INT32, omitempty=False),
    Field("numberMisscheduled", 2, INT32, omitempty=False),
    Field("desiredNumberScheduled", 3, INT32, omitempty=False),
    Field("numberReady", 4, INT32, omitempty=False),
    Field("observedGeneration", 5, INT64),
    Field("updatedNumberScheduled", 6, INT32),
    Field("numberAvailable", 7, INT32),
    Field("numberUnavailable", 8, INT32),
    Field("collisionCount", 9, INT32, pointer=True),
    Field("conditions", 10, ListOf(_DAEMON_SET_CONDITION), keys=("type",), merge_key="type"),
)

DAEMON_SET_FIELDS = (
    Field("spec", 2, _DAEMON_SET_SPEC, "The desired state."),
    Field("status", 3, _DAEMON_SET_STATUS, "The observed state."),
)

CONTROLLER_REVISION_FIELDS = (
    Field("data", 2, RAW_EXTENSION),
    Field("revision", 3, INT64, omitempty=False),
)
