"""Validation of IngressClasses, IPAddresses and ServiceCIDRs, with kube-apiserver's messages."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.networking import validation
from polykind.apis.networking.defaults import default_ingress_class
from polykind.contract import JsonObject
from tests.support.objects import edited, texts

CLASS: JsonObject = {
    "controller": "example.com/c",
    "parameters": {"kind": "K", "name": "n", "scope": "Namespace", "namespace": "default"},
}


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("controller", "", "spec.controller: Required value"),
        (
            "controller",
            "c",
            'spec.controller: Invalid value: "c": must be a domain-prefixed path (such as "acme.io/foo"',
        ),
        ("controller", "a.b/c d", 'spec.controller: Invalid value: "c d": Invalid path (regex used for validation is'),
        ("controller", "a.b/" + "c" * 250, "spec.controller: Too long: may not be more than 250 bytes"),
        ("parameters.scope", None, "spec.parameters.scope: Required value"),
        (
            "parameters.scope",
            "X",
            'spec.parameters.scope: Unsupported value: "X": supported values: "Cluster", "Namesp',
        ),
        ("parameters.scope", "Cluster", "spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"),
        ("parameters.namespace", None, "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Name"),
        ("parameters.name", "a/b", "spec.parameters.name: Invalid value: \"a/b\": may not contain '/'"),
    ],
)
def test_ingress_classes(path: str, value: Any, message: str) -> None:
    assert validation.validate_ingress_class_spec(CLASS) == []
    [found] = texts(validation.validate_ingress_class_spec(edited(CLASS, (path, value))))
    assert found.startswith(message)


def test_parameters_are_cluster_wide_by_default() -> None:
    ingress_class: JsonObject = {"spec": {"parameters": {"scope": None}}}
    default_ingress_class(ingress_class)
    assert ingress_class["spec"]["parameters"] == {"scope": "Cluster"}


def test_the_name_of_an_ip_address_is_canonical() -> None:
    assert validation.ip_address_name("2001:db8::1") == []
    assert validation.ip_address_name("2001:DB8::1") == ['must be in canonical form ("2001:db8::1")']


def test_ip_addresses_need_an_immutable_parent() -> None:
    assert texts(validation.validate_ip_address({"spec": {}})) == ["spec.parentRef: Required value"]
    address: JsonObject = {"spec": {"parentRef": {"resource": "services", "name": "a"}}}
    assert validation.validate_ip_address(address) == []
    assert texts(validation.validate_ip_address(edited(address, ("spec.parentRef", {"namespace": "a/b"})))) == [
        "spec.parentRef.resource: Required value",
        "spec.parentRef.name: Required value",
        "spec.parentRef.namespace: Invalid value: \"a/b\": may not contain '/'",
    ]
    changed = edited(address, ("spec.parentRef.name", "b"))
    [found] = texts(validation.validate_ip_address_update(changed, address))
    shown = '{"Group":"","Resource":"services","Namespace":"","Name":"b"}'
    assert found == f"spec.parentRef: Invalid value: {shown}: field is immutable"


@pytest.mark.parametrize(
    ("cidrs", "message"),
    [
        (["10.0.0.0/24", "2001:db8::/64"], None),
        ([], "spec.cidrs: Required value: at least one CIDR required"),
        (
            ["10.0.0.0/24"] * 3,
            'spec.cidrs: Invalid value: {"CIDRs":["10.0.0.0/24","10.0.0.0/24","10.0.0.0/24"]}: may o',
        ),
        (
            ["10.0.0.0/24", "10.1.0.0/24"],
            'spec.cidrs: Invalid value: ["10.0.0.0/24","10.1.0.0/24"]: may specify no more',
        ),
        (["x"], 'spec.cidrs[0]: Invalid value: "x": must be a valid CIDR value'),
    ],
)
def test_service_cidrs(cidrs: list[str], message: str | None) -> None:
    found = texts(validation.validate_service_cidr({"cidrs": cidrs}))
    assert [text.startswith(message or "") for text in found] == ([True] if message else [])


@pytest.mark.parametrize(
    ("cidrs", "fields"),
    [
        (["10.0.0.0/24"], []),
        (["10.0.0.0/24", "2001:db8::/64"], []),
        (["10.1.0.0/24"], ["spec.cidrs[0]"]),
        (["10.1.0.0/24", "2001:db8::/64"], ["spec.cidrs[0]"]),
        ([], ["spec.cidrs"]),
    ],
)
def test_an_update_may_only_add_a_cidr_of_the_other_family(cidrs: list[str], fields: list[str]) -> None:
    found = validation.validate_service_cidr_update({"cidrs": cidrs}, {"cidrs": ["10.0.0.0/24"]})
    assert [error.field for error in found] == fields


def test_error_shows_removed_cidrs_as_null() -> None:
    (found,) = validation.validate_service_cidr_update({}, {"cidrs": ["10.0.0.0/24"]})
    assert str(found) == "spec.cidrs: Invalid value: null: field is immutable"
