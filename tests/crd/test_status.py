from __future__ import annotations

from polykind.crd import conditions
from polykind.crd.conditions import find_condition
from polykind.crd.status import nonstructural_condition, terminating_condition
from tests.crd.build import LATER, NOW, at_rest, beta, made, settled, version


def test_a_structural_schema_needs_no_condition() -> None:
    assert nonstructural_condition(made()) is None
    assert [entry["type"] for entry in settled()["status"]["conditions"]] == ["NamesAccepted", "Established"]


def test_violations_are_told_at_their_version() -> None:
    old = beta(validation={"openAPIV3Schema": {"properties": {"a": {}}}})
    found = find_condition(old["status"], "NonStructuralSchema")
    assert found is not None
    assert (found["status"], found["reason"]) == ("True", "Violations")
    assert found["message"] == (
        "[spec.preserveUnknownFields: Invalid value: true: must be false, "
        "spec.versions[0].schema.openAPIV3Schema.properties[a].type: Required value: "
        "must not be empty for specified object fields, "
        "spec.versions[0].schema.openAPIV3Schema.type: Required value: must not be empty at the root]"
    )


def test_what_cannot_be_read_is_unknown() -> None:
    found = nonstructural_condition(made(version(schema={"$schema": "x"})))
    assert found is not None
    assert (found["status"], found["reason"], found["message"]) == (
        "Unknown",
        "StructuralError",
        "failed to check validation schema for version v1: OpenAPIV3Schema 'schema' is not supported",
    )


def test_the_condition_goes_when_the_schema_is_mended() -> None:
    old = beta()
    mended = {**old, "spec": {**old["spec"], "preserveUnknownFields": False}}
    assert find_condition(old["status"], "NonStructuralSchema") is not None
    assert find_condition(at_rest(mended, now=LATER), "NonStructuralSchema") is None


def test_a_status_at_rest_stays_as_it_is() -> None:
    old = beta()
    assert at_rest(old, now=LATER) == old["status"]


def test_the_steps_of_a_deletion() -> None:
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
