"""Validation of the storage group except CSI kinds, with kube-apiserver's messages."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.storage import validation
from polykind.apis.storage.defaults import default_storage_class
from polykind.apis.storage.types import VOLUME_ATTACHMENT
from polykind.contract import JsonObject
from polykind.strategies.storage.strategy import VolumeAttachmentStrategy
from tests.support.objects import edited, texts

CLASS: JsonObject = {
    "provisioner": "example.com/p",
    "reclaimPolicy": "Retain",
    "volumeBindingMode": "Immediate",
    "allowedTopologies": [{"matchLabelExpressions": [{"key": "a", "values": ["b"]}]}],
}
EXPRESSION = "allowedTopologies[0].matchLabelExpressions[0]"
ATTACHMENT: JsonObject = {
    "metadata": {"name": "a", "resourceVersion": "1"},
    "spec": {"attacher": "a.example.com", "nodeName": "n", "source": {"persistentVolumeName": "p"}},
    "status": {"attached": False},
}


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("provisioner", "", "provisioner: Required value"),
        ("provisioner", "A/b/c", 'provisioner: Invalid value: "a/b/c": a valid label key must consist of'),
        ("parameters", {"": "a"}, 'parameters: Invalid value: "": field can not be empty.'),
        ("parameters", {str(i): "" for i in range(513)}, "parameters: Too long: may not be more than 512 bytes"),
        ("parameters", {"a": "b" * 2**18}, "parameters: Too long: may not be more than 262144 bytes"),
        ("reclaimPolicy", "Recycle", 'reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retai'),
        ("volumeBindingMode", None, "volumeBindingMode: Required value"),
        ("volumeBindingMode", "X", 'volumeBindingMode: Unsupported value: "X": supported values: "Immediate", "WaitFo'),
        (f"{EXPRESSION}.values", [], f"{EXPRESSION}.values: Required value"),
        (f"{EXPRESSION}.values", ["a", "a"], f'{EXPRESSION}.values[1]: Duplicate value: "a"'),
        (f"{EXPRESSION}.key", "", f'{EXPRESSION}.key: Invalid value: "": name part must be non-empty'),
        ("allowedTopologies", CLASS["allowedTopologies"] * 2, "allowedTopologies[1].matchLabelExpressions: Duplicate "),
    ],
)
def test_storage_classes(path: str, value: Any, message: str) -> None:
    assert validation.validate_storage_class(CLASS) == []
    found = texts(validation.validate_storage_class(edited(CLASS, (path, value))))
    assert found[0].startswith(message)


def test_storage_class_defaults_and_immutable_fields() -> None:
    storage_class: JsonObject = {"provisioner": "p"}
    default_storage_class(storage_class)
    assert storage_class == {"provisioner": "p", "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}
    changed = edited(CLASS, ("parameters", {"a": "b"}), ("reclaimPolicy", "Delete"), ("mountOptions", ["ro"]))
    assert texts(validation.validate_storage_class_update(changed, CLASS)) == [
        'parameters: Invalid value: {"a":"b"}: field is immutable',
        'reclaimPolicy: Invalid value: "Delete": field is immutable',
    ]


def test_storage_class_warns_about_deprecated_node_labels() -> None:
    storage_class = edited(CLASS, (f"{EXPRESSION}.key", "beta.kubernetes.io/os"))
    [warning] = validation.storage_class_warnings(storage_class)
    assert warning == f'{EXPRESSION}.key: deprecated since v1.14; use "kubernetes.io/os" instead'


def test_volume_attributes_classes() -> None:
    assert texts(validation.validate_volume_attributes_class({})) == [
        "driverName: Required value",
        "parameters: Required value: must contain at least one key/value pair",
    ]
    old: JsonObject = {"driverName": "d", "parameters": {"a": "b"}}
    assert texts(validation.validate_volume_attributes_class_update({"driverName": "e"}, old)) == [
        "driverName: Forbidden: updates to driverName are forbidden.",
        "parameters: Forbidden: updates to parameters are forbidden.",
    ]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("spec.attacher", "", "spec.attacher: Required value"),
        ("spec.attacher", "a" * 64, "spec.attacher: Too long: may not be more than 63 bytes"),
        ("spec.source", {}, "spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistent"),
        ("spec.source.inlineVolumeSpec", {}, "spec.source: Forbidden: must specify exactly one of inlineVolumeSpec"),
        ("spec.source.persistentVolumeName", "", "spec.source.persistentVolumeName: Required value: must specify non "),
        ("spec.source", {"inlineVolumeSpec": {}}, "spec.source.inlineVolumeSpec.csi: Required value: has to be specif"),
        ("spec.nodeName", "A", 'spec.nodeName: Invalid value: "A": a lowercase RFC 1123 subdomain'),
        ("status.attachError", {"message": "x" * 1025}, "status.attachError.message: Too long: may not be more than 2"),
        ("status.detachError", {"errorCode": -1}, "status.detachError.errorCode: Invalid value: -1: must be between 0"),
    ],
)
def test_volume_attachments(path: str, value: Any, message: str) -> None:
    assert validation.validate_volume_attachment(ATTACHMENT) == []
    found = texts(validation.validate_volume_attachment(edited(ATTACHMENT, (path, value))))
    assert found[0].startswith(message)


def test_the_spec_of_a_volume_attachment_is_immutable() -> None:
    changed = edited(ATTACHMENT, ("spec.nodeName", "m"))
    [found] = texts(VolumeAttachmentStrategy(VOLUME_ATTACHMENT).update_errors(changed, ATTACHMENT))
    source = '{"PersistentVolumeName":"p","InlineVolumeSpec":null}'
    shown = f'{{"Attacher":"a.example.com","Source":{source},"NodeName":"m"}}'
    assert found == f"spec: Invalid value: {shown}: field is immutable"


def test_csi_storage_capacities() -> None:
    capacity: JsonObject = {"storageClassName": "a", "capacity": "-1Gi", "nodeTopology": {"matchLabels": {"a": "b"}}}
    assert texts(validation.validate_csi_storage_capacity(capacity)) == [
        'capacity: Invalid value: "-1Gi": must be greater than or equal to 0'
    ]
    changed = {"storageClassName": "b"}
    assert texts(validation.validate_csi_storage_capacity_update(changed, capacity)) == [
        "nodeTopology: Invalid value: null: field is immutable",
        'storageClassName: Invalid value: "b": field is immutable',
    ]
