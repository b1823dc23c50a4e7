"""Tests of the kinds that kube-apiserver can decode."""

from __future__ import annotations

import pytest

from polykind.apis.scheme import LEGACY_SCHEME, is_known, scheme_of


@pytest.mark.parametrize(
    ("api_version", "kind", "known"),
    [
        ("v1", "Pod", True),
        ("v1", "PodList", True),
        ("v1", "List", True),
        ("v1", "ListList", False),
        ("v1", "BindingList", False),
        ("v1", "Deployment", False),
        ("apps/v1", "Deployment", True),
        ("apps/v1", "DeleteOptions", True),
        ("foo/v9", "DeleteOptions", False),
        ("foo/v9", "Status", True),
        ("autoscaling/v1", "ScaleList", False),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition", False),
    ],
)
def test_is_known_for_kinds_of_kube_apiserver(api_version: str, kind: str, known: bool) -> None:
    assert is_known(api_version, kind, LEGACY_SCHEME) is known


@pytest.mark.parametrize(
    ("api_version", "kind", "known"),
    [
        ("v1", "Status", True),
        ("v1", "PatchOptions", True),
        ("v1", "Pod", False),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinitionList", True),
    ],
)
def test_crd_server_knows_fewer_kinds(api_version: str, kind: str, known: bool) -> None:
    assert is_known(api_version, kind, scheme_of("apiextensions.k8s.io")) is known


@pytest.mark.parametrize(
    ("api_version", "kind", "known"),
    [
        ("apiregistration.k8s.io/v1", "APIService", True),
        ("apiregistration.k8s.io/v1beta1", "APIService", True),
        ("v1", "Pod", False),
    ],
)
def test_aggregator_knows_only_its_own_kind(api_version: str, kind: str, known: bool) -> None:
    assert is_known(api_version, kind, scheme_of("apiregistration.k8s.io")) is known
    assert is_known(api_version, kind, LEGACY_SCHEME) is not known
