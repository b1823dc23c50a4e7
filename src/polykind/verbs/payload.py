"""The object in a request's body: decoded, checked to be of the right kind, coerced, pruned and defaulted."""

from __future__ import annotations

from typing import Any

import msgspec

from polykind import errors
from polykind.codec import json_codec, negotiation, yaml_codec
from polykind.codec.protobuf_envelope import decode_envelope
from polykind.codec.protobuf_wire import ProtobufError
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.resources.object_codec import Decoded
from polykind.verbs.context import RequestContext

_SHOWN = 30


class _Head(msgspec.Struct, rename="camel"):
    """What a body says it is, for bodies that cannot be read whole."""

    api_version: str | None = None
    kind: str | None = None


def read(call: RequestContext, validation: str) -> Decoded:
    """The body's object at the request's version."""
    version, body = call.version, call.request.body
    media = negotiation.body_media(call.request.header(b"content-type"), offers=version.media)
    if media == "protobuf":
        value, complaints = _message(call, body), list[str]()
    else:
        value, complaints = _parse(call, body, media, validation)
        if not _is_expected(call, value):
            value = _named(call, value, media, validation)
    refusal = _other_version(call, value.get("apiVersion", ""))
    if refusal is not None and version.is_builtin:
        raise refusal
    decoded = version.codec.decode(value, report_unknown=validation != "Ignore")
    unknown = decoded.unknown_fields
    if complaints and media == "json":
        complaints = duplicates(call, complaints, unknown, value)
    found = complaints + unknown_fields(call, unknown)
    if complaints and unknown and version.is_builtin and media == "json":
        found = json_codec.sort_strict_errors(found, body)
    if validation == "Strict" and found:
        if media == "yaml" and complaints:
            found[: len(complaints)] = [yaml_codec.strict_error(complaints)]
        raise _misfit(value, value["kind"], f"strict decoding error: {', '.join(found)}")
    for text in found:
        call.request.warn(text)
    if refusal is not None:
        raise refusal
    return decoded


def unknown_fields(call: RequestContext, paths: list[str]) -> list[str]:
    """A strict reader's words for unknown fields. Only the reader of typed objects escapes what it quotes."""
    return [
        f"unknown field {go_quote(path)}" if call.version.is_builtin else f'unknown field "{path}"' for path in paths
    ]


def duplicates(call: RequestContext, complaints: list[str], unknown: list[str], value: Any) -> list[str]:
    """What a strict reader says of repeated keys: that of typed objects looks neither into unknown fields nor into
    those that have a reader of their own."""
    if not call.version.is_builtin:
        return complaints
    sealed = call.version.codec.own_decoder_paths(value)
    return [
        complaint
        for complaint in complaints
        if not any(_lies_in(complaint, path, '".[') for path in unknown)
        and not any(_lies_in(complaint, path, ".[") for path in sealed)
    ]


def _is_expected(call: RequestContext, value: Any) -> bool:
    """Whether a body says that it is just what the resource holds, as nearly all do."""
    if type(value) is not dict or call.version.is_builtin:
        return False
    return value.get("apiVersion") == call.version.api_version and value.get("kind") == call.resource.kind


def _other_version(call: RequestContext, found: str) -> errors.BadRequestError | None:
    expected = call.version.api_version
    if found == expected:
        return None
    return errors.BadRequestError(
        f"the API version in the data ({found}) does not match the expected API version ({expected})"
    )


def _parse(call: RequestContext, body: bytes, media: str, validation: str) -> tuple[Any, list[str]]:
    """The decoded body and the keys that it repeats, in a strict reader's words."""
    try:
        if media == "yaml":
            value, complaints = yaml_codec.decode_strict(body)
            if call.version.is_builtin:
                # It is read by way of JSON, whose keys are in order: so are its unknown fields.
                value = json_codec.decode(json_codec.encode(value))
        elif call.version.is_builtin:
            value, call.whole = json_codec.decode_literal(body)
            complaints = json_codec.duplicate_field_errors(body, value)
        else:
            value, call.whole, complaints = json_codec.decode_strict(body)
        return value, complaints if validation != "Ignore" else []
    except json_codec.MalformedJSONError as error:
        if error.syntax:
            raise _unrecognized(call, error.message) from None
        raise _misfit(_defaulted(call, *_head(body)), call.resource.kind, error.text) from None
    except yaml_codec.MalformedYAMLError as error:
        raise _unrecognized(call, str(error)) from None


