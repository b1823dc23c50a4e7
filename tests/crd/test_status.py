from __future__ import annotations

from polykind.crd import conditions
from polykind.crd.conditions import find_condition
from polykind.crd.status import nonstructural_condition, terminating_condition
from tests.crd.build import LATER, NOW, created_crd, established_crd, reconciled_status, v1beta1_crd, version


def test_structural_schema_has_no_condition() -> None:
    assert nonstructural_condition(created_crd()) is None
    assert [entry["type"] for entry in established_crd()["status"]["conditions"]] == ["NamesAccepted", "Established"]


def test_violations_name_their_version() -> None:
    old = v1beta1_crd(validation={"openAPIV3Schema": {"properties": {"a": {}}}})
    found = find_condition(old["status"], "NonStructuralSchema")
    assert found is not None
    assert (found["status"], found["reason"]) == ("True", "Violations")
    assert found["message"] == (
        "[spec.preserveUnknownFields: Invalid value: true: must be false, "
        "spec.versions[0].schema.openAPIV3Schema.properties[a].type: Required value: "
        "must not be empty for specified object fields, "
        "spec.versions[0].schema.openAPIV3Schema.type: Required value: must not be empty at the root]"
    )


def test_unsupported_schema_has_status_unknown() -> None:
    found = nonstructural_condition(created_crd(version(schema={"$schema": "x"})))
    assert found is not None
    assert (found["status"], found["reason"], found["message"]) == (
        "Unknown",
        "StructuralError",
        "failed to check validation schema for version v1: OpenAPIV3Schema 'schema' is not supported",
    )


def test_condition_is_removed_when_schema_becomes_structural() -> None:
    old = v1beta1_crd()
    mended = {**old, "spec": {**old["spec"], "preserveUnknownFields": False}}
    assert find_condition(old["status"], "NonStructuralSchema") is not None
    assert find_condition(reconciled_status(mended, now=LATER), "NonStructuralSchema") is None


def test_reconciled_status_does_not_change() -> None:
    old = v1beta1_crd()
    assert reconciled_status(old, now=LATER) == old["status"]


def test_terminating_conditions() -> None:
    status = conditions.set_condition({}, terminating_condition("InstanceDeletionPending"), NOW)
    status = conditions.set_condition(
        status, terminating_condition("InstanceDeletionFailed", "could not list instances: no"), LATER
    )
    assert status["conditions"][0]["lastTransitionTime"] == NOW
    assert status["conditions"][0]["message"] == "could not list instances: no"
    status = conditions.set_condition(status, terminating_condition("InstanceDeletionCompleted"), LATER)
    assert status["conditions"][0]["lastTransitionTime"] == LATER
    assert status["conditions"][0]["message"] == "removed all instances"
    assert terminating_condition("NeverEstablished")["message"] == "resource was never established"
