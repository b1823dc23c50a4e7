"""The fields of HorizontalPodAutoscalers at v2."""

from __future__ import annotations

from polykind.apis.autoscaling.types import AUTOSCALING_V2
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import INT32, INT64, QUANTITY, STRING, TIME, ListOf, String
from polykind.apis.meta.types import LABEL_SELECTOR

_struct = AUTOSCALING_V2.struct

_METRIC_SOURCE_TYPE = String("v2.MetricSourceType")
_RESOURCE_NAME = String("v1.ResourceName")

_CROSS_VERSION_OBJECT_REFERENCE = _struct(
    "CrossVersionObjectReference",
    "A reference to an object by its kind and name.",
    Field("kind", 1, STRING, "The kind of the object.", omitempty=False),
    Field("name", 2, STRING, "The name of the object.", omitempty=False),
    Field("apiVersion", 3, STRING, "The apiVersion of the object."),
)

_METRIC_TARGET = _struct(
    "MetricTarget",
    "The target value of a metric.",
    Field("type", 1, String("v2.MetricTargetType"), "Utilization, Value or AverageValue.", omitempty=False),
    Field("value", 2, QUANTITY, "The target value.", pointer=True),
    Field("averageValue", 3, QUANTITY, "The target value for each pod.", pointer=True),
    Field("averageUtilization", 4, INT32, "The target in percent of the requests.", pointer=True),
)

_METRIC_IDENTIFIER = _struct(
    "MetricIdentifier",
    "The name and the labels of a metric.",
    Field("name", 1, STRING, omitempty=False),
    Field("selector", 2, LABEL_SELECTOR, pointer=True),
)

_OBJECT_METRIC_SOURCE = _struct(
    "ObjectMetricSource",
    "A metric of one object.",
    Field("describedObject", 1, _CROSS_VERSION_OBJECT_REFERENCE, omitempty=False),
    Field("target", 2, _METRIC_TARGET, omitempty=False),
    Field("metric", 3, _METRIC_IDENTIFIER, omitempty=False),
)

_PODS_METRIC_SOURCE = _struct(
    "PodsMetricSource",
    "A metric of each pod.",
    Field("metric", 1, _METRIC_IDENTIFIER, omitempty=False),
    Field("target", 2, _METRIC_TARGET, omitempty=False),
)

_RESOURCE_METRIC_SOURCE = _struct(
    "ResourceMetricSource",
    "The usage of a resource by each pod.",
    Field("name", 1, _RESOURCE_NAME, "The name of the resource.", omitempty=False),
    Field("target", 2, _METRIC_TARGET, "The target value.", omitempty=False),
)

_CONTAINER_RESOURCE_METRIC_SOURCE = _struct(
    "ContainerResourceMetricSource",
    "The usage of a resource by one container of each pod.",
    Field("name", 1, _RESOURCE_NAME, omitempty=False),
    Field("target", 2, _METRIC_TARGET, omitempty=False),
    Field("container", 3, STRING, omitempty=False),
)

_EXTERNAL_METRIC_SOURCE = _struct(
    "ExternalMetricSource",
    "A metric from outside of the cluster.",
    Field("metric", 1, _METRIC_IDENTIFIER, omitempty=False),
    Field("target", 2, _METRIC_TARGET, omitempty=False),
)

_METRIC_SPEC = _struct(
    "MetricSpec",
    "A metric and its target.",
    Field("type", 1, _METRIC_SOURCE_TYPE, "Object, Pods, Resource, External or ContainerResource.", omitempty=False),
    Field("object", 2, _OBJECT_METRIC_SOURCE, pointer=True),
    Field("pods", 3, _PODS_METRIC_SOURCE, pointer=True),
    Field("resource", 4, _RESOURCE_METRIC_SOURCE, pointer=True),
    Field("containerResource", 7, _CONTAINER_RESOURCE_METRIC_SOURCE, pointer=True),
    Field("external", 5, _EXTERNAL_METRIC_SOURCE, pointer=True),
)

_HPA_SCALING_POLICY = _struct(
    "HPAScalingPolicy",
    "A limit on the change within a period.",
    Field("type", 1, String("v2.HPAScalingPolicyType"), omitempty=False),
    Field("value", 2, INT32, omitempty=False),
    Field("periodSeconds", 3, INT32, omitempty=False),
)

_HPA_SCALING_RULES = _struct(
    "HPAScalingRules",
    "The rules for scaling in one direction.",
    Field("stabilizationWindowSeconds", 3, INT32, pointer=True),
    Field("selectPolicy", 1, String("v2.ScalingPolicySelect"), pointer=True),
    Field("policies", 2, ListOf(_HPA_SCALING_POLICY), keep_empty=True),
    Field("tolerance", 4, QUANTITY, pointer=True),
)

_HORIZONTAL_POD_AUTOSCALER_BEHAVIOR = _struct(
    "HorizontalPodAutoscalerBehavior",
    "The rules for scaling up and down.",
    Field("scaleUp", 1, _HPA_SCALING_RULES, pointer=True),
    Field("scaleDown", 2, _HPA_SCALING_RULES, pointer=True),
)

