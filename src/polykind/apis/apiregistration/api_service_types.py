"""The fields of APIServices."""

from __future__ import annotations

from polykind.apis.apiregistration.types import APIREGISTRATION_V1
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import BOOL, BYTES, INT32, STRING, TIME, ListOf, String

_struct = APIREGISTRATION_V1.struct


_SERVICE_REFERENCE = _struct(
    "ServiceReference",
    "",
    Field("namespace", 1, STRING),
    Field("name", 2, STRING),
    Field("port", 3, INT32, pointer=True),
)

_API_SERVICE_SPEC = _struct(
    "APIServiceSpec",
    "",
    Field("service", 1, _SERVICE_REFERENCE, pointer=True),
    Field("group", 2, STRING),
    Field("version", 3, STRING),
    Field("insecureSkipTLSVerify", 4, BOOL),
    Field("caBundle", 5, BYTES),
    Field("groupPriorityMinimum", 7, INT32, omitempty=False),
    Field("versionPriority", 8, INT32, omitempty=False),
)

_API_SERVICE_CONDITION = _struct(
    "APIServiceCondition",
    "",
    Field("type", 1, String("v1.APIServiceConditionType"), omitempty=False),
    Field("status", 2, String("v1.ConditionStatus"), "The observed state.", omitempty=False),
    Field("lastTransitionTime", 3, TIME),
    Field("reason", 4, STRING),
    Field("message", 5, STRING),
)

_API_SERVICE_STATUS = _struct(
    "APIServiceStatus",
    "",
    Field("conditions", 1, ListOf(_API_SERVICE_CONDITION), keys=("type",), merge_key="type"),
)

API_SERVICE_FIELDS = (
    Field("spec", 2, _API_SERVICE_SPEC, "The desired state."),
    Field("status", 3, _API_SERVICE_STATUS, "The observed state."),
)
