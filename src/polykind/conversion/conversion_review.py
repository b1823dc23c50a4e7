"""ConversionReview: what a converter is sent, and every check that its answer must pass.

The reference sends one object at a time and its complaints are worded for one; so are these. Where several objects were
sent, the caller finds the one at fault by sending fewer, and tells the complaint about that one.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Raw

from polykind.apis.apiextensions.conversion_review import CONVERSION_REVIEWS
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.conversion.failure import CALL, INVALID_OBJECT, MALFORMED, PARTIAL, Failure, frame, text
from polykind.conversion.metadata import Refused, restored
from polykind.golang.fmt import go_quote
from polykind.golang.json import json_type_name
from polykind.webhook.envelope import Header, Malformed, Reviews, header, raw_fields, read

REVIEWS = Reviews(
    "apiextensions.k8s.io",
    "ConversionReview",
    frozenset({"CustomResourceDefinition", "CustomResourceDefinitionList", "ConversionReview"}),
)

_OBJECTS = frozenset({"objects", "convertedObjects"})
_raw_items = msgspec.json.Decoder(list[Raw]).decode


def request(version: str, uid: str, to: str, objects: Sequence[bytes]) -> bytes:
    """The body of a review of objects that are encoded already. The reference, too, sends an empty response."""
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


def answered(version: str, uid: str, body: bytes, objects: Sequence[JsonObject], to: str) -> list[JsonObject]:
    """The converted objects of an answer. Raises Failure; `objects` are the originals, in the order they were sent."""
    about = frame(objects[0])
    try:
        head = header(REVIEWS, version, body)
        response: JsonObject | None = read(CONVERSION_REVIEWS[version], head.fields, _OBJECTS).get("response")
    except Malformed as error:
        raise Failure(f"{about} failed: {error}", CALL, "Answer") from None
    complaint = _complaint(version, uid, head, response)
    if complaint is not None:
        raise Failure(f"{about} failed: {complaint}", MALFORMED, "Answer")
    converted = _items(head.fields["response"]) if response and response["convertedObjects"] is not None else []
    if len(converted) != len(objects):
        raise Failure(f"{about} returned {len(converted)} objects, expected {len(objects)}", PARTIAL, "Answer")
    return [accepted(original, _object(item), to) for original, item in zip(objects, converted, strict=True)]


def _items(response: Raw) -> list[Raw]:
    return _raw_items(raw_fields(response)["convertedObjects"])


def _complaint(version: str, uid: str, head: Header, response: JsonObject | None) -> str | None:
    if version == "v1" and (said := head.complaint(REVIEWS)):
        return said
    if response is None:
        return "no response provided"
    if version == "v1" and response["uid"] != uid:
        return f"expected response.uid={go_quote(uid)}, got {go_quote(response['uid'])}"
    result = response["result"]
    status = result.get("status", "")
    if status == "Success":
        return None
    return result.get("message") or f"response.result.status was '{status}', not 'Success'"


def _object(item: Raw) -> JsonObject:
    """One converted object. Its complaints stand alone, without the frame of the others."""
    raw = bytes(item)
    if raw.strip() == b"null":
        raise Failure("unexpected end of JSON input", INVALID_OBJECT, "Answer")
    try:
        value = json_codec.decode(raw)
    except json_codec.MalformedJSONError as error:
        raise Failure(error.text, INVALID_OBJECT, "Answer") from None
    if not isinstance(value, dict):
        unmarshal = f"json: cannot unmarshal {json_type_name(value)} into Go value of type map[string]interface {{}}"
        raise Failure(unmarshal, INVALID_OBJECT, "Answer")
    if not text(value.get("kind")) or text(value.get("apiVersion")).count("/") > 1:
        shown = raw.decode(errors="replace")
        raise Failure(f"Object 'Kind' is missing in '{shown}'", INVALID_OBJECT, "Answer")
    return value


def accepted(original: JsonObject, converted: JsonObject, to: str) -> JsonObject:
    """The converted object with its metadata restored, if it is the original in the wanted version. Raises Failure."""
    complaint = _identity(original, converted, to)
    if complaint is None:
        try:
            converted["metadata"] = restored(original, converted)
        except Refused as error:
            complaint = f"returned invalid metadata: {error}"
        else:
            return converted
    raise Failure(f"{frame(original)} {complaint}", INVALID_OBJECT, "Answer")


def _identity(original: JsonObject, converted: JsonObject, to: str) -> str | None:
    got = text(converted.get("apiVersion")).removeprefix("/")
    if got != to:
        return f"returned invalid object at index 0: invalid groupVersion (expected {to}, received {got})"
    expected, kind = text(original.get("kind")), text(converted.get("kind"))
    if expected != kind:
        return f"returned invalid object at index 0: invalid kind (expected {expected}, received {kind})"
    before, after = (_metadata(obj) for obj in (original, converted))
    for field, shown in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        was, now = text(before.get(field)), text(after.get(field))
        if was != now:
            return f"returned invalid object: must have the same {shown}: {was} != {now}"
    return None


def _metadata(obj: JsonObject) -> JsonObject:
    metadata = obj.get("metadata")
    return metadata if isinstance(metadata, dict) else {}
