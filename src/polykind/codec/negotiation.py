"""Which form a request's body has and which form its answer shall have."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from polykind.errors import NotAcceptableError, UnsupportedMediaTypeError
from polykind.http.messages import Query, first_value

MEDIA_TYPES: Final = {
    "json": "application/json",
    "yaml": "application/yaml",
    "protobuf": "application/vnd.kubernetes.protobuf",
}
"""Media by name. The refusals name them all, also to those who are refused one of them."""

Transform = tuple[str, str, str]
OBJECT_TRANSFORMS: Final[frozenset[Transform]] = frozenset(
    ("meta.k8s.io", version, kind)
    for version in ("v1", "v1beta1")
    for kind in ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")
)
"""What objects and lists can be asked for as: group, version, kind."""
METADATA_TRANSFORMS: Final[frozenset[Transform]] = frozenset(form for form in OBJECT_TRANSFORMS if form[2] != "Table")
"""What those are asked for as that have no Tables."""
NO_TRANSFORMS: Final[frozenset[Transform]] = frozenset()

CUSTOM_MEDIA: Final = ("json", "yaml")
"""What custom resources are read and written in: they have no messages."""
BUILTIN_MEDIA: Final = ("json", "yaml", "protobuf")
JSON_ONLY: Final = ("json",)
GZIP_ABOVE: Final = 128 * 1024


@dataclass(frozen=True, slots=True)
class ResponseFormat:
    """The form of an answer; `as_kind` with `as_group` and `as_version` if it is to be another kind."""

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
    """The form that suits an Accept header best. Raises NotAcceptable.

    `offers` is what whole objects come in; what they are transformed to comes in any form, but Tables not in protobuf.
    """
    found = _negotiate(accept, offers, transforms)
    if found is None:
        raise NotAcceptableError(f"only the following media types are accepted: {', '.join(MEDIA_TYPES.values())}")
    return found


def negotiate_watch(
    accept: str, *, offers: tuple[str, ...] = CUSTOM_MEDIA, transforms: frozenset[Transform] = OBJECT_TRANSFORMS
) -> ResponseFormat:
    """As `negotiate`, for a stream of events: those do not come in YAML. Raises NotAcceptable."""
    found = negotiate(accept, offers=offers, transforms=transforms)
    if found.media == "yaml":
        raise NotAcceptableError(
            "only the following media types are accepted: "
            f"{MEDIA_TYPES['json']};stream=watch, {MEDIA_TYPES['protobuf']};stream=watch"
        )
    return found


def check_names_media_type(accept: str, *, streams: bool = False, offers: tuple[str, ...] = BUILTIN_MEDIA) -> None:
    """Refuse a header that does not name a form outright: built-in resources are not even found by it.

    `streams`: what is asked for can also be watched, which the refusal says. Raises NotAcceptable.
    """
    if not _names_any(accept, offers):
        forms = [MEDIA_TYPES[media] for media in offers]
        forms += [f"{MEDIA_TYPES[media]};stream=watch" for media in ("json", "protobuf") if streams]
        error = NotAcceptableError(f"406: Not Acceptable\n\nAvailable representations: {', '.join(forms)}")
        error.include_details = True
        raise error


@lru_cache(maxsize=512)
def _names_any(accept: str, offers: tuple[str, ...]) -> bool:
    names = {part.partition(";")[0].strip(" ") for part in accept.split(",")}
    return not accept or "*/*" in names or not names.isdisjoint(MEDIA_TYPES[media] for media in offers)


def negotiate_error(accept: str) -> ResponseFormat | None:
    """The form of a Status. None where the header suits nothing: the reference then sends JSON, always indented."""
    return _negotiate(accept, BUILTIN_MEDIA, NO_TRANSFORMS)


@lru_cache(maxsize=512)
def _negotiate(accept: str, offers: tuple[str, ...], transforms: frozenset[Transform]) -> ResponseFormat | None:
    if not accept:
        return ResponseFormat(offers[0])
    for kind, subkind, parameters in _clauses(accept):
        for media, name in MEDIA_TYPES.items():
            offered_kind, _, offered_subkind = name.partition("/")
            exact = kind == offered_kind and subkind in (offered_subkind, "*")
            if exact or (kind == "*" and subkind == "*"):
                found = _accepted(media, parameters, offers, transforms)
                if found is not None:
                    return found
    return None


def _accepted(
    media: str, parameters: dict[str, str], offers: tuple[str, ...], transforms: frozenset[Transform]
) -> ResponseFormat | None:
    stream = parameters.get("stream", "")
    if (stream and (media == "yaml" or stream != "watch")) or parameters.get("sv", "") not in ("", "v1"):
        return None
    group, version, kind = (parameters.get(name) for name in ("g", "v", "as"))
    transformed = not group is version is kind is None
    if transformed and (group or "", version or "", kind or "") not in transforms:
        return None
    if (kind == "Table" and media == "protobuf") or (not transformed and media not in offers):
        return None
    return ResponseFormat(
        media,
        (kind or "") if transformed else None,
        group or "",
        version or "",
        parameters.get("pretty") == "1",
        stream,
    )


def _clauses(accept: str) -> list[tuple[str, str, dict[str, str]]]:
    """The clauses of an Accept header, the preferred first, those alike in the header's order."""
    found: list[tuple[float, str, str, dict[str, str]]] = []
    for part in accept.split(","):
        name, _, rest = part.strip(" ").partition(";")
        kind, _, subkind = name.partition("/")
        kind = kind.strip(" ")
        subkind, _, more = subkind.partition("/")
        if more or not (subkind or kind == "*"):
            continue
        quality, parameters = 1.0, {}
        for piece in rest.split(";"):
            key, _, value = piece.partition("=")
            value, again, more = value.partition("=")
            if more or not (value or again):
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


