from __future__ import annotations

from random import Random
from typing import Any

import pytest

from polykind.apis.groups import find_kind
from polykind.apis.machinery.kinds import Kind
from polykind.apis.machinery.protobuf_writer import encode_message
from polykind.apis.meta.types import PARTIAL_OBJECT_METADATA
from polykind.codec import json_codec, partial_metadata
from polykind.resources import protobuf_messages
from polykind.resources.builtin_codec import BuiltinCodec
from polykind.resources.protobuf_messages import MetadataMessages, ObjectMessages
from tests.apis.machinery.test_all_kinds import IDS, KINDS, canonical
from tests.support.declared_values import random_value


@pytest.fixture(autouse=True)
def _no_known_messages() -> None:
    protobuf_messages._messages.clear()
    protobuf_messages._metadata_messages.clear()


def messages_of(kind: Kind) -> ObjectMessages:
    return ObjectMessages(BuiltinCodec(kind, lambda obj: None))


def metadata_message(obj: dict[str, Any]) -> bytes:
    """Return the message of an object's metadata, encoded from the whole decoded object."""
    return encode_message(partial_metadata.partial_object(obj), PARTIAL_OBJECT_METADATA)


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
def test_messages_of_all_kinds(kind: Kind) -> None:
    random, messages = Random(kind.kind), messages_of(kind)
    for _ in range(4):
        protobuf_messages._messages.clear()
        data = json_codec.encode(canonical(random_value(random, kind), kind))
        obj = json_codec.decode(data)
        assert messages.known(data) is None
        if "metadata" in {field.name for field in kind.fields}:
            assert MetadataMessages().encode(data) == metadata_message(obj)
            protobuf_messages._metadata_messages.clear()
        message = messages.encode(data)
        assert message == encode_message(obj, kind)
        assert messages.known(data) is message
        if "metadata" in {field.name for field in kind.fields}:
            assert MetadataMessages().encode(data) == metadata_message(obj)


def test_metadata_of_a_known_message_is_not_encoded_again() -> None:
    kind = find_kind("v1", "ConfigMap")
    assert kind is not None
    data = json_codec.encode(canonical({"metadata": {"name": "a", "labels": {"b": "c"}}, "data": {"d": "e"}}, kind))
    messages_of(kind).encode(data)
    assert MetadataMessages().known(data) == metadata_message(json_codec.decode(data))


@pytest.mark.parametrize("annotation", ["deprecated.daemonset.template.generation", "other"])
def test_annotations_that_metadata_hides(annotation: str) -> None:
    kind = find_kind("apps/v1", "DaemonSet")
    assert kind is not None
    data = json_codec.encode(canonical({"metadata": {"name": "a", "annotations": {annotation: "1"}}}, kind))
    messages_of(kind).encode(data)
    assert (annotation.encode() in MetadataMessages().encode(data)) == (annotation == "other")


def test_metadata_of_a_custom_object() -> None:
    metadata = {"name": "a", "labels": {"b": "\ud800"}, "generation": 3, "managedFields": [{"manager": "m"}]}
    obj = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "spec": {"a": 1.5}}
    message = MetadataMessages().encode(json_codec.encode(obj))
    assert message == metadata_message(json_codec.decode(json_codec.encode(obj)))
    assert MetadataMessages().known(json_codec.encode(obj)) is message


def test_large_objects_are_not_kept() -> None:
    kind = find_kind("v1", "ConfigMap")
    assert kind is not None
    data = json_codec.encode(canonical({"metadata": {"name": "a"}, "data": {"d": "e" * 70_000}}, kind))
    messages_of(kind).encode(data)
    MetadataMessages().encode(data)
    assert messages_of(kind).known(data) is None
    assert MetadataMessages().known(data) is None
