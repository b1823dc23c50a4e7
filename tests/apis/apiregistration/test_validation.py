"""Validation of APIServices, with kube-apiserver's messages."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.apiregistration.defaults import default_api_service
from polykind.apis.apiregistration.validation import (
    api_service_name,
    validate_api_service_spec,
    validate_api_service_status,
)
from polykind.contract import JsonObject
from tests.support.objects import edited, texts

SPEC: JsonObject = {
    "group": "example.com",
    "version": "v1",
    "groupPriorityMinimum": 1,
    "versionPriority": 1,
    "service": {"namespace": "default", "name": "a", "port": 443},
}


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("group", "A", 'spec.group: Invalid value: "A": a lowercase RFC 1123 subdomain'),
        ("version", "1", 'spec.version: Invalid value: "1": a DNS-1035 label'),
        ("groupPriorityMinimum", 20001, "spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less t"),
        ("versionPriority", 0, "spec.versionPriority: Invalid value: 0: must be positive and less than 1000"),
        ("service.namespace", "", "spec.service.namespace: Required value"),
        ("service.port", 0, "spec.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inc"),
    ],
)
def test_api_services(path: str, value: Any, message: str) -> None:
    assert validate_api_service_spec(SPEC) == []
    [found] = texts(validate_api_service_spec(edited(SPEC, (path, value))))
    assert found.startswith(message)


def test_a_bundle_excludes_skipped_verification_and_local_services() -> None:
    secured = edited(SPEC, ("caBundle", "YQ=="), ("insecureSkipTLSVerify", True))
    assert texts(validate_api_service_spec(secured)) == [
        "spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present"
    ]
    assert texts(validate_api_service_spec(edited(secured, ("service", None)))) == [
        'spec.caBundle: Invalid value: "1 bytes": local APIServices may not have a caBundle',
        "spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify",
    ]


def test_only_the_core_group_is_empty() -> None:
    legacy = edited(SPEC, ("group", ""))
    assert validate_api_service_spec(legacy) == []
    [found] = texts(validate_api_service_spec(edited(legacy, ("version", "v2"))))
    assert found.startswith("spec.group: Required value: only v1 may have an empty group")


def test_the_name_consists_of_version_and_group() -> None:
    assert api_service_name("v1.example.com", SPEC) == []
    assert api_service_name("a", SPEC) == ['must be `spec.version+"."+spec.group`: "v1.example.com"']


def test_the_port_has_a_default() -> None:
    api_service: JsonObject = {"spec": {"service": {"name": "a"}}}
    default_api_service(api_service)
    assert api_service["spec"]["service"]["port"] == 443


def test_condition_statuses() -> None:
    [found] = texts(validate_api_service_status({"conditions": [{"status": "True"}, {"status": "X"}]}))
    expected = 'Unsupported value: "X": supported values: "True", "False", "Unknown"'
    assert found == f"status.conditions[1].status: {expected}"
