"""AdmissionReview, the request to and the response of an admission webhook, at v1 and v1beta1."""

from __future__ import annotations

from polykind.apis.authentication.types import USER_INFO
from polykind.apis.machinery.structs import Field, Struct
from polykind.apis.machinery.value_types import BOOL, BYTES, STRING, STRING_MAP, STRINGS, Raw, String
from polykind.apis.meta.types import STATUS, UID

_OBJECT = Raw("runtime.RawExtension")
_KIND = Struct(
    "v1.GroupVersionKind",
    tuple(Field(n, i, STRING, omitempty=False) for i, n in enumerate(("group", "version", "kind"), 1)),
)
_RESOURCE = Struct(
    "v1.GroupVersionResource",
    tuple(Field(n, i, STRING, omitempty=False) for i, n in enumerate(("group", "version", "resource"), 1)),
)


def _review(version: str) -> Struct:
    request = Struct(
        f"{version}.AdmissionRequest",
        (
            Field("uid", 1, UID, omitempty=False),
            Field("kind", 2, _KIND),
            Field("resource", 3, _RESOURCE),
            Field("subResource", 4, STRING),
            Field("requestKind", 13, _KIND, pointer=True),
            Field("requestResource", 14, _RESOURCE, pointer=True),
            Field("requestSubResource", 15, STRING),
            Field("name", 5, STRING),
            Field("namespace", 6, STRING),
            Field("operation", 7, String(f"{version}.Operation"), omitempty=False),
            Field("userInfo", 8, USER_INFO),
            Field("object", 9, _OBJECT),
            Field("oldObject", 10, _OBJECT),
            Field("dryRun", 11, BOOL, pointer=True),
            Field("options", 12, _OBJECT),
        ),
    )
    response = Struct(
        f"{version}.AdmissionResponse",
        (
            Field("uid", 1, UID, omitempty=False),
            Field("allowed", 2, BOOL, omitempty=False),
            Field("status", 3, STATUS, pointer=True),
            Field("patch", 4, BYTES),
            Field("patchType", 5, String(f"{version}.PatchType"), pointer=True),
            Field("auditAnnotations", 6, STRING_MAP),
            Field("warnings", 7, STRINGS),
        ),
    )
    parts = (Field("request", 1, request, pointer=True), Field("response", 2, response, pointer=True))
    return Struct(f"{version}.AdmissionReview", parts)


ADMISSION_REVIEWS = {"v1": _review("v1"), "v1beta1": _review("v1beta1")}
"""The types of AdmissionReview, by version. The server ignores a `request` in the response of a webhook."""
