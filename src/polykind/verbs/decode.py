"""The first stage of a write: decode the request body into an object of the request's version."""

from __future__ import annotations

from typing import Any

import msgspec

from polykind import errors
from polykind.apis.machinery.protobuf_envelope import decode_envelope
from polykind.codec import json_codec, negotiation, yaml_codec
from polykind.codec.protobuf_wire import ProtobufError
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.operations.operation import Operation
from polykind.operations.options import WriteOptions
from polykind.verbs.write import Draft, Learnt

_QUOTED_BYTES = 30
"""The maximum number of bytes of an unrecognized body that an error message quotes."""


class _TypeMeta(msgspec.Struct, rename="camel"):
    """The type of an object, read from a body that cannot be decoded as a whole."""

    api_version: str | None = None
    kind: str | None = None


def decode(op: Operation, options: WriteOptions) -> Draft:
    """Decode the request body: parse, check its kind, coerce, prune and default.

    Unknown and duplicate fields are errors or warnings, depending on `options.field_validation`. Raise BadRequestError
    if the body is not an object of the request's kind and version.
    """
    version, body, field_validation = op.version, op.body, options.field_validation
    media = negotiation.body_media(op.media.content_type, offers=version.media)
    value, integers_only, duplicates = _parse(op, body, media, field_validation)
    if not states_expected_type(op, value) and media != "protobuf":
        value = _with_type_meta(op, value, media, field_validation)
    version_error = _version_error(op, value.get("apiVersion", ""))
    if version_error is not None and version.is_builtin:
        raise version_error
    version.codec.check_default_size(body, value)
    decoded = version.codec.decode(value, report_unknown=field_validation != "Ignore")
    if duplicates or decoded.unknown_fields:
        _report(op, media, value, duplicates, decoded.unknown_fields, field_validation)
    if version_error is not None:
        raise version_error
    op.notes.record_object(version, decoded.obj)
    return Draft(decoded.obj, Learnt.VALID if decoded.validated else Learnt.PRUNED, integers_only)


def _report(
    op: Operation, media: str, value: JsonObject, duplicates: list[str], unknown: list[str], field_validation: str
) -> None:
    """Send warnings about duplicate and unknown fields, or raise BadRequestError if `field_validation` is Strict."""
    if duplicates and media == "json":
        duplicates = relevant_duplicates(op, duplicates, unknown, value)
    strict_errors = duplicates + unknown_field_errors(op, unknown)
    if duplicates and unknown and op.version.is_builtin and media == "json":
        strict_errors = json_codec.sort_strict_errors(strict_errors, op.body)
    if field_validation == "Strict" and strict_errors:
        if media == "yaml" and duplicates:
            strict_errors[: len(duplicates)] = [yaml_codec.strict_error(duplicates)]
        raise _cannot_be_handled(value, value["kind"], f"strict decoding error: {', '.join(strict_errors)}")
    for text in strict_errors:
        op.notes.warn(text)


def unknown_field_errors(op: Operation, paths: list[str]) -> list[str]:
    """Return kube-apiserver's messages for unknown fields. Only the messages for built-in types escape the path."""
    return [
        f"unknown field {go_quote(path)}" if op.version.is_builtin else f'unknown field "{path}"'
        for path in paths[: errors.MAX_FIELD_ERRORS]
    ]


def relevant_duplicates(op: Operation, duplicates: list[str], unknown: list[str], value: Any) -> list[str]:
    """Return `duplicates` without the messages that kube-apiserver's decoder of built-in types does not report.

    This decoder skips the content of unknown fields and of fields whose type has its own decoder.
    """
    if not op.version.is_builtin:
        return duplicates
    own_decoders = op.version.codec.own_decoder_paths(value)
    return [
        message
        for message in duplicates
        if not any(_lies_in(message, path, '".[') for path in unknown)
        and not any(_lies_in(message, path, ".[") for path in own_decoders)
    ]


def _lies_in(message: str, path: str, following: str) -> bool:
    """True if `message` is about a duplicate field whose path starts with `path` and a character of `following`."""
    prefix = f"duplicate field {go_quote(path)[:-1]}"
    return message.startswith(prefix) and message[len(prefix)] in following


def _check_object_count(op: Operation, value: Any) -> None:
    """Raise RequestTooLargeError if a decoded body has too many objects for its kind. An object takes two bytes."""
    limit = op.version.strategy.max_objects
    if len(op.body) > 2 * limit:
        json_codec.check_object_count(value, limit)


def states_expected_type(op: Operation, value: Any) -> bool:
    """True if the body is a custom object of the request's kind and apiVersion. A fast test that most bodies pass."""
    if type(value) is not dict or op.version.is_builtin:
        return False
    return value.get("apiVersion") == op.version.api_version and value.get("kind") == op.resource.kind


def _version_error(op: Operation, requested: str) -> errors.BadRequestError | None:
    expected = op.version.api_version
    if requested == expected:
        return None
    return errors.BadRequestError(
        f"the API version in the data ({requested}) does not match the expected API version ({expected})"
    )


