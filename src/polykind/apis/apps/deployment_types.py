"""The fields of Deployments and ReplicaSets."""

from __future__ import annotations

from polykind.apis.apps.types import APPS_V1
from polykind.apis.core.pod_types import POD_TEMPLATE_SPEC
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import BOOL, INT32, INT64, INT_OR_STRING, STRING, TIME, ListOf, String
from polykind.apis.meta.types import LABEL_SELECTOR

_struct = APPS_V1.struct

_CONDITION_STATUS = String("v1.ConditionStatus")
_DEPLOYMENT_STRATEGY_TYPE = String("v1.DeploymentStrategyType", ("Recreate", "RollingUpdate"))

_ROLLING_UPDATE_DEPLOYMENT = _struct(
    "RollingUpdateDeployment",
    "The pace of a rolling update.",
    Field(
        "maxUnavailable",
        1,
        INT_OR_STRING,
        "The number or share of pods that may be unavailable during an update.",
        pointer=True,
    ),
    Field(
        "maxSurge",
        2,
        INT_OR_STRING,
        "The number or share of pods that may exist above the desired number.",
        pointer=True,
    ),
)

_DEPLOYMENT_STRATEGY = _struct(
    "DeploymentStrategy",
    "The way in which old pods are replaced.",
    Field("type", 1, _DEPLOYMENT_STRATEGY_TYPE, "Recreate or RollingUpdate."),
    Field("rollingUpdate", 2, _ROLLING_UPDATE_DEPLOYMENT, "The settings of RollingUpdate.", pointer=True),
)

_DEPLOYMENT_SPEC = _struct(
    "DeploymentSpec",
    "The desired state of a Deployment.",
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
    Field("strategy", 4, _DEPLOYMENT_STRATEGY, "The way in which old pods are replaced.", patch_strategy="retainKeys"),
    Field("minReadySeconds", 5, INT32, "The time that a pod must be ready before it is available."),
    Field("revisionHistoryLimit", 6, INT32, "The number of old ReplicaSets to keep.", pointer=True),
    Field("paused", 7, BOOL, "True to stop rollouts."),
    Field("progressDeadlineSeconds", 9, INT32, "The time after which a rollout without progress fails.", pointer=True),
)

_DEPLOYMENT_CONDITION = _struct(
    "DeploymentCondition",
    "One aspect of the state of a Deployment.",
    Field("type", 1, String("v1.DeploymentConditionType"), "The aspect of the state, in CamelCase.", omitempty=False),
    Field("status", 2, _CONDITION_STATUS, "True, False or Unknown.", omitempty=False),
    Field("lastUpdateTime", 6, TIME, "The time of the last update."),
    Field("lastTransitionTime", 7, TIME, "The time of the last change of the status."),
    Field("reason", 4, STRING, "The reason for the last change, in CamelCase."),
    Field("message", 5, STRING, "A readable explanation."),
)

_DEPLOYMENT_STATUS = _struct(
    "DeploymentStatus",
    "The observed state of a Deployment.",
    Field("observedGeneration", 1, INT64, "The generation that the controller has seen."),
    Field("replicas", 2, INT32, "The number of pods."),
    Field("updatedReplicas", 3, INT32, "The number of pods of the current template."),
    Field("readyReplicas", 7, INT32, "The number of ready pods."),
    Field("availableReplicas", 4, INT32, "The number of available pods."),
    Field("unavailableReplicas", 5, INT32, "The number of pods that are still needed."),
    Field("terminatingReplicas", 9, INT32, "The number of pods that are being deleted.", pointer=True),
    Field(
        "conditions",
        6,
        ListOf(_DEPLOYMENT_CONDITION),
        "The state of the Deployment, by aspect.",
        keys=("type",),
        merge_key="type",
    ),
    Field("collisionCount", 8, INT32, "The number of collisions of names of ReplicaSets.", pointer=True),
)

DEPLOYMENT_FIELDS = (
    Field("spec", 2, _DEPLOYMENT_SPEC, "The desired state."),
    Field("status", 3, _DEPLOYMENT_STATUS, "The observed state."),
)

_REPLICA_SET_SPEC = _struct(
    "ReplicaSetSpec",
    "The desired state of a ReplicaSet.",
    Field("replicas", 1, INT32, "The desired number of pods.", pointer=True),
    Field("minReadySeconds", 4, INT32, "The time that a pod must be ready before it is available."),
    Field(
        "selector",
        2,
        LABEL_SELECTOR,
        "The labels of the pods. Cannot be changed.",
        omitempty=False,
        pointer=True,
        required=True,
    ),
    Field("template", 3, POD_TEMPLATE_SPEC, "The template of the pods."),
)

_REPLICA_SET_CONDITION = _struct(
    "ReplicaSetCondition",
    "One aspect of the state of a ReplicaSet.",
    Field("type", 1, String("v1.ReplicaSetConditionType"), "The aspect of the state, in CamelCase.", omitempty=False),
    Field("status", 2, _CONDITION_STATUS, "True, False or Unknown.", omitempty=False),
    Field("lastTransitionTime", 3, TIME, "The time of the last change of the status."),
    Field("reason", 4, STRING, "The reason for the last change, in CamelCase."),
    Field("message", 5, STRING, "A readable explanation."),
)

_REPLICA_SET_STATUS = _struct(
    "ReplicaSetStatus",
    "The observed state of a ReplicaSet.",
    Field("replicas", 1, INT32, omitempty=False),
    Field("fullyLabeledReplicas", 2, INT32),
    Field("readyReplicas", 4, INT32),
    Field("availableReplicas", 5, INT32),
    Field("terminatingReplicas", 7, INT32, pointer=True),
    Field("observedGeneration", 3, INT64),
    Field("conditions", 6, ListOf(_REPLICA_SET_CONDITION), keys=("type",), merge_key="type"),
)

REPLICA_SET_FIELDS = (
    Field("spec", 2, _REPLICA_SET_SPEC, "The desired state."),
    Field("status", 3, _REPLICA_SET_STATUS, "The observed state."),
)
