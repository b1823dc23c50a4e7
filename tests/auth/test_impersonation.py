"""Impersonation by the Impersonate-* headers."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from polykind import errors
from polykind.auth.authorizer import Access, AlwaysAllow, Decision, Rules
from polykind.auth.impersonation import Impersonation, parse_service_account, requested_user
from polykind.auth.user import User

ANN = User("ann", groups=("system:authenticated",))
READING = Access(ANN, "get", "example.com", "v1", "widgets", "", "default", "w")
AUTHENTICATED, UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"


class PrefixAuthorizer:
    """Allows accesses that start with one of the prefixes, and records each as `verb group:resource namespace/name`."""

    allows_everything = False
    may_deny = False

    def __init__(self, *prefixes: str) -> None:
        self.prefixes = prefixes
        self.recorded: list[str] = []
        self.users: list[User] = []

    async def decide(self, access: Access) -> Decision:
        resource = f"{access.resource}/{access.subresource}" if access.subresource else access.resource
        self.users.append(access.user)
        self.recorded.append(f"{access.verb} {access.group}:{resource} {access.namespace}/{access.name}")
        return Decision(any(self.recorded[-1].startswith(one) for one in self.prefixes))

    def rules(self, user: User, namespace: str) -> Rules:
        return Rules([], [])


async def forbidden_message(
    authorizer: PrefixAuthorizer, other: User, impersonation: Impersonation | None = None
) -> str:
    with pytest.raises(errors.ForbiddenError) as caught:
        await (impersonation or Impersonation(authorizer)).impersonate(other, READING)
    return caught.value.message


# ---------------------------------------------------------------------- headers


def test_headers_give_user_uid_groups_and_extra() -> None:
    headers = {
        b"accept": b"*/*",
        b"impersonate-user": b"bob",
        b"impersonate-uid": b"7",
        b"impersonate-group": b"a,b\0c",
        b"impersonate-extra-scopes": b"x\0y",
        b"impersonate-extra-a.io%2fb": b"z",
        b"impersonate-extra-%zz": "é".encode(),
    }
    extra = {"scopes": ("x", "y"), "a.io/b": ("z",), "%zz": ("é",)}
    assert requested_user(headers) == User("bob", "7", ("a,b", "c"), extra)


def test_no_impersonation_headers_give_none() -> None:
    assert requested_user({b"accept": b"*/*"}) is None
    assert requested_user({b"impersonate-user": b"", b"impersonate-uid": b""}) is None


@pytest.mark.parametrize(
    ("headers", "formatted_user"),
    [
        (
            {b"impersonate-group": b"g\0h"},
            '{Name:"", UID:"", Groups:[]string{"g", "h"}, Extra:map[string][]string(nil)}',
        ),
        ({b"impersonate-uid": b"1"}, '{Name:"", UID:"1", Groups:[]string(nil), Extra:map[string][]string(nil)}'),
        (
            {b"impersonate-extra-b": b"x\0y", b"impersonate-extra-a": b""},
            '{Name:"", UID:"", Groups:[]string(nil), '
            'Extra:map[string][]string{"a":[]string{""}, "b":[]string{"x", "y"}}}',
        ),
    ],
)
def test_impersonation_without_user_name_is_rejected(headers: dict[bytes, bytes], formatted_user: str) -> None:
    with pytest.raises(errors.BadRequestError) as caught:
        requested_user(headers)
    assert caught.value.message == f"requested &user.DefaultInfo{formatted_user} without impersonating a user name"


# ---------------------------------------------------------------------- resulting user


@pytest.mark.parametrize(
    ("other", "groups"),
    [
        (User("bob"), (AUTHENTICATED,)),
        (User("bob", groups=("g",)), ("g", AUTHENTICATED)),
        (User("bob", groups=(AUTHENTICATED, "g")), (AUTHENTICATED, "g")),
        (User("bob", groups=(UNAUTHENTICATED,)), (UNAUTHENTICATED,)),
        (User("system:anonymous"), (UNAUTHENTICATED,)),
        (User("system:anonymous", groups=("g", UNAUTHENTICATED)), ("g", UNAUTHENTICATED)),
        (
            User("system:serviceaccount:team:robot"),
            ("system:serviceaccounts", "system:serviceaccounts:team", AUTHENTICATED),
        ),
        (User("system:serviceaccount:team:robot", groups=("g",)), ("g", AUTHENTICATED)),
        (User("system:node:n1"), ("system:nodes", AUTHENTICATED)),
        (User("system:node:n1", uid="1"), (AUTHENTICATED,)),
        (User("bob", groups=("system:masters",)), ("system:masters", AUTHENTICATED)),
    ],
)
async def test_impersonated_user_gets_implied_groups(other: User, groups: tuple[str, ...]) -> None:
    user = await Impersonation(AlwaysAllow()).impersonate(other, READING)
    assert user == User(other.name, other.uid, groups, other.extra)


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
def test_parse_service_account(name: str, account: tuple[str, str] | None) -> None:
    assert parse_service_account(name) == account


# ---------------------------------------------------------------------- permissions


async def test_legacy_mode_checks_each_attribute() -> None:
    authorizer = PrefixAuthorizer("impersonate ")
    extra = {"scopes": ("x", "y")}
    await Impersonation(authorizer).impersonate(User("bob", "7", ("g", "h"), extra), READING)
    assert authorizer.recorded[1:] == [
        "impersonate :users /bob",
        "impersonate authentication.k8s.io:uids /7",
        "impersonate :groups /g",
        "impersonate :groups /h",
        "impersonate authentication.k8s.io:userextras/scopes /x",
        "impersonate authentication.k8s.io:userextras/scopes /y",
    ]


async def test_constrained_mode_also_checks_the_request() -> None:
    authorizer = PrefixAuthorizer("impersonate:", "impersonate-on:")
    await Impersonation(authorizer).impersonate(User("bob", "7", ("g",), {"a.io/b": ("x",)}), READING)
    assert authorizer.recorded == [
        "impersonate-on:user-info:get example.com:widgets default/w",
        "impersonate:user-info authentication.k8s.io:users /bob",
        "impersonate:user-info authentication.k8s.io:uids /7",
        "impersonate:user-info authentication.k8s.io:groups /g",
        "impersonate:user-info authentication.k8s.io:userextras/a.io/b /x",
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("system:serviceaccount:team:robot", ("serviceaccount", "authentication.k8s.io:serviceaccounts team/robot")),
        ("system:node:n1", ("arbitrary-node", "authentication.k8s.io:nodes /n1")),
        ("system:node:N1", ("user-info", "authentication.k8s.io:users /system:node:N1")),
    ],
)
async def test_constrained_mode_follows_the_kind_of_user(name: str, expected: tuple[str, str]) -> None:
    authorizer = PrefixAuthorizer("impersonate:", "impersonate-on:")
    await Impersonation(authorizer).impersonate(User(name), READING)
    constraint, part = expected
    assert authorizer.recorded == [
        f"impersonate-on:{constraint}:get example.com:widgets default/w",
        f"impersonate:{constraint} {part}",
    ]


async def test_many_groups_are_checked_by_wildcard_first() -> None:
    groups = ("a", "b", "c", "d")
    authorizer = PrefixAuthorizer("impersonate:user-info", "impersonate-on:")
    await Impersonation(authorizer).impersonate(User("bob", "", groups, {"a.io/b": groups}), READING)
    assert authorizer.recorded[2:] == [
        "impersonate:user-info authentication.k8s.io:groups /*",
        "impersonate:user-info authentication.k8s.io:userextras/* /*",
    ]
    begun = "impersonate:user-info authentication.k8s.io:"
    authorizer = PrefixAuthorizer(f"{begun}users", *(f"{begun}groups /{group}" for group in groups), "impersonate-on:")
    await Impersonation(authorizer).impersonate(User("bob", "", groups), READING)
    assert authorizer.recorded[2:] == [f"{begun}groups /{name}" for name in ("*", *groups)]


# ---------------------------------------------------------------------- the node of a service account

NODE_NAME = "authentication.kubernetes.io/node-name"
ROBOT = User("system:serviceaccount:team:robot", extra={NODE_NAME: ("n1",), "a.io/b": ("c",)})


async def test_service_account_impersonates_its_own_node() -> None:
    authorizer = PrefixAuthorizer("impersonate:associated-node", "impersonate-on:associated-node")
    impersonation = Impersonation(authorizer)
    node = await impersonation.impersonate(User("system:node:n1"), replace(READING, user=ROBOT))
    assert node == User("system:node:n1", groups=("system:nodes", AUTHENTICATED))
    assert impersonation.latest_constraint(ROBOT.name) == "impersonate:associated-node"
    assert authorizer.recorded == [
        "impersonate-on:associated-node:get example.com:widgets default/w",
        "impersonate:associated-node authentication.k8s.io:nodes /*",
    ]
    # Authorizers see which extra attributes the account has, not their values.
    assert {repr(user.extra) for user in authorizer.users} == {
        repr({"authentication.kubernetes.io/associated-node-keys": ("a.io/b", NODE_NAME)})
    }


@pytest.mark.parametrize(
    ("requestor", "other"),
    [
        (ROBOT, User("system:node:n2")),
        (ROBOT, User("system:node:n1", uid="1")),
        (ROBOT, User("system:node:n1", groups=("g",))),
        (ROBOT, User("n1")),
        (replace(ROBOT, name="robot"), User("system:node:n1")),
        (replace(ROBOT, extra={NODE_NAME: ("n1", "n2")}), User("system:node:n1")),
        (replace(ROBOT, extra={}), User("system:node:n1")),
    ],
)
async def test_other_nodes_are_not_associated(requestor: User, other: User) -> None:
    authorizer = PrefixAuthorizer("impersonate:associated-node", "impersonate-on:associated-node")
    with pytest.raises(errors.ForbiddenError):
        await Impersonation(authorizer).impersonate(other, replace(READING, user=requestor))
    assert not [one for one in authorizer.recorded if "associated-node" in one]


# ---------------------------------------------------------------------- errors


async def test_first_error_is_reported() -> None:
    assert await forbidden_message(PrefixAuthorizer(), User("bob")) == (
        'widgets.example.com "w" is forbidden: User "ann" cannot impersonate-on:user-info:get resource "widgets" '
        'in API group "example.com" in the namespace "default"'
    )
    assert await forbidden_message(PrefixAuthorizer(), User("system:serviceaccount:team:robot", groups=("g",))) == (
        'serviceaccounts "robot" is forbidden: User "ann" cannot impersonate resource "serviceaccounts" '
        'in API group "" in the namespace "team"'
    )


async def test_last_successful_mode_is_tried_first() -> None:
    authorizer = PrefixAuthorizer("impersonate :users /bob")
    impersonation = Impersonation(authorizer)
    await impersonation.impersonate(User("bob"), READING)
    assert await forbidden_message(authorizer, User("eve"), impersonation) == (
        'users "eve" is forbidden: User "ann" cannot impersonate resource "users" in API group "" at the cluster scope'
    )
    authorizer.recorded.clear()
    await impersonation.impersonate(User("bob"), READING)
    assert authorizer.recorded == ["impersonate :users /bob"]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (User("bob", groups=("",)), "impersonating the empty string group is not allowed"),
        (User("bob", groups=("system:masters",)), "impersonating the system:masters group is not allowed"),
        (User("bob", extra={"": ("x",)}), "impersonating the empty string key in extra is not allowed"),
        (User("bob", extra={"a.io/b": ("",)}), "impersonating the empty string value in extra is not allowed"),
        (User("bob", extra={"a.io/B": ("x",)}), 'impersonating a non-lowercase key in extra is not allowed: "a.io/B"'),
        (
            User("bob", extra={"scopes": ("x",)}),
            'impersonating an invalid key in extra is not allowed: extra.key: Invalid value: "scopes": '
            'must be a domain-prefixed path (such as "acme.io/foo")',
        ),
        (
            User("bob", extra={"a.io/ ": ("x",)}),
            'impersonating an invalid key in extra is not allowed: extra.key: Invalid value: " ": '
            r"Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')",
        ),
    ],
)
async def test_constrained_modes_reject_what_legacy_mode_allows(other: User, message: str) -> None:
    constrained = PrefixAuthorizer("impersonate:", "impersonate-on:")
    assert (await forbidden_message(constrained, other)).endswith(f": {message}")
    assert (await Impersonation(PrefixAuthorizer("impersonate ")).impersonate(other, READING)).name == "bob"