def _parse(op: Operation, body: bytes, media: str, field_validation: str) -> tuple[Any, bool, list[str]]:
    """Return the parsed body, True if all its numbers are known to be integers, and messages about duplicate fields."""
    integers_only = False
    if media == "protobuf":
        value = _decode_protobuf(op, body)
        _check_object_count(op, value)
        return value, False, []
    try:
        if media == "yaml":
            value, _, duplicates = yaml_codec.decode_strict(body)
            if op.version.is_builtin:
                # kube-apiserver converts YAML to JSON with sorted keys, so it reports unknown fields in that order.
                value = json_codec.decode(json_codec.encode(value))
        elif op.version.is_builtin:
            value, integers_only = json_codec.decode_literal(body)
            duplicates = json_codec.duplicate_field_errors(body, value)
            if duplicates:
                value = json_codec.decode_merging(body)
        else:
            value, integers_only, duplicates = json_codec.decode_strict(body)
    except json_codec.MalformedJSONError as error:
        if error.syntax:
            raise _unrecognized(op, error.message) from None
        raise _cannot_be_handled(_type_meta(op, *_stated_type(body)), op.resource.kind, error.text) from None
    except yaml_codec.MalformedYAMLError as error:
        raise _unrecognized(op, str(error)) from None
    if op.version.is_builtin or media == "yaml":
        _check_object_count(op, value)
    return value, integers_only, duplicates if field_validation != "Ignore" else []


def _stated_type(body: bytes) -> tuple[str, str]:
    """Return the apiVersion and kind of a body that cannot be decoded as a whole."""
    try:
        requested = msgspec.json.decode(body, type=_TypeMeta)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return "", ""
    return requested.api_version or "", requested.kind or ""


def _with_type_meta(op: Operation, value: Any, media: str, field_validation: str) -> JsonObject:
    """Return the body with apiVersion and kind. A built-in object may omit them, a custom object may not."""
    try:
        api_version, kind = json_codec.read_type_meta(value)
    except errors.BadRequestError as error:
        raise _unrecognized(op, error.message) from None
    type_meta = _type_meta(op, api_version, kind)
    if op.version.is_builtin:
        op.version.codec.check_kind(type_meta["kind"], type_meta["apiVersion"])
        return {**value, **type_meta} if value else type_meta
    if not value or not value.get("kind"):
        raise _kind_missing(op, value, type_meta, media, field_validation)
    if value.get("apiVersion", "") is None:
        reason = ".apiVersion accessor error: <nil> is of the type <nil>, expected string"
        raise _cannot_be_handled({"kind": kind}, op.resource.kind, reason)
    obj: JsonObject = value
    return obj


def _kind_missing(
    op: Operation, value: Any, type_meta: JsonObject, media: str, field_validation: str
) -> errors.BadRequestError:
    """Return the error for a custom object without kind. Its text depends on `field_validation`."""
    if field_validation != "Ignore":
        return _unrecognized(op, f"Object 'Kind' is missing in '{_text(op.body)}'")
    decoded = json_codec.encode(value) if media == "yaml" else op.body
    return _cannot_be_handled(type_meta, op.resource.kind, f"Object 'Kind' is missing in '{_text(decoded)}'")


def _decode_protobuf(op: Operation, body: bytes) -> JsonObject:
    """Decode a protobuf body. Unknown fields are ignored."""
    try:
        api_version, kind, message = decode_envelope(body)
    except ProtobufError as error:
        raise _unrecognized(op, str(error)) from None
    type_meta = _type_meta(op, "" if api_version.count("/") > 1 else api_version, kind)
    op.version.codec.check_kind(type_meta["kind"], type_meta["apiVersion"])
    try:
        return {**op.version.codec.from_message(message), **type_meta}
    except ProtobufError as error:
        raise _cannot_be_handled(type_meta, op.resource.kind, str(error)) from None


def _type_meta(op: Operation, api_version: str, kind: str) -> JsonObject:
    return {"kind": kind or op.resource.kind, "apiVersion": api_version or op.version.api_version}


def _cannot_be_handled(value: JsonObject, expected: str, reason: str) -> errors.BadRequestError:
    """Return the error for a body with apiVersion and kind that cannot be decoded as an object of kind `expected`."""
    version = value.get("apiVersion", "").rpartition("/")[2]
    return errors.BadRequestError(f'{value["kind"]} in version "{version}" cannot be handled as a {expected}: {reason}')


def _unrecognized(op: Operation, reason: str) -> errors.BadRequestError:
    """Return the error for a body whose kind cannot be determined."""
    return errors.BadRequestError(
        f"the object provided is unrecognized (must be of type {op.resource.kind}): {reason} ({_summary(op.body)})"
    )


def _summary(body: bytes) -> str:
    """Return the beginning of a body: as text if it looks like JSON, else in hexadecimal."""
    if not body:
        return "<empty>"
    head, more = body[:_QUOTED_BYTES], " ..." if len(body) > _QUOTED_BYTES else ""
    return (_text(head) if body.startswith(b"{") else head.hex()) + more


def _text(body: bytes) -> str:
    return body.decode("utf-8", "replace")
