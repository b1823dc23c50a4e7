"""What is told of users."""

from __future__ import annotations

from polykind.auth.user import User


def test_what_is_told_of_a_user_has_nothing_empty() -> None:
    assert User("ann").info() == {"username": "ann"}
    extra = {"b": ("x", "y"), "a": ("z",)}
    told = User("ann", "1", ("makers",), extra).info()
    assert told == {"username": "ann", "uid": "1", "groups": ["makers"], "extra": {"a": ["z"], "b": ["x", "y"]}}
    assert list(told["extra"]) == ["a", "b"]


def test_users_are_known_by_what_they_are() -> None:
    assert {User("ann", extra={"a": ("b",)}), User("ann", extra={"a": ("b",)})} == {User("ann", extra={"a": ("b",)})}
