"""Which rules cover which."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.auth.authorizer import Access, AlwaysAllow
from polykind.auth.rbac.authorizer import RBACAuthorizer
from polykind.auth.rbac.coverage import Rule, covers, path_matches, rules_for
from polykind.auth.user import User

READ: Rule = {"verbs": ["get", "list"], "apiGroups": ["example.com"], "resources": ["widgets"]}


def rule(verbs: str, resources: str, names: str = "", groups: str = "example.com") -> Rule:
    made = {"verbs": verbs.split(), "apiGroups": groups.split(), "resources": resources.split()}
    return {**made, "resourceNames": names.split()} if names else made


@pytest.mark.parametrize(
    "owner",
    [
        [READ],
        [rule("*", "*", groups="*")],
        [rule("get", "widgets"), rule("list", "*")],
        [rule("list get watch", "gadgets widgets", groups="other example.com")],
    ],
)
def test_what_an_owner_has_in_one_rule_or_several_is_covered(owner: list[Rule]) -> None:
    assert covers(owner, [READ]) == []


def test_what_is_not_covered_is_told_in_parts() -> None:
    lacking = covers([rule("get", "widgets"), rule("list", "gadgets", groups="*")], [READ])
    assert lacking == [{"verbs": ["list"], "apiGroups": ["example.com"], "resources": ["widgets"]}]
    assert covers([], [rule("get", "a b", "x y")]) == [
        {"verbs": ["get"], "apiGroups": ["example.com"], "resources": [resource], "resourceNames": [name]}
        for resource in ("a", "b")
        for name in ("x", "y")
    ]


def test_only_a_rule_without_names_covers_one_without() -> None:
    assert covers([rule("get", "widgets")], [rule("get", "widgets", "a")]) == []
    assert covers([rule("get", "widgets", "a b")], [rule("get", "widgets", "b")]) == []
    assert covers([rule("get", "widgets", "a")], [rule("get", "widgets", "b")]) != []
    assert covers([rule("get", "widgets", "a")], [rule("get", "widgets")]) != []


def test_subresources_are_covered_by_those_of_any_resource() -> None:
    assert covers([rule("get", "*/status")], [rule("get", "widgets/status")]) == []
    assert covers([rule("get", "*/status")], [rule("get", "widgets")]) != []
    assert covers([rule("get", "widgets")], [rule("get", "widgets/status")]) != []


def test_paths_are_covered_by_their_beginnings() -> None:
    paths: Rule = {"verbs": ["get"], "nonResourceURLs": ["/a/b", "/a/c/*"]}
    assert covers([{"verbs": ["*"], "nonResourceURLs": ["/a/*"]}], [paths]) == []
    assert covers([{"verbs": ["get"], "nonResourceURLs": ["/a/b"]}], [paths]) == [
        {"verbs": ["get"], "nonResourceURLs": ["/a/c/*"]}
    ]


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("/a", "/a", True),
        ("/a", "/a/", False),
        ("/a*", "/ab", True),
        ("/a/*", "/a", False),
        ("*", "/", True),
        ("/a/**", "/a/b", True),
        ("/*/b", "/a/b", False),
    ],
)
def test_an_asterisk_at_the_end_of_a_path_is_any_rest(pattern: str, path: str, fits: bool) -> None:
    assert path_matches(pattern, path) is fits


def test_the_rules_of_a_user_are_those_of_resources_and_of_paths() -> None:
    found, error = rules_for(AlwaysAllow(), User("ann"), "here")
    assert (len(found), error) == (2, "")
    assert covers(found, [READ, {"verbs": ["get"], "nonResourceURLs": ["/x"]}]) == []


some = st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=2)
resources = st.lists(st.sampled_from(["w", "v", "w/s", "*/s", "*"]), min_size=1, max_size=2)
names = st.lists(st.sampled_from(["n", "m"]), max_size=2)
rules = st.lists(
    st.builds(
        lambda v, g, r, n: {"verbs": v, "apiGroups": g, "resources": r, "resourceNames": n},
        some,
        some,
        resources,
        names,
    ),
    max_size=3,
)


@given(rules, rules, st.sampled_from("ab"), st.sampled_from("ab"), st.sampled_from("wv"), st.sampled_from(["", "s"]))
def test_who_is_covered_may_do_nothing_that_the_owner_may_not(
    owner: list[Rule], servant: list[Rule], verb: str, group: str, resource: str, part: str
) -> None:
    if covers(owner, servant):
        return
    access = Access(User("ann"), verb, group, "v1", resource, part, "", "n")
    assert allowed(owner, access) or not allowed(servant, access)


def allowed(rules: list[Rule], access: Access) -> bool:
    rbac = RBACAuthorizer()
    rbac.put_role("", "role", rules)
    ann = {"kind": "User", "name": "ann"}
    rbac.put_binding("", "binding", {"roleRef": {"kind": "ClusterRole", "name": "role"}, "subjects": [ann]})
    return rbac.decide(access).allowed
