from __future__ import annotations

import struct
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.apis.apiextensions.types import CUSTOM_RESOURCE_DEFINITION_V1 as V1
from polykind.apis.authorization.types import SUBJECT_ACCESS_REVIEW
from polykind.apis.core.types import NAMESPACE
from polykind.apis.machinery import decode
from polykind.apis.machinery.protobuf_envelope import ListFrame, decode_envelope, encode_object, encode_watch_frame
from polykind.apis.machinery.protobuf_reader import decode_message
from polykind.apis.machinery.protobuf_writer import encode_message
from polykind.apis.machinery.structs import Struct
from polykind.apis.meta.types import DELETE_OPTIONS, STATUS
from polykind.codec.protobuf_wire import ProtobufError
from polykind.errors import APIError, NotFoundError
from tests.crd.build import established_crd, version

NOT_FOUND = (
    b"k8s\x00\n\x0c\n\x02v1\x12\x06Status\x12U\n\x06\n\x00\x12\x00\x1a\x00\x12\x07Failure"
    b'\x1a\x1bnamespaces "nope" not found"\x08NotFound*\x18\n\x04nope\x12\x00\x1a\nnamespaces(\x002\x000\x94\x03'
    b'\x1a\x00"\x00'
)

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "s": {"type": "string", "maxLength": 4, "enum": ["a", None, {"b": 1}], "default": "a"},
        "n": {"type": "number", "minimum": -1.5, "maximum": 20, "exclusiveMinimum": True},
        "l": {"type": "array", "items": {"type": "integer"}, "maxItems": 0},
        "m": {"type": "object", "additionalProperties": {"type": "string"}},
        "any": {"type": "object", "additionalProperties": False, "not": {"required": ["x"]}},
        "e": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "dependencies": {"a": ["b"], "c": {}}},
        "t": {"type": "array", "items": [{"type": "string"}, {}], "externalDocs": {"url": "u"}},
    },
    "x-kubernetes-validations": [{"rule": "true", "reason": "FieldValueInvalid", "optionalOldSelf": False}],
}


def decode_object(data: bytes, type_: Struct) -> dict[str, Any]:
    """Decode an envelope into its canonical object."""
    api_version, kind, message = decode_envelope(data)
    fields = decode_message(message, type_)
    return decode({"kind": kind, "apiVersion": api_version, **fields}, type_, report=False)[0]


def test_status_is_encoded_as_by_kube_apiserver() -> None:
    assert encode_object(NotFoundError("namespaces", "", "nope").status(), STATUS) == NOT_FOUND
    assert decode_object(NOT_FOUND, STATUS)["details"] == {"name": "nope", "kind": "namespaces"}


def test_crd_round_trip() -> None:
    crd = established_crd(version(schema=SCHEMA, subresources={"status": {}}, deprecated=True), version("v2"))
    crd["metadata"] |= {"creationTimestamp": "2020-02-29T12:00:00Z", "labels": {"b": "1", "a": ""}}
    crd, _ = decode(crd, V1, report=False)
    assert decode_object(encode_object(crd, V1), V1) == crd


def test_list_items_have_no_envelope() -> None:
    item = encode_message({"metadata": {"name": "a"}}, NAMESPACE)
    head, tail = ListFrame("v1", "NamespaceList", {"resourceVersion": "7"}).around(2 * (len(item) + 2))
    api_version, kind, message = decode_envelope(head + 2 * (b"\x12" + bytes([len(item)]) + item) + tail)
    assert (api_version, kind) == ("v1", "NamespaceList")
    assert message == b"\n\x07\n\x00\x12\x017\x1a\x00" + 2 * (b"\x12" + bytes([len(item)]) + item)
    head, tail = ListFrame("meta.k8s.io/v1beta1", "PartialObjectMetadataList", {}, (2, 1)).around(3)
    assert decode_envelope(head + b"\n\x01x" + tail)[2] == b"\n\x01x\x12\x06\n\x00\x12\x00\x1a\x00"


