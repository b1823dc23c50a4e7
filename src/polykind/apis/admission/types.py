"""What a webhook answers when it is asked about a write: an AdmissionReview, in both versions."""

from __future__ import annotations

from polykind.apis.authentication.types import USER_INFO
from polykind.apis.machinery.fields import BOOL, BYTES, STRING, STRING_MAP, STRINGS, Field, Raw, String, Struct
from polykind.apis.meta.types import STATUS, UID

_OBJECT = Raw("runtime.RawExtension")
_KIND = Struct(
    "v1.GroupVersionKind",
    tuple(Field(n, STRING, i, omitempty=False) for i, n in enumerate(("group", "version", "kind"), 1)),
)
_RESOURCE = Struct(
    "v1.GroupVersionResource",
    tuple(Field(n, STRING, i, omitempty=False) for i, n in enumerate(("group", "version", "resource"), 1)),
)


def _review(version: str) -> Struct:
    request = Struct(
        f"{version}.AdmissionRequest",
        (
            Field("uid", UID, 1, omitempty=False),
            Field("kind", _KIND, 2),
            Field("resource", _RESOURCE, 3),
            Field("subResource", STRING, 4),
            Field("requestKind", _KIND, 13, pointer=True),
            Field("requestResource", _RESOURCE, 14, pointer=True),
            Field("requestSubResource", STRING, 15),
            Field("name", STRING, 5),
            Field("namespace", STRING, 6),
            Field("operation", String(f"{version}.Operation"), 7, omitempty=False),
            Field("userInfo", USER_INFO, 8),
            Field("object", _OBJECT, 9),
            Field("oldObject", _OBJECT, 10),
            Field("dryRun", BOOL, 11, pointer=True),
            Field("options", _OBJECT, 12),
        ),
    )
    response = Struct(
        f"{version}.AdmissionResponse",
        (
            Field("uid", UID, 1, omitempty=False),
            Field("allowed", BOOL, 2, omitempty=False),
            Field("status", STATUS, 3, pointer=True),
            Field("patch", BYTES, 4),
            Field("patchType", String(f"{version}.PatchType"), 5, pointer=True),
            Field("auditAnnotations", STRING_MAP, 6),
            Field("warnings", STRINGS, 7),
        ),
    )
    parts = (Field("request", request, 1, pointer=True), Field("response", response, 2, pointer=True))
    return Struct(f"{version}.AdmissionReview", parts)


ADMISSION_REVIEWS = {"v1": _review("v1"), "v1beta1": _review("v1beta1")}
"""By version; an answer may have a copy of the request, which is read like the rest and never looked at."""
