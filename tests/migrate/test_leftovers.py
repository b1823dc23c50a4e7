"""What is told to who wants to remove a version too early."""

from __future__ import annotations

from polykind.migrate.leftovers import explanation


def test_what_is_left_is_counted_and_the_first_named() -> None:
    assert explanation("widgets.example.com", "v1", 1, "default/a") == (
        "version v1 of widgets.example.com cannot be removed yet: 1 object is still stored at it, the first is "
        "default/a; create a StorageVersionMigration for the resource widgets of the group example.com: it rewrites "
        "what is left, then takes v1 out of status.storedVersions"
    )


def test_that_nothing_is_left_is_told_as_well() -> None:
    assert "no object is stored at it any more, but status.storedVersions still has it" in explanation(
        "widgets.example.com", "v1", 0, ""
    )