def _lies_in(complaint: str, path: str, beyond: str) -> bool:
    """Whether a repeated key goes on from a path by one of some characters; a quotation mark: it is the path."""
    prefix = f"duplicate field {go_quote(path)[:-1]}"
    return complaint.startswith(prefix) and complaint[len(prefix)] in beyond


def _head(body: bytes) -> tuple[str, str]:
    try:
        head = msgspec.json.decode(body, type=_Head)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return "", ""
    return head.api_version or "", head.kind or ""


def _named(call: RequestContext, value: Any, media: str, validation: str) -> JsonObject:
    """The body as an object that says what it is. A typed one need not, others must."""
    try:
        api_version, kind = json_codec.read_type_meta(value)
    except errors.BadRequestError as error:
        raise _unrecognized(call, error.message) from None
    named = _defaulted(call, api_version, kind)
    if call.version.is_builtin:
        call.version.codec.check_kind(named["kind"], named["apiVersion"])
        return {**value, **named} if value else named
    if not value or not value.get("kind"):
        raise _without_kind(call, value, named, media, validation)
    if value.get("apiVersion", "") is None:
        why = ".apiVersion accessor error: <nil> is of the type <nil>, expected string"
        raise _misfit({"kind": kind}, call.resource.kind, why)
    found: JsonObject = value
    return found


def _without_kind(
    call: RequestContext, value: Any, named: JsonObject, media: str, validation: str
) -> errors.BadRequestError:
    """Nobody would know what it is. A reader that ignores what is unknown tells it by other words."""
    if validation != "Ignore":
        return _unrecognized(call, f"Object 'Kind' is missing in '{_text(call.request.body)}'")
    read_as = json_codec.encode(value) if media == "yaml" else call.request.body
    return _misfit(named, call.resource.kind, f"Object 'Kind' is missing in '{_text(read_as)}'")


def _message(call: RequestContext, body: bytes) -> JsonObject:
    """The object of a body in protobuf, whose unknown fields nobody sees."""
    try:
        api_version, kind, message = decode_envelope(body)
    except ProtobufError as error:
        raise _unrecognized(call, str(error)) from None
    named = _defaulted(call, "" if api_version.count("/") > 1 else api_version, kind)
    call.version.codec.check_kind(named["kind"], named["apiVersion"])
    try:
        return {**call.version.codec.from_message(message), **named}
    except ProtobufError as error:
        raise _misfit(named, call.resource.kind, str(error)) from None


def _defaulted(call: RequestContext, api_version: str, kind: str) -> JsonObject:
    return {"kind": kind or call.resource.kind, "apiVersion": api_version or call.version.api_version}


def _misfit(value: JsonObject, expected: str, why: str) -> errors.BadRequestError:
    """The body says what it is, but cannot be read as what it should be."""
    version = value.get("apiVersion", "").rpartition("/")[2]
    return errors.BadRequestError(f'{value["kind"]} in version "{version}" cannot be handled as a {expected}: {why}')


def _unrecognized(call: RequestContext, why: str) -> errors.BadRequestError:
    """The body does not even tell what it is."""
    return errors.BadRequestError(
        f"the object provided is unrecognized (must be of type {call.resource.kind}): {why} "
        f"({_summary(call.request.body)})"
    )


def _summary(body: bytes) -> str:
    """The beginning of a body: as text if it looks like JSON, else in hexadecimal."""
    if not body:
        return "<empty>"
    cut, more = body[:_SHOWN], " ..." if len(body) > _SHOWN else ""
    return (_text(cut) if body.startswith(b"{") else cut.hex()) + more


def _text(body: bytes) -> str:
    return body.decode("utf-8", "replace")
