"""Validation of NetworkPolicies, with kube-apiserver's messages."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.networking.defaults import default_network_policy
from polykind.apis.networking.network_policy_validation import network_policy_warnings, validate_network_policy_spec
from polykind.contract import JsonObject
from tests.support.objects import edited, texts

SPEC: JsonObject = {
    "podSelector": {},
    "ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}], "ports": [{"port": 80}]}],
    "egress": [{"to": [{"podSelector": {}}]}],
    "policyTypes": ["Ingress", "Egress"],
}
PORT, BLOCK = "spec.ingress[0].ports[0]", "spec.ingress[0].from[0].ipBlock"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("ingress[0].ports[0]", {"port": 80, "endPort": 90}, None),
        ("ingress[0].ports[0]", {"endPort": 9}, f"{PORT}.endPort: Invalid value: 9: may not be specified when `port`"),
        ("ingress[0].ports[0]", {"port": "a", "endPort": 9}, f"{PORT}.endPort: Invalid value: 9: may not be specified"),
        ("ingress[0].ports[0]", {"port": 80, "endPort": 9}, f"{PORT}.endPort: Invalid value: 80: must be greater than"),
        ("ingress[0].ports[0]", {"port": 0}, f"{PORT}.port: Invalid value: 0: must be between 1 and 65535, inclusive"),
        ("ingress[0].ports[0]", {"port": "1"}, f'{PORT}.port: Invalid value: "1": must contain at least one letter'),
        ("ingress[0].ports[0]", {"protocol": "X"}, f'{PORT}.protocol: Unsupported value: "X": supported values: "TCP"'),
        ("ingress[0].from[0]", {}, "spec.ingress[0].from[0]: Required value: must specify a peer"),
        ("ingress[0].from[0].podSelector", {}, "spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock"),
        ("ingress[0].from[0].ipBlock", {"cidr": ""}, f"{BLOCK}.cidr: Required value"),
        (
            "ingress[0].from[0].ipBlock.cidr",
            "10.0.0.1/8",
            f'{BLOCK}.cidr: Invalid value: "10.0.0.1/8": must not have b',
        ),
        (
            "ingress[0].from[0].ipBlock.except",
            ["11.0.0.0/16"],
            f'{BLOCK}.except[0]: Invalid value: "11.0.0.0/16": must',
        ),
        (
            "ingress[0].from[0].ipBlock.except",
            ["10.0.0.0/8"],
            f'{BLOCK}.except[0]: Invalid value: "10.0.0.0/8": must b',
        ),
        (
            "policyTypes",
            ["Odd"],
            'spec.policyTypes[0]: Unsupported value: "Odd": supported values: "Ingress", "Egress"',
        ),
        (
            "policyTypes",
            ["Ingress"] * 3,
            'spec.policyTypes: Invalid value: ["Ingress","Ingress","Ingress"]: may not spe',
        ),
    ],
)
def test_values(path: str, value: Any, message: str | None) -> None:
    found = texts(validate_network_policy_spec(edited(SPEC, (path, value))))
    assert [text.startswith(message or "") for text in found] == ([True] if message else [])


def test_an_update_may_keep_cidrs_that_are_no_longer_valid() -> None:
    old = edited(SPEC, ("ingress[0].from[0].ipBlock.cidr", "10.0.0.1/8"))
    assert validate_network_policy_spec(old, old) == []
    [warning] = network_policy_warnings(old)
    assert warning.startswith(f'{BLOCK}.cidr: CIDR value "10.0.0.1/8" is ambiguous')


@pytest.mark.parametrize(
    ("spec", "types"),
    [
        ({}, ["Ingress"]),
        ({"egress": [{}]}, ["Ingress", "Egress"]),
        ({"egress": [{}], "policyTypes": ["Egress"]}, ["Egress"]),
    ],
)
def test_default_policy_types(spec: JsonObject, types: list[str]) -> None:
    policy = {"spec": spec}
    default_network_policy(policy)
    assert policy["spec"]["policyTypes"] == types


def test_default_protocol() -> None:
    policy = {"spec": {"ingress": [{"ports": [{}, {"protocol": "UDP"}]}]}}
    default_network_policy(policy)
    assert policy["spec"]["ingress"][0]["ports"] == [{"protocol": "TCP"}, {"protocol": "UDP"}]
