from __future__ import annotations

from polykind import crd
from polykind.apis.apiextensions import crd_codec
from tests.crd.build import crd_body, established_crd, version, with_spec


def test_create_resets_status() -> None:
    asked = {**crd_body(), "status": {"storedVersions": ["v9"], "acceptedNames": {"plural": "x", "kind": "X"}}}
    asked["metadata"] |= {"generation": 7}
    new = crd.prepare_create(crd_codec.decode(asked, "v1", True)[0])
    assert new["status"] == {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]}
    assert new["metadata"]["generation"] == 1


def test_generation_counts_spec_changes() -> None:
    old = established_crd()
    same = with_spec(old)
    same["metadata"] |= {"labels": {"a": "b"}, "generation": 9}
    assert crd.prepare_update(same, old)["metadata"]["generation"] == 1
    assert crd.prepare_update(with_spec(old, scope="Cluster"), old)["metadata"]["generation"] == 2


def test_new_storage_version_is_added_to_stored_versions() -> None:
    old = established_crd(version(), version("v2"))
    new = with_spec(old, versions=[version(storage=False), version("v2", storage=True)])
    new["status"] = {"storedVersions": ["v2"]}
    assert crd.prepare_update(new, old)["status"] == {**old["status"], "storedVersions": ["v1", "v2"]}
    assert old["status"]["storedVersions"] == ["v1"]


def test_status_update_keeps_spec() -> None:
    old = established_crd()
    new = with_spec(old, scope="Cluster")
    new["metadata"]["generation"] = 9
    new["status"] = {**old["status"], "storedVersions": ["v9"]}
    prepared = crd.prepare_status_update(new, old)
    assert prepared["spec"] is old["spec"]
    assert prepared["metadata"]["generation"] == 1
    assert prepared["status"]["storedVersions"] == ["v9"]


def test_status_update_fills_in_empty_stored_versions() -> None:
    old = established_crd()
    new = {**with_spec(old), "status": {**old["status"], "storedVersions": None}}
    assert crd.prepare_status_update(new, old)["status"]["storedVersions"] == ["v1"]


def test_new_unknown_formats_cause_warnings() -> None:
    def having(*formats: str) -> dict[str, object]:
        fields = {f"f{index}": {"type": "string", "format": name} for index, name in enumerate(formats)}
        return established_crd(version(schema={"type": "object", "properties": fields}))

    assert crd.warnings(having("date", "shoe", "k8s-short-name")) == ['unrecognized format "shoe"']
    assert crd.warnings(having("shoe", "hat"), having("shoe")) == ['unrecognized format "hat"']
