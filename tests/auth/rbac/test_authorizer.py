"""Decisions by roles and bindings."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.auth.authorizer import Access, Decision
from polykind.auth.rbac.authorizer import RBACAuthorizer
from polykind.auth.rbac.coverage import Rule
from polykind.auth.user import User
from polykind.contract import JsonObject
from polykind.golang.text import go_quote

ANN = User("ann", groups=("makers", "system:authenticated"))
ROBOT = User("system:serviceaccount:team:robot")
READ: Rule = {"verbs": ["get"], "apiGroups": ["example.com"], "resources": ["widgets"]}


def subject(kind: str, name: str, namespace: str = "") -> JsonObject:
    return {"kind": kind, "name": name, **({"namespace": namespace} if namespace else {})}


def binding(role: str, *subjects: JsonObject, kind: str = "ClusterRole") -> JsonObject:
    return {"roleRef": {"kind": kind, "name": role}, "subjects": list(subjects)}


def having(*rules: Rule, to: JsonObject | None = None) -> RBACAuthorizer:
    """With one role, bound everywhere."""
    rbac = RBACAuthorizer()
    rbac.put_role("", "reader", rules)
    rbac.put_binding("", "reading", binding("reader", to or subject("User", "ann")))
    return rbac


def get(user: User = ANN, /, **asked: str) -> Access:
    return Access(user, **{"verb": "get", "group": "example.com", "resource": "widgets", "name": "w", **asked})


def path(verb: str, path: str) -> Access:
    return Access(ANN, verb, path=path)


# ---------------------------------------------------------------------- rules


@pytest.mark.parametrize(
    ("rule", "asked", "allowed"),
    [
        ({}, {}, True),
        ({}, {"verb": "list"}, False),
        ({}, {"group": ""}, False),
        ({}, {"resource": "gadgets"}, False),
        ({}, {"subresource": "status"}, False),
        ({"verbs": ["*"]}, {"verb": "anything"}, True),
        ({"apiGroups": ["*"]}, {"group": ""}, True),
        ({"resources": ["*"]}, {"subresource": "status"}, True),
        ({"resources": ["widgets/status"]}, {"subresource": "status"}, True),
        ({"resources": ["widgets/status"]}, {}, False),
        ({"resources": ["*/status"]}, {"subresource": "status"}, True),
        ({"resources": ["*/status"]}, {"subresource": "scale"}, False),
        ({"resources": ["widgets/*"]}, {"subresource": "status"}, False),
        ({"resourceNames": ["w"]}, {}, True),
        ({"resourceNames": ["v"]}, {}, False),
        ({"resourceNames": ["w"]}, {"verb": "get", "name": ""}, False),
        ({"resourceNames": ["*"]}, {}, False),
    ],
)
def test_a_rule_allows_what_all_its_parts_name(rule: Rule, asked: dict[str, str], allowed: bool) -> None:
    assert having({**READ, **rule}).decide(get(**asked)).allowed is allowed


@pytest.mark.parametrize(
    ("urls", "asked", "allowed"),
    [
        (["/a"], "/a", True),
        (["/a"], "/a/b", False),
        (["/a/*"], "/a/b/c", True),
        (["/b", "/a*"], "/ab", True),
        (["*"], "/whatever", True),
    ],
)
def test_paths_are_allowed_whole_or_by_their_beginnings(urls: list[str], asked: str, allowed: bool) -> None:
    rbac = having({"verbs": ["get"], "nonResourceURLs": urls})
    assert rbac.decide(path("get", asked)).allowed is allowed
    assert not rbac.decide(path("post", asked)).allowed


def test_a_rule_of_everything_is_none_of_paths() -> None:
    assert not having({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}).decide(path("get", "/a")).allowed


# ---------------------------------------------------------------------- subjects and reasons


@pytest.mark.parametrize(
    ("to", "user", "told"),
    [
        (subject("User", "ann"), ANN, 'User "ann"'),
        (subject("Group", "makers"), ANN, 'Group "makers"'),
        (subject("ServiceAccount", "robot", "team"), ROBOT, 'ServiceAccount "robot/team"'),
        (subject("User", ROBOT.name), ROBOT, f'User "{ROBOT.name}"'),
    ],
)
def test_who_is_bound_everywhere_is_told_by_what(to: JsonObject, user: User, told: str) -> None:
    decision = having(READ, to=to).decide(get(user))
    reason = f'RBAC: allowed by ClusterRoleBinding "reading" of ClusterRole "reader" to {told}'
    assert decision == Decision(True, reason)


@pytest.mark.parametrize(
    "to",
    [
        subject("User", "makers"),
        subject("Group", "ann"),
        subject("ServiceAccount", "ann", "team"),
        subject("Nobody", "ann"),
    ],
)
def test_who_is_not_bound_is_told_nothing(to: JsonObject) -> None:
    assert having(READ, to=to).decide(get()) == Decision(False)


def test_a_service_account_of_a_binding_is_of_its_namespace_unless_it_says_so() -> None:
    rbac = RBACAuthorizer()
    rbac.put_role("", "reader", [READ])
    rbac.put_binding("team", "b", binding("reader", subject("ServiceAccount", "robot")))
    reason = 'RBAC: allowed by RoleBinding "b/team" of ClusterRole "reader" to ServiceAccount "robot/team"'
    assert rbac.decide(get(ROBOT, namespace="team")) == Decision(True, reason)
    rbac.put_binding("", "everywhere", binding("reader", subject("ServiceAccount", "robot")))
    assert not rbac.decide(get(ROBOT)).allowed


def test_what_is_bound_in_a_namespace_holds_there() -> None:
    rbac = RBACAuthorizer()
    rbac.put_role("team", "reader", [READ])
    rbac.put_binding("team", "b", binding("reader", subject("User", "ann"), kind="Role"))
    assert (
        rbac.decide(get(namespace="team")).reason
        == 'RBAC: allowed by RoleBinding "b/team" of Role "reader" to User "ann"'
    )
    assert not rbac.decide(get(namespace="other")).allowed
    assert not rbac.decide(get()).allowed


def test_the_first_of_several_subjects_is_told() -> None:
    rbac = having(READ)
    rbac.put_binding("", "reading", binding("reader", subject("Group", "makers"), subject("User", "ann")))
    assert rbac.decide(get()).reason.endswith(' to Group "makers"')


def test_roles_that_are_missing_are_told_to_who_is_refused() -> None:
    rbac = RBACAuthorizer()
    ann = subject("User", "ann")
    rbac.put_binding("", "a", binding("gone", ann))
    assert rbac.decide(get()) == Decision(False, 'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found')
    rbac.put_binding("team", "b", binding("gone", ann, kind="Role"))
    rbac.put_binding("team", "c", binding("gone", ann, kind="Role"))
    clusterrole = 'clusterrole.rbac.authorization.k8s.io "gone" not found'
    role = 'role.rbac.authorization.k8s.io "gone" not found'
    assert rbac.decide(get(namespace="team")).reason == f"RBAC: [{clusterrole}, {role}]"
    assert rbac.rules(ANN, "team").error == f"[{clusterrole}, {role}]"
    rbac.put_role("", "gone", [READ])
    assert rbac.decide(get(namespace="team")).allowed


def test_a_binding_of_everywhere_finds_no_role_of_a_namespace() -> None:
    rbac = having(READ)
    rbac.put_binding("", "reading", binding("reader", subject("User", "ann"), kind="Role"))
    assert rbac.decide(get()) == Decision(False, 'RBAC: role.rbac.authorization.k8s.io "reader" not found')


# ---------------------------------------------------------------------- changes


def test_what_goes_allows_nothing_any_more() -> None:
    rbac = having(READ)
    assert rbac.decide(get()).allowed
    rbac.drop_binding("", "reading")
    assert rbac.decide(get()) == Decision(False)
    rbac.put_binding("", "reading", binding("reader", subject("User", "ann")))
    assert rbac.decide(get()).allowed
    rbac.drop_role("", "reader")
    assert not rbac.decide(get()).allowed


def test_a_binding_that_changes_leaves_its_former_subjects() -> None:
    rbac = having(READ)
    rbac.put_binding("", "reading", binding("reader", subject("User", "bob")))
    assert not rbac.decide(get()).allowed
    assert rbac.decide(get(User("bob"))).allowed


def test_a_binding_without_subjects_comes_and_goes() -> None:
    rbac = having(READ)
    rbac.put_binding("", "idle", binding("reader"))
    rbac.drop_binding("", "reading")
    rbac.drop_binding("", "idle")
    assert rbac.decide(get()) == Decision(False)


def test_what_was_never_there_may_go() -> None:
    rbac = having(READ)
    rbac.drop_role("team", "nothing")
    rbac.drop_binding("team", "nothing")
    assert rbac.decide(get()).allowed


# ---------------------------------------------------------------------- rules of a user


def test_the_rules_of_a_user_are_told_by_sorts() -> None:
    rbac = having(READ, {"verbs": ["get"], "nonResourceURLs": ["/a"]}, {"verbs": ["get"]})
    rbac.put_role("team", "writer", [{**READ, "verbs": ["update"], "resourceNames": ["w"]}])
    rbac.put_binding("team", "b", binding("writer", subject("Group", "makers"), kind="Role"))
    everywhere = rbac.rules(ANN, "")
    assert (everywhere.resources, everywhere.paths, everywhere.error) == (
        [READ],
        [{"verbs": ["get"], "nonResourceURLs": ["/a"]}],
        "",
    )
    assert rbac.rules(ANN, "team").resources == [READ, {**READ, "verbs": ["update"], "resourceNames": ["w"]}]
    assert rbac.rules(User("bob"), "team").resources == []


# ---------------------------------------------------------------------- as a walk over everything


def walked(
    roles: dict[tuple[str, str], list[Rule]], bindings: dict[tuple[str, str], JsonObject], asked: Access
) -> Decision:
    """The decision of one who looks at each binding and each rule, as it is written down."""
    missing = []
    for where in ("", asked.namespace) if asked.namespace else ("",):
        for (namespace, name), bound in sorted(bindings.items()):
            found = [s for s in bound["subjects"] if concerns(s, asked.user, namespace)] if namespace == where else []
            if not found:
                continue
            kind, role = bound["roleRef"]["kind"], bound["roleRef"]["name"]
            rules = roles.get(("" if kind == "ClusterRole" else where or "nowhere", role))
            if rules is None:
                missing.append(f'{kind.lower()}.rbac.authorization.k8s.io "{role}" not found')
            elif any(fits(rule, asked) for rule in rules):
                source = f'RoleBinding "{name}/{where}"' if where else f'ClusterRoleBinding "{name}"'
                to = found[0]["name"]
                if found[0]["kind"] == "ServiceAccount":
                    to += f"/{found[0].get('namespace') or where}"
                told = f'{kind} "{role}" to {found[0]["kind"]} {go_quote(to)}'
                return Decision(True, f"RBAC: allowed by {source} of {told}")
    once = list(dict.fromkeys(missing))
    told = once[0] if len(once) == 1 else f"[{', '.join(once)}]"
    return Decision(False, f"RBAC: {told}" if once else "")


def concerns(who: JsonObject, user: User, namespace: str) -> bool:
    if who["kind"] == "User":
        return bool(who["name"] == user.name)
    if who["kind"] == "Group":
        return who["name"] in user.groups
    at = who.get("namespace") or namespace
    return bool(at) and user.name == f"system:serviceaccount:{at}:{who['name']}"


def fits(rule: Rule, asked: Access) -> bool:
    if not {asked.verb, "*"} & set(rule["verbs"]):
        return False
    if asked.path is not None:
        urls = rule.get("nonResourceURLs", [])
        return any(u == asked.path or (u[-1] == "*" and asked.path.startswith(u.rstrip("*"))) for u in urls)
    whole = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
    names = {"*", whole} | ({f"*/{asked.subresource}"} if asked.subresource else set())
    return (
        bool({asked.group, "*"} & set(rule.get("apiGroups", [])))
        and bool(names & set(rule.get("resources", [])))
        and (not rule.get("resourceNames") or asked.name in rule["resourceNames"])
    )


def few(*texts: str) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(texts), min_size=1, max_size=2)


rules = st.one_of(
    st.fixed_dictionaries(
        {
            "verbs": few("get", "list", "*"),
            "apiGroups": few("", "g", "*"),
            "resources": few("w", "v", "w/s", "*/s", "*"),
        },
        optional={"resourceNames": few("n", "m")},
    ),
    st.fixed_dictionaries({"verbs": few("get", "post", "*"), "nonResourceURLs": few("/a", "/a/*", "*", "/ab*")}),
)
subjects = st.one_of(
    st.fixed_dictionaries({"kind": st.sampled_from(["User", "Group"]), "name": st.sampled_from(["ann", "bob", "x"])}),
    st.fixed_dictionaries(
        {"kind": st.just("ServiceAccount"), "name": st.sampled_from(["ann", "r"])},
        optional={"namespace": st.sampled_from(["", "one", "two"])},
    ),
)
places = st.tuples(st.sampled_from(["", "one", "two"]), st.sampled_from(["a", "b", "c"]))
bindings = st.builds(
    lambda kind, name, to: {"roleRef": {"kind": kind, "name": name}, "subjects": to},
    st.sampled_from(["Role", "ClusterRole"]),
    st.sampled_from(["a", "b", "gone"]),
    st.lists(subjects, max_size=3),
)
users = st.builds(
    lambda name, groups: User(name, groups=tuple(groups)),
    st.sampled_from(["ann", "bob", "system:serviceaccount:one:r", "system:serviceaccount:two:r"]),
    st.lists(st.sampled_from(["ann", "x", "y"]), max_size=2),
)
accesses = st.one_of(
    st.builds(
        Access,
        users,
        st.sampled_from(["get", "list"]),
        group=st.sampled_from(["", "g"]),
        resource=st.sampled_from(["w", "v"]),
        subresource=st.sampled_from(["", "s"]),
        namespace=st.sampled_from(["", "one", "two"]),
        name=st.sampled_from(["", "n"]),
    ),
    st.builds(Access, users, st.sampled_from(["get", "post"]), path=st.sampled_from(["/a", "/a/b", "/abc"])),
)


@given(
    st.dictionaries(places, st.lists(rules, max_size=3), max_size=4),
    st.dictionaries(places, bindings, max_size=5),
    st.lists(accesses, min_size=1, max_size=5),
    st.data(),
)
def test_look_ups_decide_as_a_walk_over_all_rules_does(
    roles: dict[tuple[str, str], list[Any]],
    bound: dict[tuple[str, str], JsonObject],
    asked: list[Access],
    data: st.DataObject,
) -> None:
    rbac = RBACAuthorizer()
    for (namespace, name), given_rules in roles.items():
        rbac.put_role(namespace, name, given_rules)
    for (namespace, name), made in bound.items():
        rbac.put_binding(namespace, name, made)
    for access in asked:
        assert rbac.decide(access) == walked(roles, bound, access)
    changes = st.lists(st.tuples(places, st.one_of(bindings, st.none(), st.lists(rules, max_size=2))), max_size=4)
    for (namespace, name), change in data.draw(changes):
        if change is None:
            rbac.drop_binding(namespace, name)
            bound.pop((namespace, name), None)
        elif isinstance(change, list):
            rbac.put_role(namespace, name, change)
            roles[namespace, name] = change
        else:
            rbac.put_binding(namespace, name, change)
            bound[namespace, name] = change
        for access in asked:
            assert rbac.decide(access) == walked(roles, bound, access)
