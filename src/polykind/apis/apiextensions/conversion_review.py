"""ConversionReview, the request to and the response of a conversion webhook, at v1 and v1beta1."""

from __future__ import annotations

from polykind.apis.machinery.structs import Field, Struct
from polykind.apis.machinery.value_types import STRING, ListOf, Raw
from polykind.apis.meta.types import STATUS, UID

_OBJECTS = ListOf(Raw("runtime.RawExtension"))


def _review(version: str) -> Struct:
    request = Struct(
        f"{version}.ConversionRequest",
        (
            Field("uid", 1, UID, omitempty=False),
            Field("desiredAPIVersion", 2, STRING, omitempty=False),
            Field("objects", 3, _OBJECTS, omitempty=False),
        ),
    )
    response = Struct(
        f"{version}.ConversionResponse",
        (
            Field("uid", 1, UID, omitempty=False),
            Field("convertedObjects", 2, _OBJECTS, omitempty=False),
            Field("result", 3, STATUS, omitempty=False),
        ),
    )
    parts = (Field("request", 1, request, pointer=True), Field("response", 2, response, pointer=True))
    return Struct(f"{version}.ConversionReview", parts)


CONVERSION_REVIEWS = {"v1": _review("v1"), "v1beta1": _review("v1beta1")}
"""The types of ConversionReview, by version."""
