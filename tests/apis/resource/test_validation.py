"""Validation that the kinds of the resource group share, with kube-apiserver's messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from polykind.apis.resource import validation
from polykind.contract import JsonObject
from polykind.errors import FieldError
from tests.support.objects import texts

Check = Callable[[Any, str], list[FieldError]]


@pytest.mark.parametrize(
    ("check", "value", "messages"),
    [
        (validation.validate_pool_name, "a/b.c", []),
        (validation.validate_pool_name, "", ["Required value"]),
        (validation.validate_pool_name, "a//b", ['Invalid value: "": a lowercase RFC 1123 subdomain']),
        (validation.validate_uid, "12345678-1234-1234-1234-123456789abc", []),
        (validation.validate_uid, "x", ['Invalid value: "x": error validating uid: invalid UUID length: 1']),
        (validation.validate_uid, "12345678-1234-1234-1234-123456789ABC", ["Invalid value: "]),
        (validation.validate_qualified_name, "a.b/c", []),
        (
            validation.validate_qualified_name,
            "/",
            ['Invalid value: "": the domain', 'Invalid value: "": the name'],
        ),
        (validation.validate_qualified_name, "1", ['Invalid value: "1": a valid C identifier must start with']),
        (validation.validate_qualified_name, "a" * 33, ["Too long: may not be more than 32 bytes"]),
        (
            validation.validate_fully_qualified_name,
            "a",
            ['Invalid value: "a": a fully qualified name must be a domain'],
        ),
        (validation.validate_toleration, {"operator": "Exists", "value": "v"}, ['Invalid value: "v": must be empty']),
        (
            validation.validate_toleration,
            {"operator": "X"},
            ['Unsupported value: "X": supported values: "Equal", "Exis'],
        ),
        (validation.validate_taint, {"key": "k", "effect": "None"}, []),
        (validation.validate_taint, {"key": "k"}, ["Required value"]),
        (validation.validate_binding_conditions, {"bindingConditions": ["a"], "bindingFailureConditions": ["b"]}, []),
        (
            validation.validate_binding_conditions,
            {"bindingConditions": ["a"]},
            ["Invalid value: null: bindingFailureC"],
        ),
    ],
)
def test_values(check: Check, value: Any, messages: list[str]) -> None:
    found = [text.partition(": ")[2] for text in texts(check(value, "at"))]
    assert len(found) == len(messages)
    assert all(text.startswith(message) for text, message in zip(found, messages, strict=True))


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            "device.driver == 'd' && device.attributes['d'].a && device.capacity['d'].mem.isGreaterThan(quantity('1'))",
            None,
        ),
        ("device.attributes['d'].flag", None),
        ("device.driver", 'Invalid value: "device.driver": must evaluate to bool or the unknown type, not string'),
        ("device.x", 'Invalid value: "device.x": compilation failed: ERROR: <input>:1:7: undefined field'),
        ("", 'Invalid value: "": compilation failed: ERROR: <input>:1:0: Syntax error: mismatched input'),
        ("x" * 10241, "Too long: may not be more than 10240 bytes"),
    ],
)
def test_cel_selectors(expression: str, message: str | None) -> None:
    found = texts(validation.validate_selectors([{"cel": {"expression": expression}}], "at"))
    expected = f"at[0].cel.expression: {message}"
    assert [text.startswith(expected) for text in found] == ([True] if message else [])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"extendedResourceName": "example.com/gpu", "config": [{"opaque": {"driver": "d", "parameters": {}}}]}, None),
        ({"extendedResourceName": "cpu"}, 'spec.extendedResourceName: Invalid value: "cpu": must be a valid extended '),
        ({"config": [{}]}, "spec.config[0].opaque: Required value"),
        ({"config": [{"opaque": {"driver": "d", "parameters": None}}]}, "spec.config[0].opaque.parameters: Required v"),
        ({"config": [{"opaque": {"driver": "d", "parameters": []}}]}, "spec.config[0].opaque.parameters: Invalid valu"),
        ({"selectors": [{}]}, "spec.selectors[0].cel: Required value"),
        ({"selectors": [{}] * 33}, "spec.selectors: Too many: 33: must have at most 32 items"),
    ],
)
def test_device_classes(spec: JsonObject, message: str | None) -> None:
    found = texts(validation.validate_device_class_spec(spec))
    assert [text.startswith(message or "") for text in found] == ([True] if message else [])
