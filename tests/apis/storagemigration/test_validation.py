"""Tests of the validation of StorageVersionMigrations."""

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


def messages(found: list[Any]) -> list[str]:
    return [str(error) for error in found]


@pytest.mark.parametrize("group", ["", "example.com"])
def test_resource_of_any_group_is_valid(group: str) -> None:
    assert validation.validate_migration(migration(group=group)) == []


def test_resource_is_required() -> None:
    assert messages(validation.validate_migration(migration(""))) == [
        "spec.resource.resource: Required value: resource is required to be set"
    ]


def test_resource_and_group_must_be_dns_names() -> None:
    resource, group = messages(validation.validate_migration(migration("1Widgets", "Example")))
    assert resource.startswith('spec.resource.resource: Invalid value: "1Widgets": a DNS-1035 label must consist of')
    assert group.startswith('spec.resource.group: Invalid value: "Example": a lowercase RFC 1123 subdomain')


def test_errors_of_one_name_are_joined() -> None:
    [found] = messages(validation.validate_migration(migration("X" * 64)))
    assert "must be no more than 63 characters,a DNS-1035 label" in found


def test_spec_is_immutable() -> None:
    assert validation.validate_migration_update(migration(), migration()) == []
    assert messages(validation.validate_migration_update(migration("gadgets"), migration())) == [
        'spec: Invalid value: {"Resource":{"group":"example.com","resource":"gadgets"}}: field is immutable'
    ]


@pytest.mark.parametrize("revision", ["0", "01", "x", "-1", "5x", "٣"])
def test_resource_version_must_be_positive(revision: str) -> None:
    [found] = messages(validation.validate_migration_status(migration(resourceVersion=revision), migration()))
    assert found == (
        f'status.resourceVersion: Invalid value: "{revision}": resource version is not well formed: {revision}'
    )


def test_resource_version_is_immutable() -> None:
    before = migration(resourceVersion="5")
    assert validation.validate_migration_status(before, before) == []
    assert messages(validation.validate_migration_status(migration(resourceVersion="6"), before)) == [
        'status.resourceVersion: Invalid value: "6": field is immutable'
    ]


def test_succeeded_and_failed_exclude_each_other() -> None:
    both = migration(conditions=[condition("Succeeded"), condition("Failed")])
    [found] = messages(validation.validate_migration_status(both, migration()))
    assert found == (
        'status.conditions: Invalid value: [{"type":"Succeeded","status":"True",'
        '"lastTransitionTime":"2026-01-01T00:00:00Z","reason":"R","message":"m"},{"type":"Failed","status":"True",'
        '"lastTransitionTime":"2026-01-01T00:00:00Z","reason":"R","message":"m"}]: '
        "Both success and failed conditions cannot be true at the same time"
    )


@pytest.mark.parametrize(("type_", "name"), [("Succeeded", "Success"), ("Failed", "Failed")])
def test_final_conditions_cannot_be_reset(type_: str, name: str) -> None:
    before = migration(conditions=[condition(type_)])
    assert validation.validate_migration_status(before, before) == []
    assert messages(validation.validate_migration_status(migration(), before)) == [
        f"status.conditions: Invalid value: null: {name} condition cannot be set to false once it is true"
    ]


def test_conditions_are_validated() -> None:
    twice = migration(conditions=[condition("Running"), condition("Running", "maybe")])
    assert messages(validation.validate_migration_status(twice, migration())) == [
        'status.conditions[1].type: Duplicate value: "Running"',
        'status.conditions[1].status: Unsupported value: "maybe": supported values: "False", "True", "Unknown"',
    ]
