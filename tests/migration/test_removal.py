"""What is told to who wants to remove a version."""

from __future__ import annotations

from typing import Any

from polykind.migration.removal import Found, hindrances, leftovers

NAME = "widgets.example.com"


def found(**facts: Any) -> list[str]:
    known = {"storage": "v2", "listed": False, "stored": Found(), "managed": Found(), "clients": 0, **facts}
    return hindrances(NAME, "v1", **known)


def test_what_nobody_uses_may_go() -> None:
    assert found() == []


def test_what_is_left_is_counted_and_the_first_named() -> None:
    assert leftovers(NAME, "v1", Found(2, "default/a")) == (
        "2 objects, the first is default/a, are still stored at it: create a StorageVersionMigration for the resource "
        "widgets of the group example.com, which rewrites what is left and then takes v1 out of status.storedVersions"
    )


def test_that_nothing_is_left_is_told_where_the_list_has_it() -> None:
    assert leftovers(NAME, "v1", Found()).startswith(
        "no object is stored at it any more, but status.storedVersions still has it: create a StorageVersionMigration"
    )
    assert found(listed=True) == [leftovers(NAME, "v1", Found())]


def test_the_storage_version_is_always_listed() -> None:
    assert found(storage="v1", listed=True) == ["it is the storage version: make another one the storage version"]


def test_all_of_it_comes_in_the_order_in_which_to_see_to_it() -> None:
    one = Found(1, "default/a")
    assert [why.split(":")[0] for why in found(storage="v1", listed=True, stored=one, managed=one, clients=3)] == [
        "it is the storage version",
        "1 object, default/a, is still stored at it",
        "1 object, default/a, has field managers at it",
        "3 clients have asked for it",
    ]
