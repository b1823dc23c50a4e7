"""Validation and defaults of Secrets."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from polykind.apis.core.defaults import default_secret
from polykind.apis.core.secret_validation import validate_secret, validate_secret_update
from polykind.contract import JsonObject
from polykind.errors import FieldError


def secret(kind: str = "Opaque", **fields: Any) -> JsonObject:
    return {"metadata": {"name": "s"}, "type": kind, **fields}


def encoded(**values: str) -> dict[str, str]:
    return {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}


def texts(found: list[FieldError]) -> list[str]:
    return [str(error) for error in found]


@pytest.mark.parametrize(
    ("kind", "data", "expected"),
    [
        ("Opaque", {}, []),
        ("example.com/own", {}, []),
        ("kubernetes.io/basic-auth", {}, ["data[username]: Required value", "data[password]: Required value"]),
        ("kubernetes.io/basic-auth", {"password": ""}, []),
        ("kubernetes.io/ssh-auth", {"ssh-privatekey": ""}, ["data[ssh-privatekey]: Required value"]),
        ("kubernetes.io/tls", {"tls.crt": ""}, ["data[tls.key]: Required value"]),
        ("kubernetes.io/dockercfg", {}, ["data[.dockercfg]: Required value"]),
        (
            "kubernetes.io/service-account-token",
            {},
            ["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
        ),
        ("Opaque", {"..": ""}, ["data[..]: Invalid value: \"..\": must not be '..'"]),
    ],
)
def test_required_keys(kind: str, data: JsonObject, expected: list[str]) -> None:
    assert texts(validate_secret(secret(kind, data=data))) == expected


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{}", ""),
        ("null", ""),
        ("", "unexpected end of JSON input"),
        ("not", "invalid character 'o' in literal null (expecting 'u')"),
        ("[]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ('"x"', "json: cannot unmarshal string into Go value of type map[string]interface {}"),
    ],
)
def test_docker_configuration_must_be_a_json_object(content: str, reason: str) -> None:
    key = ".dockerconfigjson"
    found = texts(validate_secret(secret("kubernetes.io/dockerconfigjson", data=encoded(**{key: content}))))
    expected = f'data[{key}]: Invalid value: "<secret contents redacted>": {reason}'
    assert found == ([expected] if reason else [])


def test_total_size() -> None:
    value = base64.b64encode(b"x" * (512 * 1024 + 1)).decode()
    assert texts(validate_secret(secret(data={"a": value, "b": value}))) == [
        "data: Too long: may not be more than 1048576 bytes"
    ]


def test_updates() -> None:
    old = secret(immutable=True, data={"a": ""})
    changed = secret("other", data={})
    assert texts(validate_secret_update(changed, old)) == [
        'type: Invalid value: "other": field is immutable',
        "immutable: Forbidden: field is immutable when `immutable` is set",
        "data: Forbidden: field is immutable when `immutable` is set",
    ]
    assert validate_secret_update(secret(data={"b": ""}), secret(data={"a": ""})) == []


def test_string_data_overrides_data() -> None:
    obj: JsonObject = {"data": {"a": "YQ==", "b": None}, "stringData": {"a": "ä", "c": ""}}
    default_secret(obj)
    assert obj == {"type": "Opaque", "data": {"a": "w6Q=", "b": "", "c": ""}}
