"""Matching of requests by namespace and object selectors."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.admission.matcher import namespace_matches, object_matches
from polykind.errors import NotFoundError
from polykind.selectors.selector_objects import compile_label_selector
from tests.admission.support import attributes_for

TEST = {"matchLabels": {"env": "test"}}
PROD = {"matchExpressions": [{"key": "env", "operator": "In", "values": ["prod"]}]}


def labels_spec(**labels: str) -> dict[str, Any]:
    return {"metadata": {"name": "v", "labels": labels}}


def test_object_selector_matches_new_or_existing_object() -> None:
    wanted = compile_label_selector(TEST)
    assert object_matches(wanted, attributes_for(labels_spec(env="test")))
    assert object_matches(wanted, attributes_for(labels_spec(), labels_spec(env="test")))
    assert object_matches(wanted, attributes_for(None, labels_spec(env="test")))
    assert not object_matches(wanted, attributes_for(labels_spec(), labels_spec(env="prod")))
    assert object_matches(compile_label_selector({}), attributes_for(labels_spec()))


def test_namespace_selector_matches_namespace_labels() -> None:
    assert namespace_matches(compile_label_selector(TEST), attributes_for(labels_spec()))
    assert not namespace_matches(compile_label_selector(PROD), attributes_for(labels_spec()))


def test_namespace_selector_matches_cluster_scoped_objects() -> None:
    assert namespace_matches(compile_label_selector(PROD), attributes_for(labels_spec(), namespace=""))


def test_namespace_is_matched_by_its_own_labels() -> None:
    of: dict[str, Any] = {"group": "", "plural": "namespaces", "namespace": "v"}
    assert namespace_matches(
        compile_label_selector(PROD), attributes_for(labels_spec(env="prod"), labels_spec(env="test"), **of)
    )
    assert namespace_matches(compile_label_selector(TEST), attributes_for(None, labels_spec(env="test"), **of))
    assert namespace_matches(
        compile_label_selector(TEST),
        attributes_for(labels_spec(env="prod"), labels_spec(env="test"), subresource="status", **of),
    )


def test_missing_namespace_is_not_found() -> None:
    with pytest.raises(NotFoundError, match='namespaces "gone" not found'):
        namespace_matches(
            compile_label_selector(TEST), attributes_for(labels_spec(), namespace="gone", namespace_object=lambda: None)
        )
