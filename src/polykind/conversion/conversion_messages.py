"""The ConversionReview request, and the validation of a converter's response.

kube-apiserver sends one object per call, so its error messages name one object. The error messages of this module name
the first object of a batch. The caller finds the object that fails by sending smaller batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw

from polykind.apis.apiextensions.conversion_review import CONVERSION_REVIEWS
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.conversion.conversion_errors import (
    CALL,
    INVALID_OBJECT,
    MALFORMED,
    PARTIAL,
    AttemptError,
    ObjectIdentity,
    error_prefix,
)
from polykind.errors import FieldError, aggregate_message, invalid, too_long
from polykind.golang.fmt import go_quote, go_type
from polykind.golang.json import json_type_name
from polykind.golang.utf8 import byte_length
from polykind.names import label_value, qualified_name
from polykind.webhook.response_errors import body_excerpt
from polykind.webhook.review_envelope import (
    Header,
    MalformedReviewError,
    ReviewKind,
    decode_header,
    decode_review,
    raw_fields,
)
from polykind.webhook.target import string_or_empty

REVIEWS = ReviewKind(
    "apiextensions.k8s.io",
    "ConversionReview",
    frozenset({"CustomResourceDefinition", "CustomResourceDefinitionList", "ConversionReview"}),
)

_OBJECTS = frozenset({"objects", "convertedObjects"})
_raw_items = msgspec.json.Decoder(list[Raw]).decode
_MAX_ANNOTATION_BYTES = 256 * 1024


def request(version: str, uid: str, to: str, objects: Sequence[bytes]) -> bytes:
    """Return the body of a ConversionReview that asks to convert `objects` (in JSON) to the apiVersion `to`.

    `version` is the version of the ConversionReview. Like kube-apiserver, include an empty response.
    """
    return b"".join(
        (
            b'{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/',
            version.encode(),
            b'","request":{"uid":',
            json_codec.encode(uid),
            b',"desiredAPIVersion":',
            json_codec.encode(to),
            b',"objects":[',
            b",".join(objects),
            b']},"response":{"uid":"","convertedObjects":null,"result":{"metadata":{}}}}\n',
        )
    )


def parse_response(version: str, uid: str, body: bytes, objects: Sequence[JsonObject], to: str) -> list[JsonObject]:
    """Parse and validate a response and return the converted objects.

    `objects` are the originals in the order in which they were sent. Raise AttemptError if the response is invalid.
    """
    converted = decode_response(version, uid, body, objects)
    return [check_converted(original, item, to) for original, item in zip(objects, converted, strict=True)]


def decode_response(version: str, uid: str, body: bytes, objects: Sequence[JsonObject]) -> list[JsonObject]:
    """Parse a response and return the converted objects, without comparing them with the originals.

    Raise AttemptError if the response is not a successful review with one object for each of `objects`.
    """
    prefix = error_prefix(objects[0])
    try:
        header = decode_header(REVIEWS, version, body)
        review = decode_review(CONVERSION_REVIEWS[version], header.fields, _OBJECTS)
    except MalformedReviewError as error:
        message = f"{prefix} failed: {error}"
        raise AttemptError(message, CALL, "Answer", detail=body_excerpt(body, message)) from None
    response: JsonObject | None = review.get("response")
    problem = _response_error(version, uid, header, response)
    if problem is not None:
        raise AttemptError(f"{prefix} failed: {problem}", MALFORMED, "Answer")
    refusal = _refusal(response["result"]) if response else None
    if refusal is not None:
        message, detail = refusal
        raise AttemptError(f"{prefix} failed: {message}", MALFORMED, "Refused", detail=detail)
    converted: list[Raw] = []
    if response and response["convertedObjects"] is not None:
        converted = _raw_items(raw_fields(header.fields["response"])["convertedObjects"])
    if len(converted) != len(objects):
        raise AttemptError(f"{prefix} returned {len(converted)} objects, expected {len(objects)}", PARTIAL, "Answer")
    return [_decode_object(item) for item in converted]


def _response_error(version: str, uid: str, header: Header, response: JsonObject | None) -> str | None:
    if version == "v1" and (type_error := header.type_meta_error(REVIEWS)):
        return type_error
    if response is None:
        return "no response provided"
    if version == "v1" and response["uid"] != uid:
        return f"expected response.uid={go_quote(uid)}, got {go_quote(response['uid'])}"
    return None


def _refusal(result: JsonObject) -> tuple[str, str] | None:
    """Return kube-apiserver's message for a result that is no success, and what else the result says."""
    status = result.get("status", "")
    if status == "Success":
        return None
    message = result.get("message") or f"response.result.status was '{status}', not 'Success'"
    return message, " ".join(str(result[field]) for field in ("code", "reason") if result.get(field))


