"""What a webhook answers when it is asked about a write: the response of an AdmissionReview, in both versions."""

from __future__ import annotations

from polykind.typed.kinds import BOOL, BYTES, STRING_MAP, STRINGS, Field, String, Struct
from polykind.typed.meta import STATUS, UID


def _review(version: str) -> Struct:
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
    return Struct(f"{version}.AdmissionReview", (Field("response", response, 2, pointer=True),))


ADMISSION_REVIEWS = {"v1": _review("v1"), "v1beta1": _review("v1beta1")}
"""By version; without the request, of which an answer may have a copy that nobody reads."""
