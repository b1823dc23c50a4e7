"""Validation and defaults of Nodes."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.core.defaults import default_node
from polykind.apis.core.node_validation import validate_node, validate_node_update
from polykind.contract import JsonObject
from polykind.errors import FieldError

TAINT = {"key": "a", "effect": "NoSchedule"}


def node(spec: JsonObject | None = None, **status: Any) -> JsonObject:
    obj: JsonObject = {"metadata": {"name": "n"}, "spec": spec or {}, "status": status}
    default_node(obj)
    return obj


def texts(found: list[FieldError]) -> list[str]:
    return [str(error) for error in found]


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (node({"taints": [TAINT, {**TAINT, "effect": "NoExecute"}]}), []),
        (
            node({"taints": [TAINT, TAINT]}),
            [
                'metadata.taints[1]: Duplicate value: {"Key":"a","Value":"","Effect":"NoSchedule","TimeAdded":null}: '
                "taints must be unique by key and effect pair"
            ],
        ),
        (
            node({"taints": [{"key": "a", "effect": "X"}]}),
            [
                'metadata.taints[0].effect: Unsupported value: "X": '
                'supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"'
            ],
        ),
        (node(capacity={"cpu": "-1"}, allocatable={}), ["status.capacity.cpu"]),
        (node({"podCIDRs": ["10.0.0.0/8", "2001:db8::/64"]}), []),
        (
            node({"podCIDRs": ["10.0.0.0/8", "11.0.0.0/8"]}),
            [
                'spec.podCIDRs: Invalid value: ["10.0.0.0/8","11.0.0.0/8"]: '
                "may specify no more than one CIDR for each IP family"
            ],
        ),
        (node(declaredFeatures=["B", "A"]), ["status.declaredFeatures[1]"]),
        (node(declaredFeatures=["A", "A"]), ['status.declaredFeatures[1]: Duplicate value: "A"']),
        (node(declaredFeatures=["a"]), ["status.declaredFeatures[0]"]),
        (node(nodeInfo={"swap": {"capacity": 0}}), ["metadata.nodeSwapStatus.capacity"]),
    ],
)
def test_nodes(obj: JsonObject, expected: list[str]) -> None:
    found = validate_node(obj)
    assert len(found) == len(expected)
    for error, text in zip(found, expected, strict=True):
        assert text in (str(error), error.field)


def test_updates() -> None:
    old = node({"podCIDR": "10.0.0.0/8", "providerID": "x"})
    assert texts(validate_node_update(node({"podCIDR": "11.0.0.0/8", "externalID": "e"}), old)) == [
        'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
        'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
        "spec.externalID: Forbidden: may not be updated",
    ]
    assert validate_node_update(old, node()) == []


def test_addresses_are_unique() -> None:
    address = {"type": "InternalIP", "address": "1.2.3.4"}
    assert texts(validate_node_update(node(addresses=[address, address]), node())) == [
        'status.addresses[1]: Duplicate value: {"Type":"InternalIP","Address":"1.2.3.4"}'
    ]


def test_removed_dynamic_configuration_is_still_validated() -> None:
    new = node({"configSource": {"configMap": {"uid": "u", "name": "N", "namespace": "ns"}}})
    assert texts(validate_node_update(new, node()))[0] == (
        "spec.configSource.configMap.uid: Forbidden: uid must not be set in spec"
    )
    empty = node(config={"active": {}})
    assert texts(validate_node_update(empty, node())) == [
        'status.config.active: Invalid value: {"ConfigMap":null}: exactly one reference subfield must be non-nil'
    ]


@pytest.mark.parametrize(
    ("spec", "cidrs"),
    [
        ({"podCIDR": "a"}, ["a"]),
        ({"podCIDRs": ["a", "b"]}, ["a", "b"]),
        ({"podCIDR": "c", "podCIDRs": ["a", "b"]}, ["c"]),
    ],
)
def test_both_fields_for_cidrs_agree(spec: JsonObject, cidrs: list[str]) -> None:
    assert node(spec)["spec"] == {"podCIDR": cidrs[0], "podCIDRs": cidrs}


def test_allocatable_defaults_to_capacity() -> None:
    assert node(capacity={"cpu": "2"})["status"]["allocatable"] == {"cpu": "2"}
