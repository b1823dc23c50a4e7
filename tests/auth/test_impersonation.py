"""Who may be taken for whom."""

from __future__ import annotations

import pytest

from polykind import errors
from polykind.auth.authorizer import Access, AlwaysAllow, Decision, Rules
from polykind.auth.impersonation import Impersonation, account_of, wanted
from polykind.auth.user import User

ANN = User("ann", groups=("system:authenticated",))
READING = Access(ANN, "get", "example.com", "v1", "widgets", "", "default", "w")
ALL, NONE = "system:authenticated", "system:unauthenticated"


class Granting:
    """Allows what it is told to, and remembers what it was asked: `verb group/resource namespace/name`."""

    everything = False

    def __init__(self, *granted: str) -> None:
        self.granted = granted
        self.asked: list[str] = []

    def decide(self, access: Access) -> Decision:
        resource = f"{access.resource}/{access.subresource}" if access.subresource else access.resource
        self.asked.append(f"{access.verb} {access.group}:{resource} {access.namespace}/{access.name}")
        return Decision(any(self.asked[-1].startswith(one) for one in self.granted))

    def rules(self, user: User, namespace: str) -> Rules:
        return Rules([], [])


def refusal(authorizer: Granting, other: User, impersonation: Impersonation | None = None) -> str:
    with pytest.raises(errors.ForbiddenError) as caught:
        (impersonation or Impersonation(authorizer)).taken_for(other, READING)
    return caught.value.message


# ---------------------------------------------------------------------- headers


def test_headers_name_the_other_whole() -> None:
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
    assert wanted(headers) == User("bob", "7", ("a,b", "c"), extra)


def test_without_such_headers_there_is_no_other() -> None:
    assert wanted({b"accept": b"*/*"}) is None
    assert wanted({b"impersonate-user": b"", b"impersonate-uid": b""}) is None


@pytest.mark.parametrize(
    ("headers", "shown"),
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
def test_nobody_is_impersonated_without_a_name(headers: dict[bytes, bytes], shown: str) -> None:
    with pytest.raises(errors.BadRequestError) as caught:
        wanted(headers)
    assert caught.value.message == f"requested &user.DefaultInfo{shown} without impersonating a user name"


# ---------------------------------------------------------------------- who comes of it


@pytest.mark.parametrize(
    ("other", "groups"),
    [
        (User("bob"), (ALL,)),
        (User("bob", groups=("g",)), ("g", ALL)),
        (User("bob", groups=(ALL, "g")), (ALL, "g")),
        (User("bob", groups=(NONE,)), (NONE,)),
        (User("system:anonymous"), (NONE,)),
        (User("system:anonymous", groups=("g", NONE)), ("g", NONE)),
        (
            User("system:serviceaccount:team:robot"),
            ("system:serviceaccounts", "system:serviceaccounts:team", ALL),
        ),
        (User("system:serviceaccount:team:robot", groups=("g",)), ("g", ALL)),
        (User("system:node:n1"), ("system:nodes", ALL)),
        (User("system:node:n1", uid="1"), (ALL,)),
        (User("bob", groups=("system:masters",)), ("system:masters", ALL)),
    ],
)
def test_the_other_has_the_groups_that_come_with_him(other: User, groups: tuple[str, ...]) -> None:
    taken = Impersonation(AlwaysAllow()).taken_for(other, READING)
    assert taken == User(other.name, other.uid, groups, other.extra)


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
    assert account_of(name) == account


# ---------------------------------------------------------------------- leave


def test_the_old_way_asks_for_each_part() -> None:
    authorizer = Granting("impersonate ")
    extra = {"scopes": ("x", "y")}
    Impersonation(authorizer).taken_for(User("bob", "7", ("g", "h"), extra), READING)
    assert authorizer.asked[1:] == [
        "impersonate :users /bob",
        "impersonate authentication.k8s.io:uids /7",
        "impersonate :groups /g",
        "impersonate :groups /h",
        "impersonate authentication.k8s.io:userextras/scopes /x",
        "impersonate authentication.k8s.io:userextras/scopes /y",
    ]


def test_a_constrained_way_asks_for_what_the_request_does_too() -> None:
    authorizer = Granting("impersonate:", "impersonate-on:")
    Impersonation(authorizer).taken_for(User("bob", "7", ("g",), {"a.io/b": ("x",)}), READING)
    assert authorizer.asked == [
        "impersonate-on:user-info:get example.com:widgets default/w",
        "impersonate:user-info authentication.k8s.io:users /bob",
        "impersonate:user-info authentication.k8s.io:uids /7",
        "impersonate:user-info authentication.k8s.io:groups /g",
        "impersonate:user-info authentication.k8s.io:userextras/a.io/b /x",
    ]


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("system:serviceaccount:team:robot", ("serviceaccount", "authentication.k8s.io:serviceaccounts team/robot")),
        ("system:node:n1", ("arbitrary-node", "authentication.k8s.io:nodes /n1")),
        ("system:node:N1", ("user-info", "authentication.k8s.io:users /system:node:N1")),
    ],
)
def test_the_way_is_that_of_the_others_sort(name: str, asked: tuple[str, str]) -> None:
    authorizer = Granting("impersonate:", "impersonate-on:")
    Impersonation(authorizer).taken_for(User(name), READING)
    sort, part = asked
    assert authorizer.asked == [
        f"impersonate-on:{sort}:get example.com:widgets default/w",
        f"impersonate:{sort} {part}",
    ]


