"""Accepted names of CRDs by group."""

from __future__ import annotations

from typing import Any

from polykind.crd.naming import AcceptedNames, accept_names


def crd_with_names(group: str, plural: str, kind: str, **names: Any) -> dict[str, Any]:
    accepted = {"plural": plural, "kind": kind, **names}
    return {"spec": {"group": group}, "status": {"acceptedNames": accepted}}


def test_names_are_counted_by_group() -> None:
    taken = AcceptedNames(
        [crd_with_names("a.io", "cats", "Cat", shortNames=["c"]), crd_with_names("b.io", "dogs", "Dog")]
    )
    assert {"cats", "c"} <= taken.names_in("a.io").resources.keys()
    assert "Cat" in taken.names_in("a.io").kinds
    assert "dogs" not in taken.names_in("a.io").resources
    assert not taken.names_in("c.io").kinds


def test_name_held_by_two_crds_remains_until_both_are_removed() -> None:
    one, other = crd_with_names("a.io", "cats", "Cat"), crd_with_names("a.io", "felines", "Cat")
    taken = AcceptedNames([one, other])
    taken.remove(one)
    assert "Cat" in taken.names_in("a.io").kinds
    assert "cats" not in taken.names_in("a.io").resources
    taken.remove(other)
    assert not taken.names_in("a.io").kinds


def test_accepted_names_give_the_same_result_as_other_crds() -> None:
    holder = crd_with_names("a.io", "cats", "Cat", singular="cat", listKind="CatList")
    newcomer: dict[str, Any] = {
        "metadata": {"name": "lions.a.io"},
        "spec": {"group": "a.io", "names": {"plural": "lions", "singular": "cat", "kind": "Lion", "listKind": "Lions"}},
        "status": {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]},
    }
    by_account = accept_names(newcomer, AcceptedNames([holder, newcomer]), "2020-01-01T00:00:00Z")
    assert by_account == accept_names(newcomer, [holder], "2020-01-01T00:00:00Z")
    assert by_account["conditions"][0]["reason"] == "SingularConflict"
