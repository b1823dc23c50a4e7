"""Which form of a document a client asks for, read from its Accept header as the reference reads it."""

from __future__ import annotations

from typing import Final, Literal

GROUP: Final = "apidiscovery.k8s.io"
VERSION: Final = "v2"
KIND: Final = "APIGroupDiscoveryList"
AGGREGATED_PARAMETERS: Final = f";g={GROUP};v={VERSION};as={KIND}"
"""What the Content-Type of an aggregated answer carries after its media type, in this order."""
JSON: Final = "application/json"
AGGREGATED_MEDIA_TYPE: Final = f"{JSON}{AGGREGATED_PARAMETERS}"
OPENAPI_V2_PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

_SERVED: Final = (JSON, "application/yaml", "application/vnd.kubernetes.protobuf")
_OPENAPI_V2: Final = (
    (JSON, JSON),
    (OPENAPI_V2_PROTOBUF.replace("v2.v1", "v2@v1"), OPENAPI_V2_PROTOBUF),
    (OPENAPI_V2_PROTOBUF, OPENAPI_V2_PROTOBUF),
)


def parse_aggregated_accept(accept: str) -> Literal["v2"] | None:
    """The version of aggregated discovery to answer with; None: the plain documents."""
    return VERSION if aggregated_media_type(accept) else None


def aggregated_media_type(accept: str) -> str | None:
    """The media type (without parameters) of the aggregated answer, None if none is asked for.

    A clause that asks for the aggregated list wins over any that does not, whatever their order and weights: plain
    clauses are no candidates here, they are looked at only when this finds nothing.
    """
    for kind, subkind, parameters in _clauses(accept):
        wanted = (parameters.get("g", ""), parameters.get("v", ""), parameters.get("as", ""))
        if wanted != (GROUP, VERSION, KIND):
            continue
        for media_type in _SERVED:
            if _matches(kind, subkind, media_type):
                return media_type
    return None


def openapi_v2_media_type(accept: str) -> str | None:
    """What to answer /openapi/v2 with: JSON or the protobuf form; None: neither is accepted."""
    for kind, subkind, _ in _clauses(accept or "*/*"):
        for asked, answered in _OPENAPI_V2:
            if _matches(kind, subkind, asked):
                return answered
    return None


def openapi_v3_media_type(accept: str) -> str | None:
    """What to answer with a v3 document: JSON; None: it is not accepted."""
    return JSON if any(_matches(kind, subkind, JSON) for kind, subkind, _ in _clauses(accept or "*/*")) else None


def _matches(kind: str, subkind: str, media_type: str) -> bool:
    served_kind, _, served_subkind = media_type.partition("/")
    return kind in (served_kind, "*") and subkind in (served_subkind, "*")


def _clauses(accept: str) -> list[tuple[str, str, dict[str, str]]]:
    """The clauses of an Accept header, by weight, then those without wildcards first."""
    found = []
    for part in accept.split(","):
        media, *rest = part.strip(" ").split(";")
        kind, slash, subkind = (text.strip(" ") for text in media.partition("/"))
        if not subkind and kind == "*" and not slash:
            subkind = "*"
        if not subkind or "/" in subkind:
            continue
        parameters, weight = {}, 1.0
        for text in rest:
            name, _, value = text.partition("=")
            if not value or "=" in value:
                continue
            if name.strip(" ") == "q":
                weight = _weight(value)
            else:
                parameters[name.strip(" ")] = value.strip(" ")
        found.append((weight, kind, subkind, parameters))
    found.sort(key=lambda clause: (-clause[0], clause[1] == "*", clause[2] == "*"))
    return [(kind, subkind, parameters) for _, kind, subkind, parameters in found]


def _weight(text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        return 0.0
    return weight if weight == weight else 0.0
