"""The fields of ResourceQuotas and LimitRanges."""

from __future__ import annotations

from polykind.apis.core.types import CORE_V1
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import RESOURCE_LIST, STRINGS, ListOf, String

_struct = CORE_V1.struct

_RESOURCE_QUOTA_SCOPE = String(
    "v1.ResourceQuotaScope",
    (
        "BestEffort",
        "CrossNamespacePodAffinity",
        "NotBestEffort",
        "NotTerminating",
        "PriorityClass",
        "Terminating",
        "VolumeAttributesClass",
    ),
)
_SCOPE_SELECTOR_OPERATOR = String("v1.ScopeSelectorOperator", ("DoesNotExist", "Exists", "In", "NotIn"))

_SCOPED_RESOURCE_SELECTOR_REQUIREMENT = _struct(
    "ScopedResourceSelectorRequirement",
    "A requirement on the scope of objects.",
    Field("scopeName", 1, _RESOURCE_QUOTA_SCOPE, omitempty=False),
    Field("operator", 2, _SCOPE_SELECTOR_OPERATOR, omitempty=False),
    Field("values", 3, STRINGS),
)

_SCOPE_SELECTOR = _struct(
    "ScopeSelector",
    "A selection of objects by their scopes.",
    Field("matchExpressions", 1, ListOf(_SCOPED_RESOURCE_SELECTOR_REQUIREMENT)),
    atomic=True,
)

_RESOURCE_QUOTA_SPEC = _struct(
    "ResourceQuotaSpec",
    "The desired limits of a quota.",
    Field("hard", 1, RESOURCE_LIST, "The limits, by resource."),
    Field("scopes", 2, ListOf(_RESOURCE_QUOTA_SCOPE), "The scopes of the objects that count."),
    Field("scopeSelector", 3, _SCOPE_SELECTOR, pointer=True),
)

_RESOURCE_QUOTA_STATUS = _struct(
    "ResourceQuotaStatus",
    "The limits of a quota in force, and the current usage.",
    Field("hard", 1, RESOURCE_LIST, "The limits in force, by resource."),
    Field("used", 2, RESOURCE_LIST, "The current usage, by resource."),
)

RESOURCE_QUOTA_FIELDS = (
    Field("spec", 2, _RESOURCE_QUOTA_SPEC, "The desired state."),
    Field("status", 3, _RESOURCE_QUOTA_STATUS, "The observed state."),
)

_LIMIT_RANGE_ITEM = _struct(
    "LimitRangeItem",
    "The limits of one type of object.",
    Field("type", 1, String("v1.LimitType"), "Container, Pod or PersistentVolumeClaim.", omitempty=False),
    Field("max", 2, RESOURCE_LIST, "The greatest amounts."),
    Field("min", 3, RESOURCE_LIST, "The least amounts."),
    Field("default", 4, RESOURCE_LIST, "The limits of containers without limits."),
    Field("defaultRequest", 5, RESOURCE_LIST, "The requests of containers without requests."),
    Field("maxLimitRequestRatio", 6, RESOURCE_LIST, "The greatest ratio of limit and request."),
)

_LIMIT_RANGE_SPEC = _struct(
    "LimitRangeSpec",
    "The limits of a LimitRange.",
    Field("limits", 1, ListOf(_LIMIT_RANGE_ITEM), "The limits, by type of object.", omitempty=False),
)

LIMIT_RANGE_FIELDS = (Field("spec", 2, _LIMIT_RANGE_SPEC, "The desired state."),)
