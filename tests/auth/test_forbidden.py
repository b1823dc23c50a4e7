"""The message of a ForbiddenError."""

from __future__ import annotations

import pytest

from polykind import errors
from polykind.auth.authorizer import Access, AlwaysAllow, AlwaysDeny
from polykind.auth.forbidden import forbidden, require
from polykind.auth.user import User
from polykind.contract import JsonObject

ANN = User("ann")


@pytest.mark.parametrize(
    ("access", "reason", "message", "details"),
    [
        (
            Access(ANN, "get", "example.com", "v1", "widgets", "", "default", "x"),
            "",
            'widgets.example.com "x" is forbidden: User "ann" cannot get resource "widgets" in API group "example.com" '
            'in the namespace "default"',
            {"name": "x", "group": "example.com", "kind": "widgets"},
        ),
        (
            Access(ANN, "update", "", "v1", "namespaces", "status"),
            "RBAC: so it is",
            'namespaces is forbidden: User "ann" cannot update resource "namespaces/status" in API group "" '
            "at the cluster scope: RBAC: so it is",
            {"kind": "namespaces"},
        ),
        (Access(ANN, "get", path="/foo"), "", 'forbidden: User "ann" cannot get path "/foo"', {}),
        (
            Access(User('<a>&"'), "get", path="/<b>"),
            "<c>",
            'forbidden: User "&lt;a&gt;&amp;\\"" cannot get path "/&lt;b&gt;": <c>',
            {},
        ),
    ],
)
def test_forbidden_names_user_verb_resource_and_scope(
    access: Access, reason: str, message: str, details: JsonObject
) -> None:
    status = forbidden(access, reason).status()
    assert (status["message"], status["details"]) == (message, details)
    assert (status["code"], status["reason"]) == (403, "Forbidden")


async def test_require_raises_only_if_not_allowed() -> None:
    await require(AlwaysAllow(), Access(ANN, "get", path="/"))
    with pytest.raises(errors.ForbiddenError, match=r'cannot get path "/": Everything is forbidden\.$'):
        await require(AlwaysDeny(), Access(ANN, "get", path="/"))
