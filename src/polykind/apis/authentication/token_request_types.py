"""The fields of TokenRequests."""

from __future__ import annotations

from polykind.apis.authentication.types import AUTHENTICATION_V1
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import INT64, STRING, STRINGS, TIME
from polykind.apis.meta.types import UID

_struct = AUTHENTICATION_V1.struct


_BOUND_OBJECT_REFERENCE = _struct(
    "BoundObjectReference",
    "The object with which a token expires.",
    Field("kind", 1, STRING),
    Field("apiVersion", 2, STRING),
    Field("name", 3, STRING),
    Field("uid", 4, UID),
)

_TOKEN_REQUEST_SPEC = _struct(
    "TokenRequestSpec",
    "The requested token.",
    Field("audiences", 1, STRINGS, omitempty=False, required=False),
    Field("expirationSeconds", 4, INT64, omitempty=False, pointer=True),
    Field("boundObjectRef", 3, _BOUND_OBJECT_REFERENCE, omitempty=False, pointer=True),
)

_TOKEN_REQUEST_STATUS = _struct(
    "TokenRequestStatus",
    "The token.",
    Field("token", 1, STRING, omitempty=False, required=False),
    Field("expirationTimestamp", 2, TIME, omitempty=False, required=False),
)

TOKEN_REQUEST_FIELDS = (
    Field("spec", 2, _TOKEN_REQUEST_SPEC, "The desired state.", omitempty=False, required=False),
    Field("status", 3, _TOKEN_REQUEST_STATUS, "The observed state."),
)
