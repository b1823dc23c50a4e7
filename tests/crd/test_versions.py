from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.crd import versions
from tests.crd.build import created_crd, established_crd, version


def test_priority_order_of_the_documentation() -> None:
    order = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"]
    assert versions.priority_sort(sorted(order)) == order
    assert versions.priority_sort(["v01", "v1beta1", "v", "v1gamma1"]) == ["v01", "v1beta1", "v", "v1gamma1"]


@given(st.permutations(["v1", "v2", "v1beta1", "v1beta2", "v1alpha9", "x", "y10", "v99999999999999999999"]))
def test_priority_order_is_independent_of_input_order(names: list[str]) -> None:
    assert versions.priority_sort(names) == [
        "v2", "v1", "v1beta2", "v1beta1", "v1alpha9", "v99999999999999999999", "x", "y10",
    ]  # fmt: skip


def test_served_versions_and_storage_version() -> None:
    crd = created_crd(version(), version("v2", served=False), version("v3"))
    assert versions.served_versions(crd) == ["v1", "v3"]
    assert versions.storage_version(crd) == "v1"
    with pytest.raises(LookupError, match="has no storage version"):
        versions.storage_version(created_crd(version("v2")))


def test_version_schema() -> None:
    crd = created_crd(version(), version("v2", None))
    assert versions.version_schema(crd, "v1") == {"type": "object"}
    assert versions.version_schema(crd, "v2") is None
    with pytest.raises(LookupError, match="has no version v3"):
        versions.version_schema(crd, "v3")


def test_deprecation_warning_recommends_a_better_version() -> None:
    crd = created_crd(version("v1beta1", deprecated=True), version(), version("v2", served=False), version("v3alpha1"))
    assert versions.deprecation_warning(crd, "v1beta1") == (
        "example.com/v1beta1 Tool is deprecated; use example.com/v1 Tool"
    )
    assert versions.deprecation_warning(crd, "v1") is None
    assert versions.deprecation_warning(crd, "v9") is None


def test_deprecation_warning_never_recommends_a_worse_version() -> None:
    crd = created_crd(version(deprecated=True), version("v1beta1"))
    assert versions.deprecation_warning(crd, "v1") == "example.com/v1 Tool is deprecated"


def test_custom_deprecation_warning() -> None:
    crd = created_crd(version(deprecated=True, deprecationWarning="gone soon"))
    assert versions.deprecation_warning(crd, "v1") == "gone soon"


def test_storage_version_hash() -> None:
    crd = established_crd(kind="Jar", group="storage-hash-discovery.example.com")
    assert versions.storage_version_hash(crd) == "9vNX/zgerIY="
