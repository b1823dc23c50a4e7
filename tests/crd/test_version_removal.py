"""Reasons why a version cannot be removed from its CRD."""

from __future__ import annotations

from typing import Any

from polykind.crd.version_removal import ObjectCount, removal_blockers, stored_version_blocker

NAME = "widgets.example.com"


def blockers(**facts: Any) -> list[str]:
    defaults = {"storage": "v2", "listed": False, "stored": ObjectCount(), "managed": ObjectCount(), "clients": 0}
    return removal_blockers(NAME, "v1", **{**defaults, **facts})


def test_unused_version_has_no_blockers() -> None:
    assert blockers() == []


def test_stored_objects_are_counted_and_the_first_is_named() -> None:
    assert stored_version_blocker(NAME, "v1", ObjectCount(2, "default/a")) == (
        "2 objects, the first is default/a, are still stored at it: create a StorageVersionMigration for the resource "
        "widgets of the group example.com, which rewrites the remaining objects and then removes v1 from "
        "status.storedVersions"
    )


def test_listed_version_without_stored_objects_is_a_blocker() -> None:
    assert stored_version_blocker(NAME, "v1", ObjectCount()).startswith(
        "no object is stored at it, but it is still in status.storedVersions: create a StorageVersionMigration"
    )
    assert blockers(listed=True) == [stored_version_blocker(NAME, "v1", ObjectCount())]


def test_storage_version_may_be_listed() -> None:
    assert blockers(storage="v1", listed=True) == ["it is the storage version: make another one the storage version"]


def test_blockers_come_in_the_order_of_their_remedies() -> None:
    one = ObjectCount(1, "default/a")
    found = blockers(storage="v1", listed=True, stored=one, managed=one, clients=3)
    assert [blocker.split(":")[0] for blocker in found] == [
        "it is the storage version",
        "1 object, default/a, is still stored at it",
        "1 object, default/a, has field managers at it",
        "3 clients have requested it",
    ]
