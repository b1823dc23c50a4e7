"""Choice of the media type for discovery and OpenAPI responses by the Accept header, as in kube-apiserver."""

from __future__ import annotations

from typing import Final

from polykind.codec.negotiation import clauses

GROUP: Final = "apidiscovery.k8s.io"
VERSION: Final = "v2"
KIND: Final = "APIGroupDiscoveryList"
AGGREGATED_PARAMETERS: Final = f";g={GROUP};v={VERSION};as={KIND}"
"""The parameters that follow the media type in the Content-Type of an aggregated discovery response."""
JSON: Final = "application/json"
AGGREGATED_MEDIA_TYPE: Final = f"{JSON}{AGGREGATED_PARAMETERS}"
OPENAPI_V2_PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

_SERVED: Final = (JSON, "application/yaml", "application/vnd.kubernetes.protobuf")
_OPENAPI_V2: Final = (
    (JSON, JSON),
    (OPENAPI_V2_PROTOBUF.replace("v2.v1", "v2@v1"), OPENAPI_V2_PROTOBUF),
    (OPENAPI_V2_PROTOBUF, OPENAPI_V2_PROTOBUF),
)


def aggregated_media_type(accept: str) -> str | None:
    """Return the media type (without parameters) for aggregated discovery, or None if the client does not accept it.

    As in kube-apiserver, a clause of the Accept header that names the kind APIGroupDiscoveryList has precedence over
    all other clauses, regardless of their order and weights.
    """
    for main_type, subtype, parameters in _clauses(accept):
        requested = (parameters.get("g", ""), parameters.get("v", ""), parameters.get("as", ""))
        if requested != (GROUP, VERSION, KIND):
            continue
        for media_type in _SERVED:
            if _matches(main_type, subtype, media_type):
                return media_type
    return None


def openapi_v2_media_type(accept: str) -> str | None:
    """Return the media type for /openapi/v2, JSON or protobuf, or None if the client accepts neither."""
    for main_type, subtype, _ in _clauses(accept or "*/*"):
        for accepted, media_type in _OPENAPI_V2:
            if _matches(main_type, subtype, accepted):
                return media_type
    return None


def openapi_v3_media_type(accept: str) -> str | None:
    """Return the media type for an OpenAPI v3 document, or None if the client does not accept JSON."""
    return (
        JSON if any(_matches(main_type, subtype, JSON) for main_type, subtype, _ in _clauses(accept or "*/*")) else None
    )


def _matches(main_type: str, subtype: str, media_type: str) -> bool:
    served_main_type, _, served_subtype = media_type.partition("/")
    return main_type in (served_main_type, "*") and subtype in (served_subtype, "*")


def _clauses(accept: str) -> list[tuple[str, str, dict[str, str]]]:
    """Return the clauses of an Accept header as type, subtype and parameters. The clause with the highest weight is
    first, and wildcards are last.
    """
    found = []
    for part in clauses(accept):
        media, *rest = part.strip(" ").split(";")
        main_type, slash, subtype = (text.strip(" ") for text in media.partition("/"))
        if not subtype and main_type == "*" and not slash:
            subtype = "*"
        if not subtype or "/" in subtype:
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
        found.append((weight, main_type, subtype, parameters))
    found.sort(key=lambda clause: (-clause[0], clause[1] == "*", clause[2] == "*"))
    return [(main_type, subtype, parameters) for _, main_type, subtype, parameters in found]


def _weight(text: str) -> float:
    """Parse the weight of an Accept clause, its parameter `q`. Return 0 if it is not a valid number."""
    try:
        weight = float(text)
    except ValueError:
        return 0.0
    return weight if weight == weight else 0.0
