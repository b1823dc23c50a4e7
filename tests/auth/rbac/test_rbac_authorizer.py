"""Decisions of the RBAC authorizer."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.auth.authorizer import Access, Decision
from polykind.auth.rbac.rbac_authorizer import CompiledBinding, CompiledRole, RBACAuthorizer
from polykind.auth.rbac.rule_coverage import Rule
from polykind.auth.user import User
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote

ANN = User("ann", groups=("makers", "system:authenticated"))
ROBOT = User("system:serviceaccount:team:robot")
READ: Rule = {"verbs": ["get"], "apiGroups": ["example.com"], "resources": ["widgets"]}


def subject(kind: str, name: str, namespace: str = "") -> JsonObject:
    return {"kind": kind, "name": name, **({"namespace": namespace} if namespace else {})}


def binding(role: str, *subjects: JsonObject, kind: str = "ClusterRole") -> JsonObject:
    return {"roleRef": {"kind": kind, "name": role}, "subjects": list(subjects)}


def authorizer_with(*rules: Rule, to: JsonObject | None = None) -> RBACAuthorizer:
    """Return an authorizer with one ClusterRole, granted by a ClusterRoleBinding."""
    rbac = RBACAuthorizer()
    rbac.put_role("", "reader", CompiledRole(rules))
    rbac.put_binding("", "reading", CompiledBinding("", "reading", binding("reader", to or subject("User", "ann"))))
    return rbac


def get(user: User = ANN, /, **access: str) -> Access:
    return Access(user, **{"verb": "get", "group": "example.com", "resource": "widgets", "name": "w", **access})


def path(verb: str, path: str) -> Access:
    return Access(ANN, verb, path=path)


# ---------------------------------------------------------------------- rules


@pytest.mark.parametrize(
    ("rule", "access", "allowed"),
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
def test_rule_allows_if_all_its_parts_match(rule: Rule, access: dict[str, str], allowed: bool) -> None:
    assert authorizer_with({**READ, **rule}).decision(get(**access)).allowed is allowed


@pytest.mark.parametrize(
    ("urls", "access", "allowed"),
    [
        (["/a"], "/a", True),
        (["/a"], "/a/b", False),
        (["/a/*"], "/a/b/c", True),
        (["/b", "/a*"], "/ab", True),
        (["*"], "/whatever", True),
    ],
)
def test_non_resource_urls_match_exactly_or_by_prefix(urls: list[str], access: str, allowed: bool) -> None:
    rbac = authorizer_with({"verbs": ["get"], "nonResourceURLs": urls})
    assert rbac.decision(path("get", access)).allowed is allowed
    assert not rbac.decision(path("post", access)).allowed


def test_resource_wildcards_do_not_allow_paths() -> None:
    assert (
        not authorizer_with({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]})
        .decision(path("get", "/a"))
        .allowed
    )


# ---------------------------------------------------------------------- subjects and reasons


@pytest.mark.parametrize(
    ("to", "user", "expected"),
    [
        (subject("User", "ann"), ANN, 'User "ann"'),
        (subject("Group", "makers"), ANN, 'Group "makers"'),
        (subject("ServiceAccount", "robot", "team"), ROBOT, 'ServiceAccount "robot/team"'),
        (subject("User", ROBOT.name), ROBOT, f'User "{ROBOT.name}"'),
    ],
)
def test_reason_names_the_cluster_role_binding(to: JsonObject, user: User, expected: str) -> None:
    decision = authorizer_with(READ, to=to).decision(get(user))
    reason = f'RBAC: allowed by ClusterRoleBinding "reading" of ClusterRole "reader" to {expected}'
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
def test_unbound_user_gets_no_reason(to: JsonObject) -> None:
    assert authorizer_with(READ, to=to).decision(get()) == Decision(False)


def test_service_account_subject_defaults_to_the_bindings_namespace() -> None:
    rbac = RBACAuthorizer()
    rbac.put_role("", "reader", CompiledRole([READ]))
    rbac.put_binding("team", "b", CompiledBinding("team", "b", binding("reader", subject("ServiceAccount", "robot"))))
    reason = 'RBAC: allowed by RoleBinding "b/team" of ClusterRole "reader" to ServiceAccount "robot/team"'
    assert rbac.decision(get(ROBOT, namespace="team")) == Decision(True, reason)
    rbac.put_binding(
        "", "everywhere", CompiledBinding("", "everywhere", binding("reader", subject("ServiceAccount", "robot")))
    )
    assert not rbac.decision(get(ROBOT)).allowed


def test_role_binding_holds_only_in_its_namespace() -> None:
    rbac = RBACAuthorizer()
    rbac.put_role("team", "reader", CompiledRole([READ]))
    rbac.put_binding("team", "b", CompiledBinding("team", "b", binding("reader", subject("User", "ann"), kind="Role")))
    assert (
        rbac.decision(get(namespace="team")).reason
        == 'RBAC: allowed by RoleBinding "b/team" of Role "reader" to User "ann"'
    )
    assert not rbac.decision(get(namespace="other")).allowed
    assert not rbac.decision(get()).allowed


def test_reason_names_the_first_matching_subject() -> None:
    rbac = authorizer_with(READ)
    rbac.put_binding(
        "",
        "reading",
        CompiledBinding("", "reading", binding("reader", subject("Group", "makers"), subject("User", "ann"))),
    )
    assert rbac.decision(get()).reason.endswith(' to Group "makers"')


def test_missing_roles_are_reported_if_not_allowed() -> None:
    rbac = RBACAuthorizer()
    ann = subject("User", "ann")
    rbac.put_binding("", "a", CompiledBinding("", "a", binding("gone", ann)))
    assert rbac.decision(get()) == Decision(False, 'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found')
    rbac.put_binding("team", "b", CompiledBinding("team", "b", binding("gone", ann, kind="Role")))
    rbac.put_binding("team", "c", CompiledBinding("team", "c", binding("gone", ann, kind="Role")))
    clusterrole = 'clusterrole.rbac.authorization.k8s.io "gone" not found'
    role = 'role.rbac.authorization.k8s.io "gone" not found'
    assert rbac.decision(get(namespace="team")).reason == f"RBAC: [{clusterrole}, {role}]"
    assert rbac.rules(ANN, "team").error == f"[{clusterrole}, {role}]"
    rbac.put_role("", "gone", CompiledRole([READ]))
    assert rbac.decision(get(namespace="team")).allowed


def test_cluster_role_binding_does_not_find_a_role() -> None:
    rbac = authorizer_with(READ)
    rbac.put_binding(
        "", "reading", CompiledBinding("", "reading", binding("reader", subject("User", "ann"), kind="Role"))
    )
    assert rbac.decision(get()) == Decision(False, 'RBAC: role.rbac.authorization.k8s.io "reader" not found')


# ---------------------------------------------------------------------- changes


def test_removed_role_or_binding_allows_nothing() -> None:
    rbac = authorizer_with(READ)
    assert rbac.decision(get()).allowed
    rbac.drop_binding("", "reading")
    assert rbac.decision(get()) == Decision(False)
    rbac.put_binding("", "reading", CompiledBinding("", "reading", binding("reader", subject("User", "ann"))))
    assert rbac.decision(get()).allowed
    rbac.drop_role("", "reader")
    assert not rbac.decision(get()).allowed


def test_changed_binding_drops_former_subjects() -> None:
    rbac = authorizer_with(READ)
    rbac.put_binding("", "reading", CompiledBinding("", "reading", binding("reader", subject("User", "bob"))))
    assert not rbac.decision(get()).allowed
    assert rbac.decision(get(User("bob"))).allowed


def test_binding_without_subjects_is_added_and_removed() -> None:
    rbac = authorizer_with(READ)
    rbac.put_binding("", "idle", CompiledBinding("", "idle", binding("reader")))
    rbac.drop_binding("", "reading")
    rbac.drop_binding("", "idle")
    assert rbac.decision(get()) == Decision(False)


def test_removing_an_unknown_role_or_binding_is_allowed() -> None:
    rbac = authorizer_with(READ)
    rbac.drop_role("team", "nothing")
    rbac.drop_binding("team", "nothing")
    assert rbac.decision(get()).allowed


# ---------------------------------------------------------------------- rules of a user


def test_rules_of_a_user_are_split_by_resources_and_paths() -> None:
    rbac = authorizer_with(READ, {"verbs": ["get"], "nonResourceURLs": ["/a"]}, {"verbs": ["get"]})
    rbac.put_role("team", "writer", CompiledRole([{**READ, "verbs": ["update"], "resourceNames": ["w"]}]))
    rbac.put_binding(
        "team", "b", CompiledBinding("team", "b", binding("writer", subject("Group", "makers"), kind="Role"))
    )
    everywhere = rbac.rules(ANN, "")
    assert (everywhere.resources, everywhere.paths, everywhere.error) == (
        [READ],
        [{"verbs": ["get"], "nonResourceURLs": ["/a"]}],
        "",
    )
    assert rbac.rules(ANN, "team").resources == [READ, {**READ, "verbs": ["update"], "resourceNames": ["w"]}]
    assert rbac.rules(User("bob"), "team").resources == []


# ---------------------------------------------------------------------- against a scan of all rules


def decide_by_scan(
    roles: dict[tuple[str, str], list[Rule]], bindings: dict[tuple[str, str], JsonObject], access: Access
) -> Decision:
    """Decide by scanning all bindings and rules in order."""
    missing = []
    for scope in ("", access.namespace) if access.namespace else ("",):
        for (namespace, name), bound in sorted(bindings.items()):
            found = (
                [s for s in bound["subjects"] if subject_matches(s, access.user, namespace)]
                if namespace == scope
                else []
            )
            if not found:
                continue
            kind, role = bound["roleRef"]["kind"], bound["roleRef"]["name"]
            rules = roles.get(("" if kind == "ClusterRole" else scope or "nowhere", role))
            if rules is None:
                missing.append(f'{kind.lower()}.rbac.authorization.k8s.io "{role}" not found')
            elif any(rule_matches(rule, access) for rule in rules):
                source = f'RoleBinding "{name}/{scope}"' if scope else f'ClusterRoleBinding "{name}"'
                to = found[0]["name"]
                if found[0]["kind"] == "ServiceAccount":
                    to += f"/{found[0].get('namespace') or scope}"
                expected = f'{kind} "{role}" to {found[0]["kind"]} {go_quote(to)}'
                return Decision(True, f"RBAC: allowed by {source} of {expected}")
    once = list(dict.fromkeys(missing))
    expected = once[0] if len(once) == 1 else f"[{', '.join(once)}]"
    return Decision(False, f"RBAC: {expected}" if once else "")


def subject_matches(subject_entry: JsonObject, user: User, namespace: str) -> bool:
    if subject_entry["kind"] == "User":
        return bool(subject_entry["name"] == user.name)
    if subject_entry["kind"] == "Group":
        return subject_entry["name"] in user.groups
    at = subject_entry.get("namespace") or namespace
    return bool(at) and user.name == f"system:serviceaccount:{at}:{subject_entry['name']}"


def rule_matches(rule: Rule, access: Access) -> bool:
    if not {access.verb, "*"} & set(rule["verbs"]):
        return False
    if access.path is not None:
        urls = rule.get("nonResourceURLs", [])
        return any(u == access.path or (u[-1] == "*" and access.path.startswith(u.rstrip("*"))) for u in urls)
    resource_name = f"{access.resource}/{access.subresource}" if access.subresource else access.resource
    names = {"*", resource_name} | ({f"*/{access.subresource}"} if access.subresource else set())
    return (
        bool({access.group, "*"} & set(rule.get("apiGroups", [])))
        and bool(names & set(rule.get("resources", [])))
        and (not rule.get("resourceNames") or access.name in rule["resourceNames"])
    )


def some_of(*texts: str) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(texts), min_size=1, max_size=2)


rules = st.one_of(
    st.fixed_dictionaries(
        {
            "verbs": some_of("get", "list", "*"),
            "apiGroups": some_of("", "g", "*"),
            "resources": some_of("w", "v", "w/s", "*/s", "*"),
        },
        optional={"resourceNames": some_of("n", "m")},
    ),
    st.fixed_dictionaries(
        {"verbs": some_of("get", "post", "*"), "nonResourceURLs": some_of("/a", "/a/*", "*", "/ab*")}
    ),
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
def test_lookups_decide_like_a_scan_over_all_rules(
    roles: dict[tuple[str, str], list[Any]],
    bound: dict[tuple[str, str], JsonObject],
    accesses_drawn: list[Access],
    data: st.DataObject,
) -> None:
    rbac = RBACAuthorizer()
    for (namespace, name), given_rules in roles.items():
        rbac.put_role(namespace, name, CompiledRole(given_rules))
    for (namespace, name), binding_object in bound.items():
        rbac.put_binding(namespace, name, CompiledBinding(namespace, name, binding_object))
    for access in accesses_drawn:
        assert rbac.decision(access) == decide_by_scan(roles, bound, access)
    changes = st.lists(st.tuples(places, st.one_of(bindings, st.none(), st.lists(rules, max_size=2))), max_size=4)
    for (namespace, name), change in data.draw(changes):
        if change is None:
            rbac.drop_binding(namespace, name)
            bound.pop((namespace, name), None)
        elif isinstance(change, list):
            rbac.put_role(namespace, name, CompiledRole(change))
            roles[namespace, name] = change
        else:
            rbac.put_binding(namespace, name, CompiledBinding(namespace, name, change))
            bound[namespace, name] = change
        for access in accesses_drawn:
            assert rbac.decision(access) == decide_by_scan(roles, bound, access)
