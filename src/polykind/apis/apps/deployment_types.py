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
    "",
    Field("maxUnavailable", 1, INT_OR_STRING, pointer=True),
    Field("maxSurge", 2, INT_OR_STRING, pointer=True),
)

_DEPLOYMENT_STRATEGY = _struct(
    "DeploymentStrategy",
    "",
    Field("type", 1, _DEPLOYMENT_STRATEGY_TYPE),
    Field("rollingUpdate", 2, _ROLLING_UPDATE_DEPLOYMENT, pointer=True),
)

_DEPLOYMENT_SPEC = _struct(
    "DeploymentSpec",
    "",
    Field("replicas", 1, INT32, pointer=True),
    Field("selector", 2, LABEL_SELECTOR, omitempty=False, pointer=True, required=True),
    Field("template", 3, POD_TEMPLATE_SPEC, omitempty=False),
    Field("strategy", 4, _DEPLOYMENT_STRATEGY, patch_strategy="retainKeys"),
    Field("minReadySeconds", 5, INT32),
    Field("revisionHistoryLimit", 6, INT32, pointer=True),
    Field("paused", 7, BOOL),
    Field("progressDeadlineSeconds", 9, INT32, pointer=True),
)

_DEPLOYMENT_CONDITION = _struct(
    "DeploymentCondition",
    "",
    Field("type", 1, String("v1.DeploymentConditionType"), omitempty=False),
    Field("status", 2, _CONDITION_STATUS, "The observed state.", omitempty=False),
    Field("lastUpdateTime", 6, TIME),
    Field("lastTransitionTime", 7, TIME),
    Field("reason", 4, STRING),
    Field("message", 5, STRING),
)

_DEPLOYMENT_STATUS = _struct(
    "DeploymentStatus",
    "",
    Field("observedGeneration", 1, INT64),
    Field("replicas", 2, INT32),
    Field("updatedReplicas", 3, INT32),
    Field("readyReplicas", 7, INT32),
    Field("availableReplicas", 4, INT32),
    Field("unavailableReplicas", 5, INT32),
    Field("terminatingReplicas", 9, INT32, pointer=True),
    Field("conditions", 6, ListOf(_DEPLOYMENT_CONDITION), keys=("type",), merge_key="type"),
    Field("collisionCount", 8, INT32, pointer=True),
)

DEPLOYMENT_FIELDS = (
    Field("spec", 2, _DEPLOYMENT_SPEC, "The desired state."),
    Field("status", 3, _DEPLOYMENT_STATUS, "The observed state."),
)

_REPLICA_SET_SPEC = _struct(
    "ReplicaSetSpec",
    "",
    Field("replicas", 1, INT32, pointer=True),
    Field("minReadySeconds", 4, INT32),
    Field("selector", 2, LABEL_SELECTOR, omitempty=False, pointer=True, required=True),
    Field("template", 3, POD_TEMPLATE_SPEC),
)

_REPLICA_SET_CONDITION = _struct(
    "ReplicaSetCondition",
    "",
    Field("type", 1, String("v1.ReplicaSetConditionType"), omitempty=False),
    Field("status", 2, _CONDITION_STATUS, "The observed state.", omitempty=False),
    Field("lastTransitionTime", 3, TIME),
    Field("reason", 4, STRING),
    Field("message", 5, STRING),
)

_REPLICA_SET_STATUS = _struct(
    "ReplicaSetStatus",
    "",
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
