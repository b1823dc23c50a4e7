"""What a migration must obey, in the reference's words."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.storagemigration import validation
from polykind.contract import JsonObject


def migration(resource: str = "widgets", group: str = "example.com", **status: Any) -> JsonObject:
    return {"metadata": {"name": "m"}, "spec": {"resource": {"group": group, "resource": resource}}, "status": status}


def condition(type_: str, status: str = "True") -> JsonObject:
    # The keys as they come out of the store.
    return {
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "message": "m",
        "reason": "R",
        "status": status,
        "type": type_,
    }


def told(found: list[Any]) -> list[str]:
    return [str(error) for error in found]


@pytest.mark.parametrize("group", ["", "example.com"])
def test_a_resource_of_any_group_is_fine(group: str) -> None:
    assert validation.validate_migration(migration(group=group)) == []


def test_a_resource_must_be_named() -> None:
    assert told(validation.validate_migration(migration(""))) == [
        "spec.resource.resource: Required value: resource is required to be set"
    ]


def test_names_of_resources_and_groups_are_checked() -> None:
    resource, group = told(validation.validate_migration(migration("1Widgets", "Example")))
    assert resource.startswith('spec.resource.resource: Invalid value: "1Widgets": a DNS-1035 label must consist of')
    assert group.startswith('spec.resource.group: Invalid value: "Example": a lowercase RFC 1123 subdomain')


def test_what_is_wrong_with_one_name_is_told_at_once() -> None:
    [found] = told(validation.validate_migration(migration("X" * 64)))
    assert "must be no more than 63 characters,a DNS-1035 label" in found


def test_the_spec_never_changes() -> None:
    assert validation.validate_migration_update(migration(), migration()) == []
    assert told(validation.validate_migration_update(migration("gadgets"), migration())) == [
        'spec: Invalid value: {"Resource":{"group":"example.com","resource":"gadgets"}}: field is immutable'
    ]


@pytest.mark.parametrize("revision", ["0", "01", "x", "-1", "5x", "٣"])
def test_a_revision_is_a_positive_number(revision: str) -> None:
    [found] = told(validation.validate_migration_status(migration(resourceVersion=revision), migration()))
    assert found == (
        f'status.resourceVersion: Invalid value: "{revision}": resource version is not well formed: {revision}'
    )


def test_a_revision_stays_once_it_is_set() -> None:
    before = migration(resourceVersion="5")
    assert validation.validate_migration_status(before, before) == []
    assert told(validation.validate_migration_status(migration(resourceVersion="6"), before)) == [
        'status.resourceVersion: Invalid value: "6": field is immutable'
    ]


def test_a_migration_does_not_both_succeed_and_fail() -> None:
    both = migration(conditions=[condition("Succeeded"), condition("Failed")])
    [found] = told(validation.validate_migration_status(both, migration()))
    assert found == (
        'status.conditions: Invalid value: [{"type":"Succeeded","status":"True",'
        '"lastTransitionTime":"2026-01-01T00:00:00Z","reason":"R","message":"m"},{"type":"Failed","status":"True",'
        '"lastTransitionTime":"2026-01-01T00:00:00Z","reason":"R","message":"m"}]: '
        "Both success and failed conditions cannot be true at the same time"
    )


@pytest.mark.parametrize(("type_", "name"), [("Succeeded", "Success"), ("Failed", "Failed")])
def test_the_end_of_a_migration_is_final(type_: str, name: str) -> None:
    before = migration(conditions=[condition(type_)])
    assert validation.validate_migration_status(before, before) == []
    assert told(validation.validate_migration_status(migration(), before)) == [
        f"status.conditions: Invalid value: null: {name} condition cannot be set to false once it is true"
    ]


def test_conditions_are_judged_as_any_are() -> None:
    twice = migration(conditions=[condition("Running"), condition("Running", "maybe")])
    assert told(validation.validate_migration_status(twice, migration())) == [
        'status.conditions[1].type: Duplicate value: "Running"',
        'status.conditions[1].status: Unsupported value: "maybe": supported values: "False", "True", "Unknown"',
    ]
