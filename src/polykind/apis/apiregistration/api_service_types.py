"""The fields of APIServices."""

from __future__ import annotations

from polykind.apis.apiregistration.types import APIREGISTRATION_V1
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import BOOL, BYTES, INT32, STRING, TIME, ListOf, String

_struct = APIREGISTRATION_V1.struct


_SERVICE_REFERENCE = _struct(
    "ServiceReference",
    "A reference to a service.",
    Field("namespace", 1, STRING),
    Field("name", 2, STRING),
    Field("port", 3, INT32, pointer=True),
)

_API_SERVICE_SPEC = _struct(
    "APIServiceSpec",
    "The group version and the server that serves it.",
    Field("service", 1, _SERVICE_REFERENCE, "The service of the API server; none for the server itself.", pointer=True),
    Field("group", 2, STRING, "The API group."),
    Field("version", 3, STRING, "The version."),
    Field("insecureSkipTLSVerify", 4, BOOL, "True to skip the check of the server's certificate."),
    Field(
        "caBundle",
        5,
        BYTES,
        "The CA of the server's certificate in PEM.",
        published={"x-kubernetes-list-type": "atomic"},
    ),
    Field("groupPriorityMinimum", 7, INT32, "The priority of the group.", omitempty=False),
    Field("versionPriority", 8, INT32, "The priority of the version in its group.", omitempty=False),
)

_API_SERVICE_CONDITION = _struct(
    "APIServiceCondition",
    "One aspect of the state of an APIService.",
    Field("type", 1, String("v1.APIServiceConditionType"), "The aspect of the state, in CamelCase.", omitempty=False),
    Field("status", 2, String("v1.ConditionStatus"), "True, False or Unknown.", omitempty=False),
    Field("lastTransitionTime", 3, TIME, "The time of the last change of the status."),
    Field("reason", 4, STRING, "The reason for the last change, in CamelCase."),
    Field("message", 5, STRING, "A readable explanation."),
)

_API_SERVICE_STATUS = _struct(
    "APIServiceStatus",
    "The observed state of an APIService.",
    Field("conditions", 1, ListOf(_API_SERVICE_CONDITION), keys=("type",), merge_key="type"),
)

API_SERVICE_FIELDS = (
    Field("spec", 2, _API_SERVICE_SPEC, "The desired state."),
    Field("status", 3, _API_SERVICE_STATUS, "The observed state."),
)
