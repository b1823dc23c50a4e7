"""Users, and the service accounts among them."""

from __future__ import annotations

import pytest

from polykind.auth.user import User, split_service_account


def test_what_is_told_of_a_user_has_nothing_empty() -> None:
    assert User("ann").info() == {"username": "ann"}
    extra = {"b": ("x", "y"), "a": ("z",)}
    told = User("ann", "1", ("makers",), extra).info()
    assert told == {"username": "ann", "uid": "1", "groups": ["makers"], "extra": {"a": ["z"], "b": ["x", "y"]}}
    assert list(told["extra"]) == ["a", "b"]


def test_users_are_known_by_what_they_are() -> None:
    assert {User("ann", extra={"a": ("b",)}), User("ann", extra={"a": ("b",)})} == {User("ann", extra={"a": ("b",)})}


@pytest.mark.parametrize(
    ("name", "account"),
    [
        ("system:serviceaccount:team:robot", ("team", "robot")),
        ("system:serviceaccount:team:robot.one", ("team", "robot.one")),
        ("system:serviceaccount:te.am:robot", None),
        ("system:serviceaccount:team:Robot", None),
        ("system:serviceaccount:team:", None),
        ("system:serviceaccount:team", None),
        ("system:serviceaccount:a:b:c", None),
        ("team:robot", None),
    ],
)
def test_a_service_account_is_told_by_its_name(name: str, account: tuple[str, str] | None) -> None:
    assert split_service_account(name) == account
