"""Validation of Ingresses, with kube-apiserver's messages."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.networking.ingress_validation import (
    load_balancer_warnings,
    validate_class_annotation,
    validate_ingress_spec,
    validate_load_balancer,
)
from polykind.contract import JsonObject
from tests.support.objects import ABSENT, edited, texts

SERVICE: JsonObject = {"service": {"name": "s", "port": {"number": 80}}}
SPEC: JsonObject = {
    "defaultBackend": {"service": {"name": "s", "port": {"number": 80}}},
    "rules": [{"host": "a.example.com", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": SERVICE}]}}],
    "tls": [{"hosts": ["a.example.com"], "secretName": "secret"}],
}
PATH = "rules[0].http.paths[0]"


def test_a_complete_spec_is_valid() -> None:
    assert validate_ingress_spec(SPEC) == []


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("rules[0].host", "10.0.0.1", 'spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP'),
        ("rules[0].host", "*.", 'spec.rules[0].host: Invalid value: "*.": a wildcard DNS-1123 subdomain must start'),
        ("rules[0].http.paths", [], "spec.rules[0].http.paths: Required value"),
        (f"{PATH}.pathType", None, f"spec.{PATH}.pathType: Required value: pathType must be specified"),
        (f"{PATH}.pathType", "Odd", f'spec.{PATH}.pathType: Unsupported value: "Odd": supported values: "Exact", "Imp'),
        (f"{PATH}.path", "a", f'spec.{PATH}.path: Invalid value: "a": must be an absolute path'),
        (f"{PATH}.path", "/a//b", f"spec.{PATH}.path: Invalid value: \"/a//b\": must not contain '//'"),
        (f"{PATH}.path", "/a/..", f"spec.{PATH}.path: Invalid value: \"/a/..\": cannot end with '/..'"),
        (f"{PATH}.backend", {}, f'spec.{PATH}.backend: Invalid value: "": resource or service backend is required'),
        ("defaultBackend.service.name", "", "spec.defaultBackend.service.name: Required value"),
        ("defaultBackend.service.port", {}, "spec.defaultBackend: Required value: port name or number is required"),
        ("defaultBackend.service.port.number", 65536, "spec.defaultBackend.service.port.number: Invalid value: 65536:"),
        (
            "defaultBackend.resource",
            {"kind": "", "name": "n"},
            'spec.defaultBackend: Invalid value: "": cannot set both',
        ),
        (
            "defaultBackend",
            {"resource": {"kind": "", "name": "n"}},
            "spec.defaultBackend.resource.kind: Required value",
        ),
        ("tls[0].secretName", "-", 'spec.tls[0].secretName: Invalid value: "-": a lowercase RFC 1123 subdomain'),
        ("ingressClassName", "A", 'spec.ingressClassName: Invalid value: "A": a lowercase RFC 1123 subdomain'),
    ],
)
def test_invalid_values(path: str, value: Any, message: str) -> None:
    [found] = texts(validate_ingress_spec(edited(SPEC, (path, value))))
    assert found.startswith(message)


def test_a_spec_needs_rules_or_a_backend() -> None:
    found = texts(validate_ingress_spec({"tls": []}))
    assert found == ["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"]


def test_an_implementation_specific_path_can_be_empty() -> None:
    spec = edited(SPEC, (f"{PATH}.pathType", "ImplementationSpecific"), (f"{PATH}.path", ABSENT))
    assert validate_ingress_spec(spec) == []


def test_an_update_may_keep_invalid_secret_names_and_wildcard_rules() -> None:
    old = edited(SPEC, ("tls[0].secretName", "-"), ("rules[0].host", "*.a.com"), (f"{PATH}.path", "x"))
    assert validate_ingress_spec(old, old) == []
    assert len(validate_ingress_spec(old, SPEC)) == 2


def test_the_class_of_a_new_ingress_must_match_its_annotation() -> None:
    metadata = {"annotations": {"kubernetes.io/ingress.class": "a"}}
    assert validate_class_annotation({"metadata": metadata, "spec": {"ingressClassName": "a"}}) == []
    [found] = texts(validate_class_annotation({"metadata": metadata, "spec": {"ingressClassName": "b"}}))
    assert found.startswith('annotations.kubernetes.io/ingress.class: Invalid value: "a": must match')


def test_load_balancer_addresses() -> None:
    status = {"loadBalancer": {"ingress": [{"ip": "010.0.0.1", "hostname": "1.2.3.4"}]}}
    assert texts(validate_load_balancer(status, {})) == [
        'status.loadBalancer.ingress[0].ip: Invalid value: "010.0.0.1": must not have leading 0s',
        'status.loadBalancer.ingress[0].hostname: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
    ]
    assert len(validate_load_balancer(status, status)) == 1
    [warning] = load_balancer_warnings(status)
    assert warning.startswith('status.loadBalancer.ingress[0]: non-standard IP address "010.0.0.1"')
