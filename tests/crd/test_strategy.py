from __future__ import annotations

from polykind import crd
from tests.crd.build import body, changed, settled, version


def test_a_new_definition_has_no_status_of_its_own() -> None:
    asked = {**body(), "status": {"storedVersions": ["v9"], "acceptedNames": {"plural": "x", "kind": "X"}}}
    asked["metadata"] |= {"generation": 7}
    new = crd.prepare_create(crd.decode(asked, "v1", True)[0])
    assert new["status"] == {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]}
    assert new["metadata"]["generation"] == 1


def test_the_generation_counts_changes_of_the_spec() -> None:
    old = settled()
    same = changed(old)
    same["metadata"] |= {"labels": {"a": "b"}, "generation": 9}
    assert crd.prepare_update(same, old)["metadata"]["generation"] == 1
    assert crd.prepare_update(changed(old, scope="Cluster"), old)["metadata"]["generation"] == 2


def test_a_new_storage_version_is_added_to_those_stored() -> None:
    old = settled(version(), version("v2"))
    new = changed(old, versions=[version(storage=False), version("v2", storage=True)])
    new["status"] = {"storedVersions": ["v2"]}
    assert crd.prepare_update(new, old)["status"] == {**old["status"], "storedVersions": ["v1", "v2"]}
    assert old["status"]["storedVersions"] == ["v1"]


def test_a_status_update_leaves_the_spec() -> None:
    old = settled()
    new = changed(old, scope="Cluster")
    new["metadata"]["generation"] = 9
    new["status"] = {**old["status"], "storedVersions": ["v9"]}
    prepared = crd.prepare_status_update(new, old)
    assert prepared["spec"] is old["spec"]
    assert prepared["metadata"]["generation"] == 1
    assert prepared["status"]["storedVersions"] == ["v9"]


def test_a_status_update_that_states_no_stored_version_has_the_storage_version() -> None:
    old = settled()
    new = {**changed(old), "status": {**old["status"], "storedVersions": None}}
    assert crd.prepare_status_update(new, old)["status"]["storedVersions"] == ["v1"]


def test_unknown_formats_are_warned_of_when_they_are_new() -> None:
    def having(*formats: str) -> dict[str, object]:
        fields = {f"f{index}": {"type": "string", "format": name} for index, name in enumerate(formats)}
        return settled(version(schema={"type": "object", "properties": fields}))

    assert crd.warnings(having("date", "shoe", "k8s-short-name")) == ['unrecognized format "shoe"']
    assert crd.warnings(having("shoe", "hat"), having("shoe")) == ['unrecognized format "hat"']
