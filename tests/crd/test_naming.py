from __future__ import annotations

from typing import Any

from polykind.contract import JsonObject
from polykind.crd.conditions import find_condition
from polykind.crd.naming import accept_names
from tests.crd.build import LATER, NOW, created_crd, established_crd


def crd_requesting(plural: str, kind: str, **names: Any) -> JsonObject:
    return created_crd(names={"plural": plural, "kind": kind, **names})


def condition_of(status: JsonObject, type_: str = "NamesAccepted") -> tuple[str, str, str]:
    found = find_condition(status, type_)
    assert found is not None
    return found["status"], found["reason"], found["message"]


def test_free_names_are_accepted_and_established() -> None:
    status = accept_names(crd_requesting("tools", "Tool", shortNames=["t"], categories=["all"]), [], NOW)
    assert status["acceptedNames"] == {
        "plural": "tools",
        "singular": "tool",
        "shortNames": ["t"],
        "kind": "Tool",
        "listKind": "ToolList",
        "categories": ["all"],
    }
    assert list(status["acceptedNames"]) == ["plural", "singular", "shortNames", "kind", "listKind", "categories"]
    assert condition_of(status) == ("True", "NoConflicts", "no conflicts found")
    assert condition_of(status, "Established") == (
        "True",
        "InitialNamesAccepted",
        "the initial names have been accepted",
    )
    assert [entry["type"] for entry in status["conditions"]] == ["NamesAccepted", "Established"]
    assert list(status["conditions"][0]) == ["type", "status", "lastTransitionTime", "reason", "message"]
    assert {entry["lastTransitionTime"] for entry in status["conditions"]} == {NOW}
    assert status["storedVersions"] == ["v1"]


def test_names_without_conflict_are_accepted_and_last_conflict_is_reported() -> None:
    other = established_crd()
    status = accept_names(crd_requesting("gadgets", "Tool", singular="tool", shortNames=["tools", "g"]), [other], NOW)
    assert status["acceptedNames"] == {"plural": "gadgets", "kind": ""}
    assert condition_of(status) == ("False", "ListKindConflict", '"ToolList" is already in use')
    assert condition_of(status, "Established") == ("False", "NotAccepted", "not all names are accepted")


def test_short_names_are_accepted_together() -> None:
    other = established_crd(names={"plural": "tools", "kind": "Tool", "shortNames": ["a", "b"]})
    status = accept_names(crd_requesting("gadgets", "Gadget", shortNames=["a", "b", "c"]), [other], NOW)
    assert condition_of(status) == ("False", "ShortNamesConflict", '["a" is already in use, "b" is already in use]')
    assert "shortNames" not in status["acceptedNames"]
    assert status["acceptedNames"]["listKind"] == "GadgetList"


def test_names_of_other_groups_do_not_conflict() -> None:
    assert condition_of(accept_names(created_crd(group="other.com"), [established_crd()], NOW))[0] == "True"


def test_released_names_can_be_accepted() -> None:
    refused = crd_requesting("gadgets", "Tool")
    refused["status"] = accept_names(refused, [established_crd()], NOW)
    status = accept_names(refused, [], LATER)
    assert condition_of(status, "Established")[1] == "InitialNamesAccepted"
    assert [entry["lastTransitionTime"] for entry in status["conditions"]] == [LATER, LATER]


def test_established_crd_remains_established_despite_a_conflict() -> None:
    mine = established_crd(names={"plural": "gadgets", "kind": "Gadget"})
    mine["spec"]["names"]["shortNames"] = ["tool"]
    status = accept_names(mine, [established_crd()], LATER)
    assert condition_of(status) == ("False", "ShortNamesConflict", '"tool" is already in use')
    assert condition_of(status, "Established")[0] == "True"
    assert [entry["lastTransitionTime"] for entry in status["conditions"]] == [LATER, NOW]


def test_accepted_status_does_not_change() -> None:
    mine = established_crd()
    assert accept_names(mine, [], LATER) == mine["status"]


def test_invalid_ca_bundle_prevents_establishment() -> None:
    client = {"url": "https://example.com", "caBundle": "bm90aGluZyBoZXJl"}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client}
    mine = created_crd(conversion={"strategy": "Webhook", "webhook": webhook})
    mine["status"] = accept_names(mine, [], NOW)
    assert condition_of(mine["status"], "Established") == (
        "False",
        "InvalidCABundle",
        "The conversion webhook CABundle is invalid",
    )
    del client["caBundle"]
    mine["spec"]["conversion"]["webhook"]["clientConfig"] = client
    assert condition_of(accept_names(mine, [], LATER), "Established")[0] == "True"