def _decode_object(item: Raw) -> JsonObject:
    """Decode one converted object. As in kube-apiserver, messages about decoding errors lack the usual prefix."""
    raw = bytes(item)
    if raw.strip() == b"null":
        raise AttemptError("unexpected end of JSON input", INVALID_OBJECT, "Answer")
    try:
        value = json_codec.decode(raw)
    except json_codec.MalformedJSONError as error:
        raise AttemptError(error.text, INVALID_OBJECT, "Answer") from None
    if not isinstance(value, dict):
        message = f"json: cannot unmarshal {json_type_name(value)} into Go value of type map[string]interface {{}}"
        raise AttemptError(message, INVALID_OBJECT, "Answer")
    if not string_or_empty(value.get("kind")) or string_or_empty(value.get("apiVersion")).count("/") > 1:
        text_value = raw.decode(errors="replace")
        raise AttemptError(f"Object 'Kind' is missing in '{text_value}'", INVALID_OBJECT, "Answer")
    return value


def check_converted(original: JsonObject, converted: JsonObject, to: str) -> JsonObject:
    """Return the converted object with the metadata of the original, except for the labels and annotations.

    Raise AttemptError if the apiVersion is not `to`, if the kind, name, namespace or uid differs from the original, or
    if the metadata is invalid.
    """
    message = _identity_error(original, converted, to)
    if message is None:
        try:
            converted["metadata"] = restore_metadata(original, converted)
        except InvalidMetadataError as error:
            message = f"returned invalid metadata: {error}"
        else:
            return converted
    raise AttemptError(f"{error_prefix(original)} {message}", INVALID_OBJECT, "Answer")


def _identity_error(original: JsonObject, converted: JsonObject, to: str) -> str | None:
    before, after = ObjectIdentity(original), ObjectIdentity(converted)
    received = after.api_version.removeprefix("/")
    if received != to:
        return f"returned invalid object at index 0: invalid groupVersion (expected {to}, received {received})"
    if before.kind != after.kind:
        return f"returned invalid object at index 0: invalid kind (expected {before.kind}, received {after.kind})"
    for field, expected, actual in (
        ("name", before.name, after.name),
        ("namespace", before.namespace, after.namespace),
        ("UID", before.uid, after.uid),
    ):
        if expected != actual:
            return f"returned invalid object: must have the same {field}: {expected} != {actual}"
    return None


class InvalidMetadataError(Exception):
    """A converted object has invalid metadata, labels or annotations."""


def restore_metadata(original: JsonObject, converted: JsonObject) -> JsonObject:
    """Return the original's metadata with the labels and annotations of the converted object.

    Raise InvalidMetadataError if the converted object's metadata, labels or annotations are invalid.
    """
    if "metadata" not in converted:
        raise InvalidMetadataError("missing metadata in converted object")
    response_metadata = converted["metadata"]
    if not isinstance(response_metadata, dict):
        raise InvalidMetadataError(f"invalid metadata of type {go_type(response_metadata)} in converted object")
    original_metadata = original.get("metadata", {})
    if not isinstance(original_metadata, dict):
        raise InvalidMetadataError(f"invalid metadata of type {go_type(original_metadata)} in input object")
    metadata = dict(original_metadata)
    for field in ("labels", "annotations"):
        value = response_metadata.get(field)
        if value is None:
            metadata.pop(field, None)
        else:
            _check(field, value, original_metadata.get(field))
            metadata[field] = value
    return metadata


def _check(field: str, entries: Any, original: Any) -> None:
    if not isinstance(entries, dict):
        raise InvalidMetadataError(f"invalid metadata.{field} of type {go_type(entries)} in converted object")
    if original is not None and not isinstance(original, dict):
        raise InvalidMetadataError(f"invalid metadata.{field} of type {go_type(original)} in original object")
    for key, value in entries.items():
        if not isinstance(value, str):
            raise InvalidMetadataError(
                f"metadata.{field}[{key}] must be a string, but is {go_type(value)} in converted object"
            )
    if entries == (original or {}):
        return
    errors = _label_errors(entries) if field == "labels" else _annotation_errors(entries)
    if errors:
        raise InvalidMetadataError(aggregate_message(errors))


def _label_errors(labels: dict[str, str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for key, value in sorted(labels.items()):
        errors += (invalid("metadata.labels", key, error) for error in qualified_name(key))
        errors += (invalid("metadata.labels", value, error) for error in label_value(value))
    return errors


def _annotation_errors(annotations: dict[str, str]) -> list[FieldError]:
    path = "metadata.annotation"
    errors = [invalid(path, key, error) for key in sorted(annotations) for error in qualified_name(key.lower())]
    if sum(byte_length(k) + byte_length(v) for k, v in annotations.items()) > _MAX_ANNOTATION_BYTES:
        errors.append(too_long(path, _MAX_ANNOTATION_BYTES))
    return errors
