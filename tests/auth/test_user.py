"""The User class."""

from __future__ import annotations

from polykind.auth.user import User


def test_info_omits_empty_fields() -> None:
    assert User("ann").info() == {"username": "ann"}
    extra = {"b": ("x", "y"), "a": ("z",)}
    info = User("ann", "1", ("makers",), extra).info()
    assert info == {"username": "ann", "uid": "1", "groups": ["makers"], "extra": {"a": ["z"], "b": ["x", "y"]}}
    assert list(info["extra"]) == ["a", "b"]


def test_users_are_compared_by_value() -> None:
    assert {User("ann", extra={"a": ("b",)}), User("ann", extra={"a": ("b",)})} == {User("ann", extra={"a": ("b",)})}