_HORIZONTAL_POD_AUTOSCALER_SPEC = _struct(
    "HorizontalPodAutoscalerSpec",
    "The desired state of an autoscaler.",
    Field("scaleTargetRef", 1, _CROSS_VERSION_OBJECT_REFERENCE, "The object to scale.", omitempty=False),
    Field("minReplicas", 2, INT32, "The least number of pods.", pointer=True),
    Field("maxReplicas", 3, INT32, "The greatest number of pods.", omitempty=False),
    Field("metrics", 4, ListOf(_METRIC_SPEC), "The metrics and their targets."),
    Field("behavior", 5, _HORIZONTAL_POD_AUTOSCALER_BEHAVIOR, "The rules for scaling up and down.", pointer=True),
)

_METRIC_VALUE_STATUS = _struct(
    "MetricValueStatus",
    "The current value of a metric.",
    Field("value", 1, QUANTITY, pointer=True),
    Field("averageValue", 2, QUANTITY, pointer=True),
    Field("averageUtilization", 3, INT32, pointer=True),
)

_OBJECT_METRIC_STATUS = _struct(
    "ObjectMetricStatus",
    "The current value of a metric of one object.",
    Field("metric", 1, _METRIC_IDENTIFIER, omitempty=False),
    Field("current", 2, _METRIC_VALUE_STATUS, omitempty=False),
    Field("describedObject", 3, _CROSS_VERSION_OBJECT_REFERENCE, omitempty=False),
)

_PODS_METRIC_STATUS = _struct(
    "PodsMetricStatus",
    "The current value of a metric of each pod.",
    Field("metric", 1, _METRIC_IDENTIFIER, omitempty=False),
    Field("current", 2, _METRIC_VALUE_STATUS, omitempty=False),
)

_RESOURCE_METRIC_STATUS = _struct(
    "ResourceMetricStatus",
    "The current usage of a resource by each pod.",
    Field("name", 1, _RESOURCE_NAME, omitempty=False),
    Field("current", 2, _METRIC_VALUE_STATUS, omitempty=False),
)

_CONTAINER_RESOURCE_METRIC_STATUS = _struct(
    "ContainerResourceMetricStatus",
    "The current usage of a resource by one container of each pod.",
    Field("name", 1, _RESOURCE_NAME, omitempty=False),
    Field("current", 2, _METRIC_VALUE_STATUS, omitempty=False),
    Field("container", 3, STRING, omitempty=False),
)

_EXTERNAL_METRIC_STATUS = _struct(
    "ExternalMetricStatus",
    "The current value of a metric from outside of the cluster.",
    Field("metric", 1, _METRIC_IDENTIFIER, omitempty=False),
    Field("current", 2, _METRIC_VALUE_STATUS, omitempty=False),
)

_METRIC_STATUS = _struct(
    "MetricStatus",
    "The current value of a metric.",
    Field("type", 1, _METRIC_SOURCE_TYPE, omitempty=False),
    Field("object", 2, _OBJECT_METRIC_STATUS, pointer=True),
    Field("pods", 3, _PODS_METRIC_STATUS, pointer=True),
    Field("resource", 4, _RESOURCE_METRIC_STATUS, pointer=True),
    Field("containerResource", 7, _CONTAINER_RESOURCE_METRIC_STATUS, pointer=True),
    Field("external", 5, _EXTERNAL_METRIC_STATUS, pointer=True),
)

_HORIZONTAL_POD_AUTOSCALER_CONDITION = _struct(
    "HorizontalPodAutoscalerCondition",
    "One aspect of the state of an autoscaler.",
    Field(
        "type",
        1,
        String("v2.HorizontalPodAutoscalerConditionType"),
        "The aspect of the state, in CamelCase.",
        omitempty=False,
    ),
    Field("status", 2, String("v1.ConditionStatus"), "True, False or Unknown.", omitempty=False),
    Field("lastTransitionTime", 3, TIME, "The time of the last change of the status."),
    Field("reason", 4, STRING, "The reason for the last change, in CamelCase."),
    Field("message", 5, STRING, "A readable explanation."),
)

_HORIZONTAL_POD_AUTOSCALER_STATUS = _struct(
    "HorizontalPodAutoscalerStatus",
    "The observed state of an autoscaler.",
    Field("observedGeneration", 1, INT64, pointer=True),
    Field("lastScaleTime", 2, TIME, pointer=True),
    Field("currentReplicas", 3, INT32),
    Field("desiredReplicas", 4, INT32, omitempty=False),
    Field("currentMetrics", 5, ListOf(_METRIC_STATUS), omitempty=False, required=False),
    Field("conditions", 6, ListOf(_HORIZONTAL_POD_AUTOSCALER_CONDITION), keys=("type",), merge_key="type"),
)

HORIZONTAL_POD_AUTOSCALER_FIELDS = (
    Field("spec", 2, _HORIZONTAL_POD_AUTOSCALER_SPEC, "The desired state.", required=True),
    Field("status", 3, _HORIZONTAL_POD_AUTOSCALER_STATUS, "The observed state."),
)