def test_deep_schemas() -> None:
    schema: dict[str, Any] = {"type": "array"}
    for _ in range(200):
        schema = {"type": "array", "items": schema}
    crd, _ = decode(
        established_crd(version(schema={"type": "object", "properties": {"deep": schema}})), V1, report=False
    )
    assert decode_object(encode_object(crd, V1), V1) == crd


def test_zero_values_are_encoded_and_nil_pointers_are_not() -> None:
    assert decode_envelope(encode_object({}, DELETE_OPTIONS)) == ("", "", b"")
    _, _, message = decode_envelope(encode_object({"gracePeriodSeconds": -1}, DELETE_OPTIONS))
    assert message == b"\x08" + b"\xff" * 9 + b"\x01"
    _, _, message = decode_envelope(encode_object({"status": {"phase": "Active"}}, NAMESPACE))
    assert message.endswith(b"\x12\x00\x1a\x08\n\x06Active")


def test_delete_options() -> None:
    options = {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "propagationPolicy": "Orphan",
        "preconditions": {"uid": "u"},
    }
    assert decode_object(encode_object(options, DELETE_OPTIONS), DELETE_OPTIONS) == options


def test_watch_frames() -> None:
    frame = encode_watch_frame("ADDED", NOT_FOUND)
    (size,) = struct.unpack(">I", frame[:4])
    assert size == len(frame) - 4
    assert frame[4:].startswith(b"\n\x05ADDED\x12")
    assert frame.endswith(NOT_FOUND)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty data"),
        (b"k8s\x00", "empty body"),
        (
            b"nope",
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
        ),
        (b"k8s\x00\n\xff", "unexpected EOF"),
        (b"k8s\x00\x12\x02\n\x05", "unexpected EOF"),
        (b"k8s\x00\x12\x02\x08\x05", "proto: wrong wireType = 0 for field ObjectMeta"),
        (b"k8s\x00\x12\x04\n\x02(\x01", "proto: wrong wireType = 0 for field UID"),
        (b"k8s\x00\x12\x04\n\x02:\x00", "proto: wrong wireType = 2 for field Generation"),
    ],
)
def test_malformed_messages(data: bytes, message: str) -> None:
    with pytest.raises(ProtobufError) as raised:
        decode_object(data, NAMESPACE)
    assert str(raised.value) == message


@given(st.binary(max_size=80))
def test_arbitrary_bytes_decode_or_raise(data: bytes) -> None:
    for type_ in (V1, NAMESPACE, STATUS):
        for message in (data, b"k8s\x00" + data, b"k8s\x00\x12" + bytes([len(data)]) + data):
            with suppress(APIError, ProtobufError):
                decode_object(message, type_)


@given(st.data())
def test_damaged_messages_decode_or_raise(draw: st.DataObject) -> None:
    integers_only = bytearray(encode_object(established_crd(version(schema=SCHEMA)), V1))
    for _ in range(3):
        integers_only[draw.draw(st.integers(4, len(integers_only) - 1))] = draw.draw(st.integers(0, 255))
    with suppress(APIError, ProtobufError):
        decode_object(bytes(integers_only), V1)


def test_string_list_in_map_is_a_message() -> None:
    review: dict[str, Any] = {"spec": {"user": "u", "extra": {"a": ["b", "c"], "d": []}}}
    decoded, _ = decode(review, SUBJECT_ACCESS_REVIEW, report=False)
    message = encode_message(decoded, SUBJECT_ACCESS_REVIEW)
    assert b"*\x0b\n\x01a\x12\x06\n\x01b\n\x01c*\x05\n\x01d\x12\x00" in message
    assert decode_message(message, SUBJECT_ACCESS_REVIEW)["spec"]["extra"] == review["spec"]["extra"]


def test_string_list_in_map_may_be_null_but_not_string() -> None:
    decoded, _ = decode({"spec": {"extra": {"a": None}}}, SUBJECT_ACCESS_REVIEW, report=False)
    assert decoded["spec"] == {"extra": {"a": None}}
    wrong = "cannot unmarshal string into Go struct field SubjectAccessReviewSpec.spec.extra of type v1.ExtraValue"
    with pytest.raises(APIError, match=wrong):
        decode({"spec": {"extra": {"a": "b"}}}, SUBJECT_ACCESS_REVIEW, report=False)
