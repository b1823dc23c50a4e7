"""The object in a request's body: decoded, checked to be of the right kind, coerced, pruned and defaulted."""

from __future__ import annotations

from typing import Any

from polykind import errors
from polykind.contract import JsonObject
from polykind.verbs.call import Call
from polykind.wire import codec, negotiation, yamlcodec


def read(call: Call, validation: str) -> JsonObject:
    """The body's object at the request's version."""
    media = negotiation.body_media(call.request.header(b"content-type"), offers=call.version.media)
    body = call.request.body
    value, duplicates = _parse(body, media, validation)
    check_kind(call, value, body)
    if not isinstance(value, dict):
        raise AssertionError("unreachable")
    return finish(call, value, duplicates, validation)


def _parse(body: bytes, media: str, validation: str) -> tuple[Any, list[str]]:
    if media == "yaml":
        value, duplicates = yamlcodec.decode(body)
        return value, duplicates if validation != "Ignore" else []
    value = codec.decode(body)
    return value, codec.duplicate_keys(body, value) if validation != "Ignore" else []


def finish(call: Call, value: JsonObject, duplicates: list[str], validation: str) -> JsonObject:
    """Coerce, prune and default; tell of unknown and duplicate fields as the client asked."""
    obj, unknown = call.version.decode(value, validation != "Ignore")
    complaints = [f'duplicate field "{p}"' for p in duplicates] + [f'unknown field "{p}"' for p in unknown]
    if complaints and validation == "Strict":
        raise errors.BadRequest(f"strict decoding error: {', '.join(complaints)}")
    for text in complaints:
        call.request.warn(text)
    return obj


def check_kind(call: Call, value: object, body: bytes) -> None:
    """The body must be an object that names its kind, at the version of the request."""
    expected = call.version.api_version
    if not isinstance(value, dict):
        raise errors.BadRequest(codec.not_an_object(value))
    kind, api_version = value.get("kind"), value.get("apiVersion")
    if not isinstance(kind, str) or not kind:
        text = body.decode("utf-8", "replace")
        raise errors.BadRequest(f"Object 'Kind' is missing in '{text}'")
    if api_version != expected:
        raise errors.BadRequest(
            f"the API version in the data ({api_version}) does not match the expected API version ({expected})"
        )
