"""Warnings about deprecated node labels."""

from __future__ import annotations

from polykind.apis.core import node_labels


def test_deprecated_labels() -> None:
    assert node_labels.deprecated_node_label("kubernetes.io/os") == ""
    assert node_labels.deprecated_node_label("app.kubernetes.io/created-by") == "deprecated since v1.9"
    warnings = node_labels.label_map_warnings({"a": "b", "node-role.kubernetes.io/master": ""}, "at")
    assert warnings == ['at: use "node-role.kubernetes.io/control-plane" instead']
    assert node_labels.label_map_warnings(None, "at") == []


def test_label_selectors() -> None:
    selector = {
        "matchExpressions": [{"key": "a"}, {"key": "beta.kubernetes.io/os"}],
        "matchLabels": {"app.kubernetes.io/created-by": "x"},
    }
    assert node_labels.label_selector_warnings(selector, "at") == [
        'at.matchExpressions[1].key: beta.kubernetes.io/os is deprecated since v1.14; use "kubernetes.io/os" instead',
        "at.matchLabels.app.kubernetes.io/created-by: deprecated since v1.9",
    ]
    assert node_labels.label_selector_warnings(None, "at") == []
