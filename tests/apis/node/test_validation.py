"""Validation of RuntimeClasses, with kube-apiserver's messages."""

from __future__ import annotations

import pytest

from polykind.apis.node.types import RUNTIME_CLASS
from polykind.apis.node.validation import validate_runtime_class
from polykind.contract import JsonObject
from polykind.strategies.node.strategy import RuntimeClassStrategy
from tests.support.objects import texts

_TOLERATION = {"key": "k", "operator": "Exists"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"handler": "runc", "overhead": {"podFixed": {"cpu": "1"}}, "scheduling": {"tolerations": [_TOLERATION]}},
            None,
        ),
        ({}, "handler: Required value"),
        ({"handler": "a.b"}, 'handler: Invalid value: "a.b": must not contain dots'),
        ({"handler": "a", "overhead": {"podFixed": {"cpu": "-1"}}}, 'overhead.limits[cpu]: Invalid value: "-1": must '),
        ({"handler": "a", "scheduling": {"nodeSelector": {"a": "b c"}}}, 'scheduling.nodeSelector: Invalid value: "b '),
        (
            {"handler": "a", "scheduling": {"tolerations": [_TOLERATION, _TOLERATION]}},
            'scheduling.tolerations[1]: Duplicate value: {"Key":"k","Operator":"Exists","Value":"","Effect":"","Tolera',
        ),
    ],
)
def test_runtime_classes(fields: JsonObject, message: str | None) -> None:
    found = texts(validate_runtime_class(fields))
    assert [text.startswith(message or "") for text in found] == ([True] if message else [])


def test_deprecated_node_labels_get_a_warning() -> None:
    strategy = RuntimeClassStrategy(RUNTIME_CLASS)
    runtime_class = {"scheduling": {"nodeSelector": {"beta.kubernetes.io/arch": "x", "a": "b"}}}
    [warning] = strategy.warnings(runtime_class, None)
    assert warning == 'scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/arch" instead'
