from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.machinery.protobuf_envelope import encode_envelope, encode_watch_frame
from polykind.apis.machinery.protobuf_writer import encode_message
from polykind.apis.machinery.structs import Struct
from polykind.codec.protobuf_wire import bytes_field, varint_field
from tests.conformance.protobuf_tree import decode, encode, find_message, parse_body, unwrap, unwrap_event, wrap

META = {"name": "a"}
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": META, "data": {"k": "v", "empty": ""}}


def _tree(api_version: str, kind: str, value: dict[str, Any]) -> dict[str, Any]:
    """Return the tree of a JSON object that the server encodes."""
    message_type = find_message(api_version, kind)
    return decode(encode_message(value, message_type), message_type)


def test_a_wrapped_tree_unwraps_to_itself() -> None:
    assert unwrap(wrap(CONFIG_MAP)) == CONFIG_MAP


def test_a_body_is_json_or_protobuf() -> None:
    assert parse_body(b'{"a": 1}') == {"a": 1}
    assert parse_body(wrap(CONFIG_MAP)) == CONFIG_MAP
    with pytest.raises(ValueError, match="Expecting value"):
        parse_body(b"neither")
    with pytest.raises(ValueError, match="CronTab is no built-in kind"):
        parse_body(encode_envelope("example.com/v1", "CronTab", b""))


@pytest.mark.parametrize("api_version", ["meta.k8s.io/v1", "meta.k8s.io/v1beta1"])
def test_lists_of_metadata_swap_their_numbers_in_v1beta1(api_version: str) -> None:
    metadata, items = (2, 1) if api_version.endswith("beta1") else (1, 2)
    message = bytes_field(metadata, bytes_field(2, b"7")) + bytes_field(items, bytes_field(1, bytes_field(1, b"a")))
    assert unwrap(encode_envelope(api_version, "PartialObjectMetadataList", message)) == {
        "apiVersion": api_version,
        "kind": "PartialObjectMetadataList",
        "metadata": {"resourceVersion": "7"},
        "items": [{"metadata": META}],
    }


def test_a_watch_event_contains_an_object_in_its_own_envelope() -> None:
    frame = encode_watch_frame("ADDED", wrap(CONFIG_MAP))[4:]
    assert unwrap_event(frame) == {"type": "ADDED", "object": CONFIG_MAP}


def test_zero_values_are_absent_but_empty_items_are_not() -> None:
    value = {"metadata": META, "spec": {"containers": [{"name": "", "args": ["", "x"]}], "priority": 0}}
    assert _tree("v1", "Pod", value)["spec"] == {"containers": [{"args": ["", "x"]}]}


@pytest.mark.parametrize(
    ("value", "tree"),
    [
        ({"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}}, {"metadata": {"creationTimestamp": "<time>"}}),
        ({"binaryData": {"b": "AAEC"}}, {"binaryData": {"b": "base64:AAEC"}}),
        (
            {"metadata": {"managedFields": [{"manager": "m", "fieldsV1": {}}]}},
            {"metadata": {"managedFields": [{"manager": "m", "fieldsV1": {"Raw": "base64:e30="}}]}},
        ),
    ],
)
def test_values_of_config_maps(value: dict[str, Any], tree: dict[str, Any]) -> None:
    assert _tree("v1", "ConfigMap", value) == tree


@pytest.mark.parametrize(
    ("container", "tree"),
    [
        (
            {"livenessProbe": {"httpGet": {"port": "web"}}},
            {"livenessProbe": {"handler": {"httpGet": {"port": {"type": 1, "strVal": "web"}}}}},
        ),
        (
            {"livenessProbe": {"tcpSocket": {"port": -1}}},
            {"livenessProbe": {"handler": {"tcpSocket": {"port": {"intVal": -1}}}}},
        ),
        (
            {"resources": {"limits": {"cpu": "1"}}, "stdin": True},
            {"resources": {"limits": {"cpu": {"string": "1"}}}, "stdin": True},
        ),
        (
            {"envFrom": [{"secretRef": {"name": "s"}}]},
            {"envFrom": [{"secretRef": {"localObjectReference": {"name": "s"}}}]},
        ),
    ],
)
def test_containers_have_messages_for_embedded_structs_and_special_values(
    container: dict[str, Any], tree: dict[str, Any]
) -> None:
    pod = _tree("v1", "Pod", {"spec": {"containers": [container]}})
    assert pod["spec"]["containers"] == [tree]
    message_type = find_message("v1", "Pod")
    assert decode(encode(pod, message_type), message_type) == pod


def test_schemas_have_names_of_their_own() -> None:
    schema = {
        "$ref": "r",
        "additionalProperties": False,
        "items": [{"type": "string"}],
        "dependencies": {"a": ["b"]},
        "not": {"items": {"maximum": 1.5}},
        "x-kubernetes-int-or-string": True,
    }
    versions = [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]
    tree = _tree("apiextensions.k8s.io/v1", "CustomResourceDefinition", {"spec": {"versions": versions}})
    assert tree["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == {
        "ref": "r",
        "items": {"jSONSchemas": [{"type": "string"}]},
        "dependencies": {"a": {"property": ["b"]}},
        "not": {"items": {"schema": {"maximum": 1.5}}},
        "xKubernetesIntOrString": True,
    }


def test_unknown_numbers_stay_visible() -> None:
    message = varint_field(90, 3) + bytes_field(91, b"\x00")
    assert decode(message, Struct("v1.Empty")) == {"#90": 3, "#91": "base64:AA=="}
