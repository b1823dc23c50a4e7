"""The object in a request's body: decoded, checked to be of the right kind, coerced, pruned and defaulted."""

from __future__ import annotations

from polykind import errors
from polykind.apply.rejected import go_name
from polykind.contract import JsonObject
from polykind.gotext import go_quote
from polykind.verbs.call import Call
from polykind.wire import codec, negotiation, yamlcodec

_HEAD = '{ APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
_SHOWN = 30


def read(call: Call, validation: str) -> JsonObject:
    """The body's object at the request's version."""
    media = negotiation.body_media(call.request.header(b"content-type"), offers=call.version.media)
    body = call.request.body
    value, duplicates = _parse(call, body, media, validation)
    _check_kind(call, value, body)
    obj, unknown = call.version.decode(value, validation != "Ignore")
    complaints = duplicates + [f"unknown field {go_quote(p)}" for p in unknown]
    if complaints and validation == "Strict":
        raise misfit(call, value, f"strict decoding error: {', '.join(complaints)}")
    for text in complaints:
        call.request.warn(text)
    return obj


def _parse(call: Call, body: bytes, media: str, validation: str) -> tuple[JsonObject, list[str]]:
    """The decoded body and what a strict reading complains of."""
    try:
        if media == "yaml":
            value, complaints = yamlcodec.decode_strict(body)
            duplicates = [yamlcodec.strict_error(complaints)] if complaints else []
        else:
            value = codec.decode(body)
            duplicates = codec.duplicate_complaints(body, value) if validation != "Ignore" else []
    except (errors.BadRequest, yamlcodec.MalformedYAML) as error:
        raise unrecognized(call, body, str(error)) from None
    if not isinstance(value, dict):
        why = f"json: cannot unmarshal {go_name(value)} into Go value of type struct {_HEAD}"
        raise unrecognized(call, body, f"couldn't get version/kind; json parse error: {why}")
    return value, duplicates if validation != "Ignore" else []


def misfit(call: Call, value: JsonObject, why: str) -> errors.BadRequest:
    """The body is of a kind that is known, but not fit for it."""
    return errors.BadRequest(
        f'{value["kind"]} in version "{call.version.version}" cannot be handled as a {call.kind.kind}: {why}'
    )


def unrecognized(call: Call, body: bytes, why: str) -> errors.BadRequest:
    """The body does not even tell what it is."""
    return errors.BadRequest(
        f"the object provided is unrecognized (must be of type {call.kind.kind}): {why} ({_summary(body)})"
    )


def _summary(body: bytes) -> str:
    """The beginning of a body: as text if it looks like JSON, else in hexadecimal."""
    if not body:
        return "<empty>"
    cut, more = body[:_SHOWN], " ..." if len(body) > _SHOWN else ""
    return (cut.decode("utf-8", "replace") if body.startswith(b"{") else cut.hex()) + more


def _check_kind(call: Call, value: JsonObject, body: bytes) -> None:
    """The body must be an object that names its kind, at the version of the request."""
    expected, text = call.version.api_version, body.decode("utf-8", "replace")
    for field in ("apiVersion", "kind"):
        found = value.get(field)
        if found is not None and not isinstance(found, str):
            why = f"json: cannot unmarshal {go_name(found)} into Go struct field .{field} of type string"
            raise unrecognized(call, body, f"couldn't get version/kind; json parse error: {why}")
    kind, api_version = value.get("kind") or "", value.get("apiVersion") or ""
    if not kind:
        raise unrecognized(call, body, f"Object 'Kind' is missing in '{text}'")
    if not api_version and call.version.needs_version:
        raise unrecognized(call, body, f"Object 'apiVersion' is missing in '{text}'")
    call.version.check_kind(kind, api_version)
    if api_version != expected:
        raise errors.BadRequest(
            f"the API version in the data ({api_version}) does not match the expected API version ({expected})"
        )
