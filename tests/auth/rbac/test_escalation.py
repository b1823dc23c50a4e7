"""What is said to those who would grant what they do not hold."""

from __future__ import annotations

from polykind.auth.rbac.coverage import Rule
from polykind.auth.rbac.escalation import EVERYTHING, refusal
from polykind.auth.user import User

ANN = User("ann", "1", ("makers", "system:authenticated"))
BEGINNING = (
    'user "ann" (groups=["makers" "system:authenticated"]) is attempting to grant RBAC permissions '
    "not currently held:\n"
)


def rule(verbs: str, groups: str, resources: str, *names: str) -> Rule:
    found = {"verbs": verbs.split(), "apiGroups": groups.split(","), "resources": resources.split()}
    return {**found, "resourceNames": list(names)} if names else found


def missing(*granted: Rule, held: tuple[Rule, ...] = ()) -> list[str]:
    text = refusal(ANN, held, granted, "")
    assert text.startswith(BEGINNING)
    return text.removeprefix(BEGINNING).split("\n")


def test_who_holds_it_may_grant_it() -> None:
    assert refusal(ANN, [rule("get list", "", "pens")], [rule("get", "", "pens")], "") == ""
    assert refusal(ANN, EVERYTHING, [rule("*", "*", "*"), {"verbs": ["get"], "nonResourceURLs": ["/x"]}], "x") == ""
    assert refusal(ANN, [], [], "") == ""


def test_verbs_that_lack_are_told_together_for_each_resource_of_each_group() -> None:
    held = (rule("get", "", "pens"),)
    assert missing(rule("get list watch", ",apps", "pens ink"), held=held) == [
        '{APIGroups:[""], Resources:["ink"], Verbs:["get" "list" "watch"]}',
        '{APIGroups:[""], Resources:["pens"], Verbs:["list" "watch"]}',
        '{APIGroups:["apps"], Resources:["ink"], Verbs:["get" "list" "watch"]}',
        '{APIGroups:["apps"], Resources:["pens"], Verbs:["get" "list" "watch"]}',
    ]


def test_rules_about_the_same_are_told_as_one_those_about_names_by_themselves() -> None:
    assert missing(rule("b a", "q", "r"), rule("a c", "q", "r"), rule("a", "q", "r", "n", "m")) == [
        '{APIGroups:["q"], Resources:["r"], ResourceNames:["m"], Verbs:["a"]}',
        '{APIGroups:["q"], Resources:["r"], ResourceNames:["n"], Verbs:["a"]}',
        '{APIGroups:["q"], Resources:["r"], Verbs:["b" "a" "a" "c"]}',
    ]


def test_paths_are_told_verb_by_verb() -> None:
    assert missing({"verbs": ["put", "get"], "nonResourceURLs": ["/a", "/b"]}) == [
        '{NonResourceURLs:["/a"], Verbs:["get"]}',
        '{NonResourceURLs:["/a"], Verbs:["put"]}',
        '{NonResourceURLs:["/b"], Verbs:["get"]}',
        '{NonResourceURLs:["/b"], Verbs:["put"]}',
    ]


def test_what_could_not_be_found_is_told_at_the_end() -> None:
    text = refusal(ANN, [], [rule("get", "", "pens")], 'roles "x" not found')
    assert text.endswith('Verbs:["get"]}; resolution errors: [roles "x" not found]')
