"""Content negotiation: the media type of a request's body and of its response."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import cache, partial
from typing import Final

import msgspec

from polykind.bounded_cache import remember
from polykind.errors import NotAcceptableError, UnsupportedMediaTypeError
from polykind.golang.query import Query, first_value

MEDIA_TYPES: Final = {
    "json": "application/json",
    "yaml": "application/yaml",
    "protobuf": "application/vnd.kubernetes.protobuf",
}
"""Media types by name. Error messages list all of them, even where only some are allowed, as in kube-apiserver."""

Transform = tuple[str, str, str]
OBJECT_TRANSFORMS: Final[frozenset[Transform]] = frozenset(
    ("meta.k8s.io", version, kind)
    for version in ("v1", "v1beta1")
    for kind in ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")
)
"""The kinds (group, version, kind) that clients can request with the parameters g=, v= and as= of the Accept header."""
METADATA_TRANSFORMS: Final[frozenset[Transform]] = frozenset(
    transform for transform in OBJECT_TRANSFORMS if transform[2] != "Table"
)
"""The kinds that a client can request with as= for resources without a Table."""
OBJECT_VERSIONS: Final = "ObjectVersions"
"""The kind of a document with one object at all served versions. kube-apiserver has no such kind."""
VERSION_TRANSFORMS: Final[frozenset[Transform]] = OBJECT_TRANSFORMS | {("polykind.dev", "v1", OBJECT_VERSIONS)}
"""The kinds that a client can request with as= for a read or a dry run of one object."""
NO_TRANSFORMS: Final[frozenset[Transform]] = frozenset()

CUSTOM_MEDIA: Final = ("json", "yaml")
"""The media types of custom resources, which have no protobuf messages."""
BUILTIN_MEDIA: Final = ("json", "yaml", "protobuf")
JSON_ONLY: Final = ("json",)
GZIP_ABOVE: Final = 128 * 1024
_MAX_ACCEPT: Final = 4096
"""Characters of an Accept header that are read. Those of clients have a few hundred."""


class ResponseFormat(msgspec.Struct, frozen=True):
    """The format of a response. `as_kind`, `as_group` and `as_version` are the parameters as=, g= and v= of the Accept
    header: the kind to which the server converts the object or list, such as Table.
    """

    media: str = "json"
    as_kind: str | None = None
    as_group: str = ""
    as_version: str = ""
    pretty: bool = False
    stream: str = ""

    @property
    def content_type(self) -> str:
        return MEDIA_TYPES[self.media]


def negotiate(
    accept: str, *, offers: tuple[str, ...] = CUSTOM_MEDIA, transforms: frozenset[Transform] = OBJECT_TRANSFORMS
) -> ResponseFormat:
    """Return the best format for an Accept header. Raise NotAcceptableError if no format is acceptable.

    `offers` are the media types of the resource's own kind. `transforms` are the kinds that the as= parameter may
    request. These support all media types, except that there are no Tables and no ObjectVersions in protobuf.
    """
    accepted = _negotiator(offers, transforms)(accept)
    if accepted is None:
        raise NotAcceptableError(f"only the following media types are accepted: {', '.join(MEDIA_TYPES.values())}")
    return accepted


def negotiate_watch(
    accept: str, *, offers: tuple[str, ...] = CUSTOM_MEDIA, transforms: frozenset[Transform] = OBJECT_TRANSFORMS
) -> ResponseFormat:
    """Return the best format for a watch, as `negotiate` does for other requests. YAML is not acceptable.

    Raise NotAcceptableError if no format is acceptable.
    """
    accepted = negotiate(accept, offers=offers, transforms=transforms)
    if accepted.media == "yaml":
        raise NotAcceptableError(
            "only the following media types are accepted: "
            f"{MEDIA_TYPES['json']};stream=watch, {MEDIA_TYPES['protobuf']};stream=watch"
        )
    return accepted


def check_names_media_type(accept: str, *, streams: bool = False, offers: tuple[str, ...] = BUILTIN_MEDIA) -> None:
    """Raise NotAcceptableError if an Accept header contains neither one of the media types in `offers` nor */*.

    kube-apiserver checks this for built-in resources before content negotiation. If `streams` is true, the error also
    lists the media types of watches.
    """
    media_types = _media_types(offers)
    if not _names_any(accept, media_types):
        streamed = (f"{MEDIA_TYPES[media]};stream=watch" for media in ("json", "protobuf") if streams)
        raise _not_acceptable(*media_types, *streamed)


def check_names_document_type(accept: str, media_type: str) -> None:
    """Raise NotAcceptableError if an Accept header contains neither `media_type`, a document's only type, nor */*."""
    if not _names_any(accept, (media_type,)):
        raise _not_acceptable(media_type)


def _not_acceptable(*media_types: str) -> NotAcceptableError:
    error = NotAcceptableError(f"406: Not Acceptable\n\nAvailable representations: {', '.join(media_types)}")
    error.include_details = error.from_router = True
    return error


@cache
def _media_types(offers: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(MEDIA_TYPES[media] for media in offers)


@remember(256 * 1024)
def _names_any(accept: str, media_types: tuple[str, ...]) -> bool:
    names = {part.partition(";")[0].strip(" ") for part in clauses(accept)}
    return not accept or "*/*" in names or not names.isdisjoint(media_types)


def negotiate_error(accept: str, offers: tuple[str, ...] = BUILTIN_MEDIA) -> ResponseFormat | None:
    """Return the format of an error response. Return None if no format is acceptable: the server then sends indented
    JSON, as kube-apiserver does.
    """
    return _negotiator(offers, NO_TRANSFORMS)(accept)


def negotiate_page(accept: str, transforms: frozenset[Transform]) -> ResponseFormat | None:
    """Return the format of a debugging page, such as /statusz: None for plain text, otherwise JSON or YAML.

    `transforms` are the kinds that the client may request in JSON or YAML with the as= parameter. Raise
    NotAcceptableError if the client accepts neither such a kind nor plain text.
    """
    for kind, subkind, parameters in _clauses(accept) if accept.strip() else (("text", "plain", {}),):
        if "stream" in parameters or "sv" in parameters:
            continue
        if kind in ("application", "*"):
            for media in CUSTOM_MEDIA:
                accepted = _accepted(media, parameters, (), transforms) if subkind in (media, "*") else None
                if accepted is not None:
                    return accepted
        if kind in ("text", "*") and subkind in ("plain", "*") and parameters.keys().isdisjoint(("g", "v", "as")):
            return None
    media_types = (MEDIA_TYPES["json"], MEDIA_TYPES["yaml"], "text/plain")
    raise NotAcceptableError(f"only the following media types are accepted: {', '.join(media_types)}")


@cache
def _negotiator(offers: tuple[str, ...], transforms: frozenset[Transform]) -> Callable[[str], ResponseFormat | None]:
    """Return the function that chooses a format for an Accept header. The server has few offers and transforms."""
    return remember(64 * 1024)(partial(_choose, offers, transforms))


def _choose(offers: tuple[str, ...], transforms: frozenset[Transform], accept: str) -> ResponseFormat | None:
    if not accept:
        return ResponseFormat(offers[0])
    for kind, subkind, parameters in _clauses(accept):
        for media, name in MEDIA_TYPES.items():
            offered_kind, _, offered_subkind = name.partition("/")
            exact = kind == offered_kind and subkind in (offered_subkind, "*")
            if exact or (kind == "*" and subkind == "*"):
                accepted = _accepted(media, parameters, offers, transforms)
                if accepted is not None:
                    return accepted
    return None


def _accepted(
    media: str, parameters: dict[str, str], offers: tuple[str, ...], transforms: frozenset[Transform]
) -> ResponseFormat | None:
    stream = parameters.get("stream", "")
    if (stream and (media == "yaml" or stream != "watch")) or parameters.get("sv", "") not in ("", "v1"):
        return None
    group, version, kind = (parameters.get(name, "") for name in ("g", "v", "as"))
    transformed = not parameters.keys().isdisjoint(("g", "v", "as"))
    if (group, version, kind) not in transforms if transformed else media not in offers:
        return None
    if kind in ("Table", OBJECT_VERSIONS) and media == "protobuf":
        return None
    return ResponseFormat(media, kind if transformed else None, group, version, parameters.get("pretty") == "1", stream)


def clauses(accept: str) -> list[str]:
    """Return the first clauses of an Accept header, which is read before the client is authorized."""
    if len(accept) > _MAX_ACCEPT:
        accept = accept[:_MAX_ACCEPT].rpartition(",")[0]
    return accept.split(",")


def _clauses(accept: str) -> list[tuple[str, str, dict[str, str]]]:
    """Parse the clauses of an Accept header, sorted by preference."""
    found: list[tuple[float, str, str, dict[str, str]]] = []
    for part in clauses(accept):
        name, _, rest = part.strip(" ").partition(";")
        kind, _, subkind = name.partition("/")
        kind = kind.strip(" ")
        subkind, _, more = subkind.partition("/")
        if more or not (subkind or kind == "*"):
            continue
        quality, parameters = 1.0, {}
        for piece in rest.split(";"):
            key, _, value = piece.partition("=")
            value, equals, more = value.partition("=")
            if more or not (value or equals):
                continue
            if key.strip(" ") == "q":
                quality = _quality(value)
            else:
                parameters[key.strip(" ")] = value.strip(" ")
        found.append((quality, kind, (subkind or "*").strip(" "), parameters))
    if len(found) > 12:
        found.sort(key=lambda clause: (-clause[0], clause[1] == "*", clause[2] == "*"))
    else:
        _insert_sorted(found)
    return [clause[1:] for clause in found]


def _insert_sorted(clauses: list[tuple[float, str, str, dict[str, str]]]) -> None:
    """Sort the clauses in place with insertion sort, which Go uses for short lists.

    `_before` is not a total order, so another algorithm could give a different result than Go's.
    """
    for i in range(1, len(clauses)):
        j = i
        while j > 0 and _before(clauses[j], clauses[j - 1]):
            clauses[j], clauses[j - 1] = clauses[j - 1], clauses[j]
            j -= 1


def _before(one: tuple[float, str, str, dict[str, str]], other: tuple[float, str, str, dict[str, str]]) -> bool:
    if one[0] > other[0]:
        return True
    return (one[1] != "*" and other[1] == "*") or (one[2] != "*" and other[2] == "*")


def _quality(text: str) -> float:
    try:
        return float(text) if _is_number(text) else 0.0
    except ValueError:
        return 0.0


_is_number = re.compile(r"[+-]?[0-9]*+(?:\.[0-9]*+)?(?:[eE][+-]?[0-9]+)?").fullmatch
_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"  # noqa: S105
_match_media_type = re.compile(rf"\s*({_TOKEN}(?:/{_TOKEN})?)\s*").match
_match_parameter = re.compile(rf';\s*({_TOKEN})\s*=\s*(?:{_TOKEN}|"(?:[^"\\\r\n]|\\.)*")\s*').match


@remember(256 * 1024)
def _parse_content_type(content_type: str) -> str | None:
    """Return the media type of a Content-Type header, or None if the header is malformed."""
    match = _match_media_type(content_type)
    if match is None:
        return None
    at, names = match.end(), set()
    while at < len(content_type):
        parameter = _match_parameter(content_type, at)
        if parameter is None:
            return match[1].lower() if content_type[at:].strip() == ";" else None
        if parameter[1].lower() in names:
            return None
        names.add(parameter[1].lower())
        at = parameter.end()
    return match[1].lower()


def body_media(content_type: str, *, offers: Collection[str] = CUSTOM_MEDIA) -> str:
    """Return the media type of a request body: json, yaml or protobuf. Without a Content-Type, it is json.

    Raise UnsupportedMediaTypeError if the type is not in `offers`.
    """
    if not content_type or content_type == "application/json":
        return "json"
    media_type = _parse_content_type(content_type)
    for media in offers:
        if MEDIA_TYPES[media] == media_type:
            return media
    raise _unsupported(MEDIA_TYPES.values())


def patch_media_type(content_type: str, *, offers: Collection[str]) -> str:
    """Return the media type of a patch.

    Raise UnsupportedMediaTypeError if the header does not exactly match a supported type.
    """
    at = content_type.find(";")
    media_type = content_type[:at] if at > 0 else content_type
    if media_type not in offers:
        raise _unsupported(offers)
    return media_type


def _unsupported(offers: Collection[str]) -> UnsupportedMediaTypeError:
    return UnsupportedMediaTypeError(
        f"the body of the request was in an unknown format - accepted media types include: {', '.join(offers)}"
    )


def is_pretty(query: Query, user_agent: bytes) -> bool:
    """True if JSON must be indented: because of ?pretty, or else for browsers, curl and Wget."""
    pretty = first_value(query, "pretty") if query else ""
    if pretty:
        return pretty in ("1", "t", "T", "true", "TRUE", "True")
    return user_agent.startswith((b"curl", b"Wget", b"Mozilla/5.0"))


def wants_gzip(accept_encoding: str, size: int) -> bool:
    """True if the client accepts gzip and a body of `size` bytes is large enough to be compressed."""
    return size > GZIP_ABOVE and accepts_gzip(accept_encoding)


def accepts_gzip(accept_encoding: str) -> bool:
    """True if an Accept-Encoding header names gzip."""
    return any(token.strip() == "gzip" for token in accept_encoding.split(","))
