from __future__ import annotations

from typing import Any

from polykind.contract import JsonObject
from polykind.crd.conditions import find_condition
from polykind.crd.naming import accept_names
from tests.crd.build import LATER, NOW, made, settled


def asking(plural: str, kind: str, **names: Any) -> JsonObject:
    return made(names={"plural": plural, "kind": kind, **names})


def verdict(status: JsonObject, type_: str = "NamesAccepted") -> tuple[str, str, str]:
    found = find_condition(status, type_)
    assert found is not None
    return found["status"], found["reason"], found["message"]


def test_free_names_are_accepted_and_served() -> None:
    status = accept_names(asking("tools", "Tool", shortNames=["t"], categories=["all"]), [], NOW)
    assert status["acceptedNames"] == {
        "plural": "tools",
        "singular": "tool",
        "shortNames": ["t"],
        "kind": "Tool",
        "listKind": "ToolList",
        "categories": ["all"],
    }
    assert list(status["acceptedNames"]) == ["plural", "singular", "shortNames", "kind", "listKind", "categories"]
    assert verdict(status) == ("True", "NoConflicts", "no conflicts found")
    assert verdict(status, "Established") == ("True", "InitialNamesAccepted", "the initial names have been accepted")
    assert [entry["type"] for entry in status["conditions"]] == ["NamesAccepted", "Established"]
    assert list(status["conditions"][0]) == ["type", "status", "lastTransitionTime", "reason", "message"]
    assert {entry["lastTransitionTime"] for entry in status["conditions"]} == {NOW}
    assert status["storedVersions"] == ["v1"]


def test_what_does_not_collide_is_accepted_and_the_last_conflict_told() -> None:
    other = settled()
    status = accept_names(asking("gadgets", "Tool", singular="tool", shortNames=["tools", "g"]), [other], NOW)
    assert status["acceptedNames"] == {"plural": "gadgets", "kind": ""}
    assert verdict(status) == ("False", "ListKindConflict", '"ToolList" is already in use')
    assert verdict(status, "Established") == ("False", "NotAccepted", "not all names are accepted")


def test_short_names_are_accepted_together_or_not_at_all() -> None:
    other = settled(names={"plural": "tools", "kind": "Tool", "shortNames": ["a", "b"]})
    status = accept_names(asking("gadgets", "Gadget", shortNames=["a", "b", "c"]), [other], NOW)
    assert verdict(status) == ("False", "ShortNamesConflict", '["a" is already in use, "b" is already in use]')
    assert "shortNames" not in status["acceptedNames"]
    assert status["acceptedNames"]["listKind"] == "GadgetList"


def test_names_of_other_groups_do_not_count() -> None:
    assert verdict(accept_names(made(group="other.com"), [settled()], NOW))[0] == "True"


def test_names_that_are_released_can_be_had() -> None:
    refused = asking("gadgets", "Tool")
    refused["status"] = accept_names(refused, [settled()], NOW)
    status = accept_names(refused, [], LATER)
    assert verdict(status, "Established")[1] == "InitialNamesAccepted"
    assert [entry["lastTransitionTime"] for entry in status["conditions"]] == [LATER, LATER]


def test_an_established_definition_stays_so_when_it_asks_for_a_taken_name() -> None:
    mine = settled(names={"plural": "gadgets", "kind": "Gadget"})
    mine["spec"]["names"]["shortNames"] = ["tool"]
    status = accept_names(mine, [settled()], LATER)
    assert verdict(status) == ("False", "ShortNamesConflict", '"tool" is already in use')
    assert verdict(status, "Established")[0] == "True"
    assert [entry["lastTransitionTime"] for entry in status["conditions"]] == [LATER, NOW]


def test_nothing_changes_where_nothing_is_asked() -> None:
    mine = settled()
    assert accept_names(mine, [], LATER) == mine["status"]


def test_an_unreadable_bundle_keeps_it_from_being_established() -> None:
    client = {"url": "https://example.com", "caBundle": "bm90aGluZyBoZXJl"}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client}
    mine = made(conversion={"strategy": "Webhook", "webhook": webhook})
    mine["status"] = accept_names(mine, [], NOW)
    assert verdict(mine["status"], "Established") == (
        "False",
        "InvalidCABundle",
        "The conversion webhook CABundle is invalid",
    )
    del client["caBundle"]
    mine["spec"]["conversion"]["webhook"]["clientConfig"] = client
    assert verdict(accept_names(mine, [], LATER), "Established")[0] == "True"