def _insert_sorted(found: list[tuple[float, str, str, dict[str, str]]]) -> None:
    """Sorted by insertion: the reference's comparison is no order, so that only the same walk gives the same result."""
    for i in range(1, len(found)):
        j = i
        while j > 0 and _before(found[j], found[j - 1]):
            found[j], found[j - 1] = found[j - 1], found[j]
            j -= 1


def _before(one: tuple[float, str, str, dict[str, str]], other: tuple[float, str, str, dict[str, str]]) -> bool:
    if one[0] > other[0]:
        return True
    return (one[1] != "*" and other[1] == "*") or (one[2] != "*" and other[2] == "*")


def _quality(text: str) -> float:
    try:
        return float(text) if re.fullmatch(r"[+-]?[0-9]*\.?[0-9]*(?:[eE][+-]?[0-9]+)?", text) else 0.0
    except ValueError:
        return 0.0


_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"  # noqa: S105
_media_type = re.compile(rf"\s*({_TOKEN}(?:/{_TOKEN})?)\s*").match
_parameter = re.compile(rf';\s*({_TOKEN})\s*=\s*(?:{_TOKEN}|"(?:[^"\\\r\n]|\\.)*")\s*').match


@lru_cache(maxsize=256)
def _essence(content_type: str) -> str | None:
    """The media type of a Content-Type header; None if the header is malformed."""
    found = _media_type(content_type)
    if found is None:
        return None
    at, seen = found.end(), set()
    while at < len(content_type):
        parameter = _parameter(content_type, at)
        if parameter is None:
            return found[1].lower() if content_type[at:].strip() == ";" else None
        if parameter[1].lower() in seen:
            return None
        seen.add(parameter[1].lower())
        at = parameter.end()
    return found[1].lower()


def body_media(content_type: str, *, offers: Collection[str] = CUSTOM_MEDIA) -> str:
    """The form of a request's body, json if it does not say. Raises UnsupportedMediaType."""
    if not content_type or content_type == "application/json":
        return "json"
    essence = _essence(content_type)
    for media in offers:
        if MEDIA_TYPES[media] == essence:
            return media
    raise _unsupported(MEDIA_TYPES.values())


def patch_media_type(content_type: str, *, offers: Collection[str]) -> str:
    """The media type of a patch, which is compared letter by letter. Raises UnsupportedMediaType."""
    at = content_type.find(";")
    essence = content_type[:at] if at > 0 else content_type
    if essence not in offers:
        raise _unsupported(offers)
    return essence


def _unsupported(offers: Collection[str]) -> UnsupportedMediaTypeError:
    return UnsupportedMediaTypeError(
        f"the body of the request was in an unknown format - accepted media types include: {', '.join(offers)}"
    )


def is_pretty(query: Query, user_agent: str) -> bool:
    """Whether JSON is to be laid out for people: by ?pretty, else if a browser or a command line asks."""
    wish = first_value(query, "pretty")
    if wish:
        return wish in ("1", "t", "T", "true", "TRUE", "True")
    return user_agent.startswith(("curl", "Wget", "Mozilla/5.0"))


def wants_gzip(accept_encoding: str, size: int) -> bool:
    """Whether a body of that size is sent compressed."""
    return size > GZIP_ABOVE and any(token.strip() == "gzip" for token in accept_encoding.split(","))
