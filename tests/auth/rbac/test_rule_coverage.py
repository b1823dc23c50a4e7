"""Coverage of RBAC rules by other rules, and the privilege escalation check."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.auth.authorizer import Access, AlwaysAllow
from polykind.auth.rbac.rbac_authorizer import CompiledBinding, CompiledRole, RBACAuthorizer
from polykind.auth.rbac.rule_coverage import EVERYTHING, Rule, escalation_error, path_matches, uncovered, user_rules
from polykind.auth.user import User

READ: Rule = {"verbs": ["get", "list"], "apiGroups": ["example.com"], "resources": ["widgets"]}


def rule(verbs: str, resources: str, names: str = "", groups: str = "example.com") -> Rule:
    fields = {"verbs": verbs.split(), "apiGroups": groups.split(), "resources": resources.split()}
    return {**fields, "resourceNames": names.split()} if names else fields


@pytest.mark.parametrize(
    "held",
    [
        [READ],
        [rule("*", "*", groups="*")],
        [rule("get", "widgets"), rule("list", "*")],
        [rule("list get watch", "gadgets widgets", groups="other example.com")],
    ],
)
def test_rules_may_be_covered_by_one_or_several_rules(held: list[Rule]) -> None:
    assert uncovered(held, [READ]) == []


def test_uncovered_returns_single_rules() -> None:
    missing_rules = uncovered([rule("get", "widgets"), rule("list", "gadgets", groups="*")], [READ])
    assert missing_rules == [{"verbs": ["list"], "apiGroups": ["example.com"], "resources": ["widgets"]}]
    assert uncovered([], [rule("get", "a b", "x y")]) == [
        {"verbs": ["get"], "apiGroups": ["example.com"], "resources": [resource], "resourceNames": [name]}
        for resource in ("a", "b")
        for name in ("x", "y")
    ]


def test_rule_without_names_is_covered_only_by_one_without() -> None:
    assert uncovered([rule("get", "widgets")], [rule("get", "widgets", "a")]) == []
    assert uncovered([rule("get", "widgets", "a b")], [rule("get", "widgets", "b")]) == []
    assert uncovered([rule("get", "widgets", "a")], [rule("get", "widgets", "b")]) != []
    assert uncovered([rule("get", "widgets", "a")], [rule("get", "widgets")]) != []


def test_subresource_wildcard_covers_any_resource() -> None:
    assert uncovered([rule("get", "*/status")], [rule("get", "widgets/status")]) == []
    assert uncovered([rule("get", "*/status")], [rule("get", "widgets")]) != []
    assert uncovered([rule("get", "widgets")], [rule("get", "widgets/status")]) != []


def test_paths_are_covered_by_prefix() -> None:
    paths: Rule = {"verbs": ["get"], "nonResourceURLs": ["/a/b", "/a/c/*"]}
    assert uncovered([{"verbs": ["*"], "nonResourceURLs": ["/a/*"]}], [paths]) == []
    assert uncovered([{"verbs": ["get"], "nonResourceURLs": ["/a/b"]}], [paths]) == [
        {"verbs": ["get"], "nonResourceURLs": ["/a/c/*"]}
    ]


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
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
def test_trailing_asterisk_matches_any_suffix(pattern: str, path: str, expected: bool) -> None:
    assert path_matches(pattern, path) is expected


def test_user_rules_include_resources_and_paths() -> None:
    rules_found, error = user_rules(AlwaysAllow(), User("ann"), "here")
    assert (len(rules_found), error) == (2, "")
    assert uncovered(rules_found, [READ, {"verbs": ["get"], "nonResourceURLs": ["/x"]}]) == []


ANN = User("ann", "1", ("makers", "system:authenticated"))
BEGINNING = (
    'user "ann" (groups=["makers" "system:authenticated"]) is attempting to grant RBAC permissions '
    "not currently held:\n"
)


def grouped_rule(verbs: str, groups: str, resources: str, *names: str) -> Rule:
    """Return a rule whose comma-separated groups may be empty."""
    rule = {"verbs": verbs.split(), "apiGroups": groups.split(","), "resources": resources.split()}
    return {**rule, "resourceNames": list(names)} if names else rule


def missing(*granted: Rule, held: tuple[Rule, ...] = ()) -> list[str]:
    text = escalation_error(ANN, held, granted, "")
    assert text.startswith(BEGINNING)
    return text.removeprefix(BEGINNING).split("\n")


def test_held_rules_may_be_granted() -> None:
    assert escalation_error(ANN, [grouped_rule("get list", "", "pens")], [grouped_rule("get", "", "pens")], "") == ""
    assert (
        escalation_error(
            ANN, EVERYTHING, [grouped_rule("*", "*", "*"), {"verbs": ["get"], "nonResourceURLs": ["/x"]}], "x"
        )
        == ""
    )
    assert escalation_error(ANN, [], [], "") == ""


def test_missing_verbs_are_merged_per_resource_and_group() -> None:
    held = (grouped_rule("get", "", "pens"),)
    assert missing(grouped_rule("get list watch", ",apps", "pens ink"), held=held) == [
        '{APIGroups:[""], Resources:["ink"], Verbs:["get" "list" "watch"]}',
        '{APIGroups:[""], Resources:["pens"], Verbs:["list" "watch"]}',
        '{APIGroups:["apps"], Resources:["ink"], Verbs:["get" "list" "watch"]}',
        '{APIGroups:["apps"], Resources:["pens"], Verbs:["get" "list" "watch"]}',
    ]


def test_missing_rules_with_names_are_listed_separately() -> None:
    assert missing(
        grouped_rule("b a", "q", "r"), grouped_rule("a c", "q", "r"), grouped_rule("a", "q", "r", "n", "m")
    ) == [
        '{APIGroups:["q"], Resources:["r"], ResourceNames:["m"], Verbs:["a"]}',
        '{APIGroups:["q"], Resources:["r"], ResourceNames:["n"], Verbs:["a"]}',
        '{APIGroups:["q"], Resources:["r"], Verbs:["b" "a" "a" "c"]}',
    ]


def test_missing_paths_are_listed_verb_by_verb() -> None:
    assert missing({"verbs": ["put", "get"], "nonResourceURLs": ["/a", "/b"]}) == [
        '{NonResourceURLs:["/a"], Verbs:["get"]}',
        '{NonResourceURLs:["/a"], Verbs:["put"]}',
        '{NonResourceURLs:["/b"], Verbs:["get"]}',
        '{NonResourceURLs:["/b"], Verbs:["put"]}',
    ]


def test_resolution_errors_are_appended() -> None:
    text = escalation_error(ANN, [], [grouped_rule("get", "", "pens")], 'roles "x" not found')
    assert text.endswith('Verbs:["get"]}; resolution errors: [roles "x" not found]')


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
def test_covered_rules_allow_nothing_that_the_held_rules_forbid(
    held: list[Rule], granted: list[Rule], verb: str, group: str, resource: str, subresource: str
) -> None:
    if uncovered(held, granted):
        return
    access = Access(User("ann"), verb, group, "v1", resource, subresource, "", "n")
    assert allowed(held, access) or not allowed(granted, access)


def allowed(rules: list[Rule], access: Access) -> bool:
    rbac = RBACAuthorizer()
    rbac.put_role("", "role", CompiledRole(rules))
    ann = {"kind": "User", "name": "ann"}
    rbac.put_binding(
        "",
        "binding",
        CompiledBinding("", "binding", {"roleRef": {"kind": "ClusterRole", "name": "role"}, "subjects": [ann]}),
    )
    return rbac.decision(access).allowed
