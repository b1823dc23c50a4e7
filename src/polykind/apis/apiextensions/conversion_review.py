"""What a converter answers: a ConversionReview, in both versions."""

from __future__ import annotations

from polykind.apis.machinery.fields import STRING, Field, ListOf, Raw, Struct
from polykind.apis.meta.types import STATUS, UID

_OBJECTS = ListOf(Raw("runtime.RawExtension"))


def _review(version: str) -> Struct:
    request = Struct(
        f"{version}.ConversionRequest",
        (
            Field("uid", UID, 1, omitempty=False),
            Field("desiredAPIVersion", STRING, 2, omitempty=False),
            Field("objects", _OBJECTS, 3, omitempty=False),
        ),
    )
    response = Struct(
        f"{version}.ConversionResponse",
        (
            Field("uid", UID, 1, omitempty=False),
            Field("convertedObjects", _OBJECTS, 2, omitempty=False),
            Field("result", STATUS, 3, omitempty=False),
        ),
    )
    parts = (Field("request", request, 1, pointer=True), Field("response", response, 2, pointer=True))
    return Struct(f"{version}.ConversionReview", parts)


CONVERSION_REVIEWS = {"v1": _review("v1"), "v1beta1": _review("v1beta1")}
"""By version."""
