"""ConversionReview: what a converter is sent, and every check that its answer must pass.

The reference sends one object at a time and its complaints are worded for one; so are these. Where several objects were
sent, the caller finds the one at fault by sending fewer, and tells the complaint about that one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw

from polykind.contract import JsonObject
from polykind.conversion.failure import CALL, INVALID_OBJECT, MALFORMED, PARTIAL, Failure, frame, text
from polykind.conversion.metadata import Refused, restored
from polykind.gotext import go_quote
from polykind.wire import codec, yamlcodec

_GROUP = "apiextensions.k8s.io"
_SUPPORTED = ("v1", "v1beta1")
_SCHEME = "k8s.io/apiserver/pkg/util/webhook/client.go:71"
_REGISTERED = frozenset({"CustomResourceDefinition", "CustomResourceDefinitionList", "ConversionReview"})
_UNVERSIONED = frozenset({"Status", "APIVersions", "APIGroup", "APIGroupList", "APIResourceList"})
_HEADER = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'

_raw_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_raw_items = msgspec.json.Decoder(list[Raw]).decode


def supported(versions: Sequence[str]) -> str | None:
    """The first version of ConversionReview that both sides speak."""
    return next((v for v in versions if v in _SUPPORTED), None)


def request(version: str, uid: str, to: str, objects: Sequence[bytes]) -> bytes:
    """The body of a review of objects that are encoded already. The reference, too, sends an empty response."""
    return b"".join(
        (
            b'{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/',
            version.encode(),
            b'","request":{"uid":',
            codec.encode(uid),
            b',"desiredAPIVersion":',
            codec.encode(to),
            b',"objects":[',
            b",".join(objects),
            b']},"response":{"uid":"","convertedObjects":null,"result":{"metadata":{}}}}\n',
        )
    )


class _Malformed(Exception):
    """The answer is no ConversionReview that can be read."""


def answered(version: str, uid: str, body: bytes, objects: Sequence[JsonObject], to: str) -> list[JsonObject]:
    """The converted objects of an answer. Raises Failure; `objects` are the originals, in the order they were sent."""
    about = frame(objects[0])
    try:
        fields, api_version, kind = _header(version, body)
        response = _response(version, fields.get("response"))
    except _Malformed as error:
        raise Failure(f"{about} failed: {error}", CALL, "Answer") from None
    complaint = _complaint(version, uid, api_version, kind, response)
    if complaint is not None:
        raise Failure(f"{about} failed: {complaint}", MALFORMED, "Answer")
    converted = response["convertedObjects"] if response else []
    if len(converted) != len(objects):
        raise Failure(f"{about} returned {len(converted)} objects, expected {len(objects)}", PARTIAL, "Answer")
    return [accepted(original, _object(item), to) for original, item in zip(objects, converted, strict=True)]


def _header(version: str, body: bytes) -> tuple[dict[str, Raw], str, str]:
    """The fields of the answer, its apiVersion and its kind."""
    fields = _fields(body)
    api_version, kind = _kind(fields)
    if api_version.count("/") > 1:
        raise _Malformed(f"unexpected GroupVersion string: {api_version}")
    group, _, given = api_version.rpartition("/")
    if not group and not given:
        group, given = _GROUP, version
    elif not given and group == _GROUP:
        given = version
    full = f"{group}/{given}" if group else given
    actual = kind or "ConversionReview"
    if (group, given, actual) != (_GROUP, version, "ConversionReview"):
        wanted = f"({version}.ConversionReview)"
        if actual in _UNVERSIONED:
            raise _Malformed(f"converting (v1.{actual}) to {wanted}: unknown conversion")
        if group == _GROUP and given in _SUPPORTED and actual in _REGISTERED:
            raise _Malformed(f"converting ({given}.{actual}) to {wanted}: unknown conversion")
        named = go_quote(full)
        raise _Malformed(f"no kind {go_quote(actual)} is registered for version {named} in scheme {go_quote(_SCHEME)}")
    return fields, text(_decoded(fields.get("apiVersion"))), text(_decoded(fields.get("kind")))


def _kind(fields: dict[str, Raw]) -> tuple[str, str]:
    """The apiVersion and kind by which the reference chooses what to decode: here alone it heeds no upper case."""
    folded = {name.lower(): value for name, value in fields.items()}
    place = "struct field .{} of type string"
    return _string(folded.get("apiversion"), place.format("apiVersion")), _string(
        folded.get("kind"), place.format("kind")
    )


def _fields(body: bytes) -> dict[str, Raw]:
    try:
        return _raw_fields(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        pass
    try:
        # As the reference does: what begins like an object is JSON, all else is YAML whatever the headers say.
        value = codec.decode(body) if body.lstrip().startswith(b"{") else yamlcodec.decode(body)
    except (codec.Malformed, yamlcodec.MalformedYAML) as error:
        raise _Malformed(str(error)) from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        parse = "couldn't get version/kind; json parse error:"
        raise _Malformed(f"{parse} json: cannot unmarshal {_json_type(value)} into Go value of type {_HEADER}")
    return {k: Raw(codec.encode(v)) for k, v in value.items()}


def _string(raw: Raw | None, place: str) -> str:
    value = None if raw is None else codec.decode(bytes(raw))
    if value is None:
        return ""
    if not isinstance(value, str):
        unmarshal = f"json: cannot unmarshal {_json_type(value)} into Go {place}"
        header = "struct field .apiVersion", "struct field .kind"
        prefix = "couldn't get version/kind; json parse error: " if place.startswith(header) else ""
        raise _Malformed(f"{prefix}{unmarshal}")
    return value


def _response(version: str, raw: Raw | None) -> JsonObject | None:
    """The response: its uid, status and message as strings, its objects still as bytes. None if there is none."""
    if _is_null(raw):
        return None
    fields = _typed(raw, f"ConversionReview.response of type {version}.ConversionResponse")
    where = "ConversionResponse.response"
    result = fields.get("result")
    status = {} if _is_null(result) else _typed(result, f"{where}.result of type v1.Status")
    return {
        "uid": _string(fields.get("uid"), f"struct field {where}.uid of type types.UID"),
        "status": _string(status.get("status"), "struct field Status.response.result.status of type string"),
        "message": _string(status.get("message"), "struct field Status.response.result.message of type string"),
        "convertedObjects": _items(fields.get("convertedObjects"), where),
    }


def _typed(raw: Raw | None, place: str) -> dict[str, Raw]:
    try:
        return _raw_fields(raw or b"{}")
    except msgspec.ValidationError:
        unmarshal = f"json: cannot unmarshal {_json_type(_decoded(raw))} into Go struct field"
        raise _Malformed(f"{unmarshal} {place}") from None


def _items(raw: Raw | None, where: str) -> list[Raw]:
    if raw is None or _is_null(raw):
        return []
    try:
        return _raw_items(raw)
    except msgspec.ValidationError:
        unmarshal = f"json: cannot unmarshal {_json_type(_decoded(raw))} into Go struct field"
        raise _Malformed(f"{unmarshal} {where}.convertedObjects of type []runtime.RawExtension") from None


def _complaint(version: str, uid: str, api_version: str, kind: str, response: JsonObject | None) -> str | None:
    if version == "v1" and (api_version, kind) != (f"{_GROUP}/v1", "ConversionReview"):
        got = api_version if "/" in api_version else f"/{api_version}"
        return f"expected webhook response of {_GROUP}/v1, Kind=ConversionReview, got {got}, Kind={kind}"
    if response is None:
        return "no response provided"
    if version == "v1" and response["uid"] != uid:
        return f"expected response.uid={go_quote(uid)}, got {go_quote(response['uid'])}"
    if response["status"] != "Success":
        return response["message"] or f"response.result.status was '{response['status']}', not 'Success'"
    return None


def _object(item: Raw) -> JsonObject:
    """One converted object. Its complaints stand alone, without the frame of the others."""
    raw = bytes(item)
    if raw.strip() == b"null":
        raise Failure("unexpected end of JSON input", INVALID_OBJECT, "Answer")
    try:
        value = codec.decode(raw)
    except codec.Malformed as error:
        raise Failure(error.text, INVALID_OBJECT, "Answer") from None
    if not isinstance(value, dict):
        unmarshal = f"json: cannot unmarshal {_json_type(value)} into Go value of type map[string]interface {{}}"
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


def _is_null(raw: Raw | None) -> bool:
    return raw is None or (memoryview(raw).nbytes < 64 and bytes(raw).strip() == b"null")


def _decoded(raw: Raw | None) -> Any:
    return codec.decode(bytes(raw or b"null"))


def _json_type(value: Any) -> str:
    """The type of a JSON value as Go's decoder names it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, list) else "number"
