from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.crd import versions
from tests.crd.build import made, settled, version


def test_the_order_of_the_documentation() -> None:
    order = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"]
    assert versions.priority_sort(sorted(order)) == order
    assert versions.priority_sort(["v01", "v1beta1", "v", "v1gamma1"]) == ["v01", "v1beta1", "v", "v1gamma1"]


@given(st.permutations(["v1", "v2", "v1beta1", "v1beta2", "v1alpha9", "x", "y10", "v99999999999999999999"]))
def test_the_order_does_not_depend_on_where_they_stood(names: list[str]) -> None:
    assert versions.priority_sort(names) == [
        "v2", "v1", "v1beta2", "v1beta1", "v1alpha9", "v99999999999999999999", "x", "y10",
    ]  # fmt: skip


def test_served_and_stored() -> None:
    crd = made(version(), version("v2", served=False), version("v3"))
    assert versions.served_versions(crd) == ["v1", "v3"]
    assert versions.storage_version(crd) == "v1"
    with pytest.raises(LookupError, match="has no storage version"):
        versions.storage_version(made(version("v2")))


def test_the_schema_of_a_version() -> None:
    crd = made(version(), version("v2", None))
    assert versions.version_schema(crd, "v1") == {"type": "object"}
    assert versions.version_schema(crd, "v2") is None
    with pytest.raises(LookupError, match="has no version v3"):
        versions.version_schema(crd, "v3")


def test_a_deprecated_version_names_a_better_one() -> None:
    crd = made(version("v1beta1", deprecated=True), version(), version("v2", served=False), version("v3alpha1"))
    assert versions.deprecation_warning(crd, "v1beta1") == (
        "example.com/v1beta1 Tool is deprecated; use example.com/v1 Tool"
    )
    assert versions.deprecation_warning(crd, "v1") is None
    assert versions.deprecation_warning(crd, "v9") is None


def test_a_worse_one_is_not_named() -> None:
    crd = made(version(deprecated=True), version("v1beta1"))
    assert versions.deprecation_warning(crd, "v1") == "example.com/v1 Tool is deprecated"


def test_words_of_its_own() -> None:
    crd = made(version(deprecated=True, deprecationWarning="gone soon"))
    assert versions.deprecation_warning(crd, "v1") == "gone soon"


def test_the_hash_of_the_storage_version() -> None:
    crd = settled(kind="Jar", group="storage-hash-discovery.example.com")
    assert versions.storage_version_hash(crd) == "9vNX/zgerIY="