def test_many_are_asked_for_at_once_and_then_one_by_one() -> None:
    groups = ("a", "b", "c", "d")
    authorizer = Granting("impersonate:user-info", "impersonate-on:")
    Impersonation(authorizer).taken_for(User("bob", "", groups, {"a.io/b": groups}), READING)
    assert authorizer.asked[2:] == [
        "impersonate:user-info authentication.k8s.io:groups /*",
        "impersonate:user-info authentication.k8s.io:userextras/* /*",
    ]
    begun = "impersonate:user-info authentication.k8s.io:"
    authorizer = Granting(f"{begun}users", *(f"{begun}groups /{group}" for group in groups), "impersonate-on:")
    Impersonation(authorizer).taken_for(User("bob", "", groups), READING)
    assert authorizer.asked[2:] == [f"{begun}groups /{name}" for name in ("*", *groups)]


# ---------------------------------------------------------------------- refusals


def test_the_first_refusal_is_told() -> None:
    assert refusal(Granting(), User("bob")) == (
        'widgets.example.com "w" is forbidden: User "ann" cannot impersonate-on:user-info:get resource "widgets" '
        'in API group "example.com" in the namespace "default"'
    )
    assert refusal(Granting(), User("system:serviceaccount:team:robot", groups=("g",))) == (
        'serviceaccounts "robot" is forbidden: User "ann" cannot impersonate resource "serviceaccounts" '
        'in API group "" in the namespace "team"'
    )


def test_the_way_that_was_open_last_is_tried_first() -> None:
    authorizer = Granting("impersonate :users /bob")
    impersonation = Impersonation(authorizer)
    impersonation.taken_for(User("bob"), READING)
    assert refusal(authorizer, User("eve"), impersonation) == (
        'users "eve" is forbidden: User "ann" cannot impersonate resource "users" in API group "" at the cluster scope'
    )
    authorizer.asked.clear()
    impersonation.taken_for(User("bob"), READING)
    assert authorizer.asked == ["impersonate :users /bob"]


@pytest.mark.parametrize(
    ("other", "why"),
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
def test_the_constrained_ways_refuse_what_the_old_one_lets_pass(other: User, why: str) -> None:
    constrained = Granting("impersonate:", "impersonate-on:")
    assert refusal(constrained, other).endswith(f": {why}")
    assert Impersonation(Granting("impersonate ")).taken_for(other, READING).name == "bob"
