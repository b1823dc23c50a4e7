from __future__ import annotations

from polykind.discovery.builtins import builtins
from polykind.discovery.resource_entries import from_crd
from tests.discovery.crds import crd, crontabs, version


def test_entry_of_each_served_version() -> None:
    entries = from_crd(crontabs())
    assert (entries.name, entries.group) == ("crontabs.stable.example.com", "stable.example.com")
    assert entries.versions == ("v1beta1", "v1")
    assert [sub.name for sub in entries.resources["v1"].subresources] == ["status", "scale"]
    assert entries.resources["v1beta1"].subresources == ()


def test_crd_without_conditions_has_no_resources() -> None:
    fresh = crontabs()
    del fresh["status"]
    assert from_crd(fresh).versions == ("v1beta1", "v1")
    assert from_crd(fresh).resources == {}


def test_condition_must_be_true() -> None:
    not_established = crontabs()
    not_established["status"]["conditions"] = [{"type": "Established", "status": "False"}]
    assert from_crd(not_established).resources == {}


def test_revision_follows_the_generation() -> None:
    one = crontabs()
    one["metadata"] |= {"uid": "u1", "generation": 1, "resourceVersion": "7"}
    touched = {**one, "metadata": {**one["metadata"], "resourceVersion": "8"}}
    changed = {**one, "metadata": {**one["metadata"], "generation": 2}}
    assert from_crd(one).revision == from_crd(touched).revision
    assert from_crd(one).revision != from_crd(changed).revision


def test_revision_of_an_unstored_crd_follows_its_content() -> None:
    assert from_crd(crontabs()).revision == from_crd(crontabs()).revision
    assert from_crd(crd("as", "A", version("v1"))).revision != from_crd(crd("as", "A", version("v2"))).revision


def test_schema_that_is_not_structural_is_not_published() -> None:
    structural = {"type": "object", "properties": {"spec": {"type": "object"}}}
    loose = {"type": "object", "properties": {"spec": {"properties": {}}}}
    old = crd(
        "as",
        "A",
        version("v1", schema={"openAPIV3Schema": structural}),
        version("v2", schema={"openAPIV3Schema": loose}),
    )
    old["spec"]["preserveUnknownFields"] = True
    old["status"]["conditions"].append({"type": "NonStructuralSchema", "status": "True"})
    assert from_crd(old).structural_schemas() == {"v1": structural}


def test_builtins_are_unique_and_sorted_by_name() -> None:
    entries = builtins()
    assert len({(entry.group, entry.version) for entry in entries}) == len(entries)
    for entry in entries:
        names = [resource.name for resource in entry.resources]
        assert names == sorted(names)
        assert all(subs == sorted(subs) for r in entry.resources for subs in [[sub.name for sub in r.subresources]])
