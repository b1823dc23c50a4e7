"""The account of the names that definitions hold."""

from __future__ import annotations

from typing import Any

from polykind.crd.naming import AcceptedNames, accept_names


def _holding(group: str, plural: str, kind: str, **names: Any) -> dict[str, Any]:
    accepted = {"plural": plural, "kind": kind, **names}
    return {"spec": {"group": group}, "status": {"acceptedNames": accepted}}


def test_names_are_counted_by_group() -> None:
    taken = AcceptedNames([_holding("a.io", "cats", "Cat", shortNames=["c"]), _holding("b.io", "dogs", "Dog")])
    assert {"cats", "c"} <= taken.names_in("a.io").resources.keys()
    assert "Cat" in taken.names_in("a.io").kinds
    assert "dogs" not in taken.names_in("a.io").resources
    assert not taken.names_in("c.io").kinds


def test_a_name_that_two_hold_stays_until_both_are_gone() -> None:
    one, other = _holding("a.io", "cats", "Cat"), _holding("a.io", "felines", "Cat")
    taken = AcceptedNames([one, other])
    taken.remove(one)
    assert "Cat" in taken.names_in("a.io").kinds
    assert "cats" not in taken.names_in("a.io").resources
    taken.remove(other)
    assert not taken.names_in("a.io").kinds


def test_an_account_decides_as_the_definitions_do() -> None:
    holder = _holding("a.io", "cats", "Cat", singular="cat", listKind="CatList")
    newcomer: dict[str, Any] = {
        "metadata": {"name": "lions.a.io"},
        "spec": {"group": "a.io", "names": {"plural": "lions", "singular": "cat", "kind": "Lion", "listKind": "Lions"}},
        "status": {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]},
    }
    by_account = accept_names(newcomer, AcceptedNames([holder, newcomer]), "2020-01-01T00:00:00Z")
    assert by_account == accept_names(newcomer, [holder], "2020-01-01T00:00:00Z")
    assert by_account["conditions"][0]["reason"] == "SingularConflict"
