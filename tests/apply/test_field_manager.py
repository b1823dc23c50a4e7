"""The managedFields after creates, updates and applies."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind import errors
from polykind.apis.apiextensions.types import CUSTOM_RESOURCE_DEFINITION_V1
from polykind.apis.machinery.apply_types import apply_model
from polykind.apply import field_manager
from polykind.apply.fieldset import difference
from polykind.apply.typed_value import applied_fields
from polykind.apply.typemodel import TypeModel
from tests.apply.test_typed_value import SCHEMA

Json = dict[str, Any]
V1, V2 = "g.io/v1", "g.io/v2"
MODELS = {V1: TypeModel(SCHEMA), V2: TypeModel(SCHEMA)}


async def convert(document: Json, version: str) -> Json | None:
    return {**document, "apiVersion": version} if version in MODELS else None


async def failing_convert(document: Json, version: str) -> Json | None:
    if version not in MODELS:
        raise errors.UnknownReasonError(f"no such version: {version}")
    return await convert(document, version)


def garden(version: str = V1, metadata: Json | None = None, **spec: Any) -> Json:
    return {"apiVersion": version, "kind": "Garden", "metadata": {"name": "x", **(metadata or {})}, "spec": spec}


def time_at(second: int) -> str:
    return f"2024-01-01T00:00:{second:02}Z"


async def update_object(live: Json | None, new: Json, manager: str, second: int = 0, **more: Any) -> Json:
    rules: Json = {"api_version": new["apiVersion"], "subresource": "", "models": MODELS, "convert": convert, **more}
    before = copy.deepcopy((live, new))
    listed = await field_manager.update(live, new, manager=manager, now=time_at(second), **rules)
    assert (live, new) == before
    return {**new, "metadata": {**new["metadata"], "uid": "u", "managedFields": listed}}


async def apply_object(live: Json | None, config: Json, manager: str, second: int = 0, **more: Any) -> Json:
    rules: Json = {"api_version": config["apiVersion"], "subresource": "", "models": MODELS, "convert": convert}
    rules = {**rules, "force": False, "kind": "Garden", **more}
    before = copy.deepcopy((live, config))
    result = await field_manager.apply(live, config, manager=manager, now=time_at(second), **rules)
    assert (live, config) == before
    return result


def entry(manager: str, operation: str, fields: Json, second: int | None = 0, version: str = V1, **more: Any) -> Json:
    time = {} if second is None else {"time": time_at(second)}
    head = {"manager": manager, "operation": operation, "apiVersion": version, **time}
    return {**head, "fieldsType": "FieldsV1", "fieldsV1": fields, **more}


def entries(document: Json) -> Any:
    return document["metadata"].get("managedFields")


async def test_create_owns_all_but_system_fields() -> None:
    new = garden(metadata={"labels": {"a": "b"}, "namespace": "n", "generation": 1}, name="a", tags=["t"])
    fields: Json = {
        "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
        "f:spec": {".": {}, "f:name": {}, "f:tags": {".": {}, 'v:"t"': {}}},
    }
    assert entries(await update_object(None, new, "amy")) == [entry("amy", "Update", fields)]


async def test_create_without_manager_is_tracked_as_unknown() -> None:
    assert entries(await update_object(None, garden(name="a"), ""))[0]["manager"] == "unknown"


async def test_update_owns_what_it_changes() -> None:
    live = await update_object(None, garden(name="a", size=1), "amy", 1)
    both = await update_object(live, garden(name="a", size=2, wet=True), "ben", 2)
    assert entries(both) == [
        entry("amy", "Update", {"f:spec": {".": {}, "f:name": {}}}, 1),
        entry("ben", "Update", {"f:spec": {"f:size": {}, "f:wet": {}}}, 2),
    ]
    again = await update_object(both, garden(name="a", size=3), "ben", 3)
    assert entries(again) == [
        entry("amy", "Update", {"f:spec": {".": {}, "f:name": {}}}, 1),
        entry("ben", "Update", {"f:spec": {"f:size": {}}}, 3),
    ]


async def test_update_without_change_keeps_entries() -> None:
    live = await update_object(None, garden(name="a"), "amy", 1)
    new = copy.deepcopy(live)
    assert entries(await update_object(live, new, "ben", 2)) == entries(live)
    assert field_manager.equal_ignoring_times(live, new)


async def test_entry_is_removed_with_its_last_field() -> None:
    live = await update_object(None, garden(name="a"), "amy")
    live = await update_object(live, garden(name="b"), "ben")
    live["metadata"]["managedFields"].append(entry("cyd", "Update", {"f:spec": {"f:name": {}}}))
    assert [e["manager"] for e in entries(await update_object(live, garden(name="c"), "ben"))] == ["amy", "ben"]


async def test_versions_and_subresources_have_separate_entries() -> None:
    live = await update_object(None, garden(name="a"), "amy", 1)
    live = await update_object(live, garden(V2, name="b"), "amy", 1)
    live = await update_object({**live, "apiVersion": V1}, garden(name="b", size=1), "amy", 1, subresource="status")
    assert [(e["apiVersion"], e.get("subresource")) for e in entries(live)] == [(V1, None), (V1, "status"), (V2, None)]


async def test_entries_of_removed_versions_are_dropped() -> None:
    live = await update_object(None, garden(name="a", size=1), "amy")
    live["metadata"]["managedFields"].append(entry("old", "Update", {"f:spec": {"f:wet": {}}}, version="g.io/v0"))
    assert [e["manager"] for e in entries(await update_object(live, garden(name="b", size=1), "ben"))] == ["amy", "ben"]


async def test_failed_conversion_clears_entries() -> None:
    async def failing(document: Json, version: str) -> Json | None:
        raise errors.UnknownReasonError("conversion webhook failed")

    live = await update_object(None, garden(V2, name="a", size=1), "amy")
    live = await update_object({**live, "apiVersion": V1}, garden(name="b", size=1), "ben", convert=failing)
    assert entries(live) == []


async def test_rejected_version_clears_entries() -> None:
    live = await update_object(None, garden(name="a", size=1), "amy")
    live["metadata"]["managedFields"].append(entry("old", "Update", {"f:spec": {"f:wet": {}}}, version="g.io/v0"))
    live = await update_object(live, garden(name="b", size=1), "ben", convert=failing_convert)
    assert entries(live) == []


async def test_system_fields_in_a_create_are_removed_from_entries() -> None:
    without_empty = [
        entry("amy", "Update", {"f:metadata": {"f:name": {}}}),
        entry("ben", "Update", {"f:metadata": {"f:name": {}, "f:uid": {}}}),
    ]
    created = garden(name="a", metadata={"name": "n", "managedFields": without_empty})
    owners = [(e["manager"], e["fieldsV1"]) for e in entries(await update_object(None, created, "cyd"))]
    assert owners == [
        ("ben", {"f:metadata": {"f:uid": {}}}),
        ("cyd", {"f:spec": {".": {}, "f:name": {}}}),
    ]


async def test_oldest_update_entries_are_merged() -> None:
    live = await update_object(None, garden(notes={}), "m0", 0)
    for n in range(1, 13):
        notes = {f"n{i}": "x" for i in range(1, n + 1)}
        live = await update_object(live, garden(notes=notes), f"m{n}", n)
    managers = [e["manager"] for e in entries(live)]
    assert len(managers) == 10
    assert managers[0] == "ancient-changes"
    assert entries(live)[0]["fieldsV1"] == {
        "f:spec": {".": {}, "f:notes": {".": {}, "f:n1": {}, "f:n2": {}, "f:n3": {}}}
    }
    owned_by_all = [key for e in entries(live) for key in e["fieldsV1"]["f:spec"].get("f:notes", {}) if key != "."]
    assert sorted(owned_by_all) == sorted(f"f:n{i}" for i in range(1, 13))


async def test_update_entries_are_capped_without_a_change() -> None:
    without_empty = [entry(f"m{n}", "Update", {"f:spec": {"f:size": {}}}, n) for n in range(12)]
    live = await update_object(None, garden(size=1), "amy")
    after = await update_object(live, garden(metadata={"managedFields": without_empty}, size=1), "ben", 30)
    assert [e["manager"] for e in entries(after)] == ["ancient-changes", *(f"m{n}" for n in range(3, 12))]


@pytest.mark.parametrize("sent", [[{}], [{"manager": ""}], [None]])
async def test_cleared_entries_stay_empty_until_an_apply(sent: Any) -> None:
    live = await update_object(None, garden(name="a"), "amy")
    cleared = await update_object(live, {**live, "metadata": {"name": "x", "managedFields": sent}}, "ben")
    assert entries(cleared) == []
    assert entries(await update_object(cleared, garden(name="b"), "ben")) == []
    first = await apply_object(cleared, garden(size=1), "cyd", 5)
    assert entries(first) == [
        entry("cyd", "Apply", {"f:spec": {"f:size": {}}}, 5),
        entry("before-first-apply", "Update", {"f:spec": {".": {}, "f:name": {}}}, 5),
    ]


@pytest.mark.parametrize(
    "sent",
    [
        None,
        "x",
        [1],
        [{"manager": "x", "operation": "Guess", "apiVersion": V1, "fieldsType": "FieldsV1", "fieldsV1": {}}],
        [{"manager": "x", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": {}}],
        [{"manager": "x", "operation": "Apply", "apiVersion": V1, "fieldsV1": {}}],
        [{"manager": "x", "operation": "Apply", "apiVersion": V1, "fieldsType": "FieldsV1", "fieldsV1": {"x": 1}}],
        [{"manager": 7, "operation": "Apply", "apiVersion": V1, "fieldsType": "FieldsV1", "fieldsV1": {}}],
    ],
)
async def test_invalid_entries_in_a_request_are_ignored(sent: Any) -> None:
    live = await update_object(None, garden(name="a"), "amy")
    new = garden(metadata={"managedFields": sent}, name="a")
    assert entries(await update_object(live, new, "ben")) == entries(live)


async def test_entries_can_be_set_only_through_the_main_resource() -> None:
    live = await update_object(None, garden(name="a"), "amy")
    mine = [entry("zoe", "Apply", {"f:spec": {"f:name": {}}})]
    new = garden(metadata={"managedFields": mine}, name="a")
    assert entries(await update_object(live, new, "ben")) == mine
    assert entries(await update_object(live, new, "ben", subresource="status")) == entries(live)


async def test_entries_without_fields_are_dropped() -> None:
    live = await update_object(None, garden(name="a"), "amy")
    mine = [entry("zoe", "Apply", {"f:spec": {"f:name": {}}}), entry("yan", "Apply", {})]
    assert entries(await update_object(live, garden(metadata={"managedFields": mine}, name="a"), "ben")) == mine[:1]


async def test_reset_fields_are_not_owned() -> None:
    new = garden(name="a")
    listed = entries(await update_object(None, new, "amy", reset={V1: {"f:spec": {}}}))
    assert listed == []


async def test_type_mismatch_leaves_no_entries() -> None:
    assert entries(await update_object(None, garden(pond="deep"), "amy")) == []


@pytest.mark.parametrize("fields", [{"f:spec": {}}, {}])
async def test_type_mismatch_at_another_version_leaves_no_entries(fields: Json) -> None:
    narrow = TypeModel({"type": "object", "properties": {"spec": {"type": "object", "properties": {}}}})
    narrow.root.map.fields["spec"].type.map.element = None  # type: ignore[union-attr]
    live = await update_object(None, garden(name="a", size=1), "amy")
    live["metadata"]["managedFields"].append(entry("old", "Apply", fields, version=V2))
    same = await update_object(live, garden(name="a", size=1), "ben", models={V1: MODELS[V1], V2: narrow})
    assert entries(same) == []


async def test_old_object_must_match_its_type() -> None:
    live = {**await update_object(None, garden(size=1), "amy"), "spec": {"size": "big"}}
    assert entries(await update_object(live, {**live, "spec": {"size": 2}}, "ben")) == []


async def test_fields_reset_by_a_subresource_must_match_their_type() -> None:
    live = await update_object(None, garden(name="a", size=1), "amy")
    reset = {V1: field_manager.STATUS_RESET}
    kept = await update_object(live, garden(name="b", size=1), "ben", subresource="status", reset=reset)
    assert [e["manager"] for e in entries(kept)] == ["amy"]
    lost = {**garden(), "spec": ["no map"]}
    assert entries(await update_object(live, lost, "ben", subresource="status", reset=reset)) == []


async def test_builtin_kinds_start_from_their_zero_value() -> None:
    crd: Json = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "x", "creationTimestamp": None},
        "spec": {
            "group": "g",
            "names": {"plural": "p", "singular": "s", "kind": "K", "listKind": "L"},
            "scope": "Namespaced",
            "versions": [{"name": "v1"}],
            "conversion": {"strategy": "None"},
        },
        "status": {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]},
    }
    version = crd["apiVersion"]
    obj = await update_object(
        None,
        crd,
        "me",
        models={version: apply_model(CUSTOM_RESOURCE_DEFINITION_V1)},
        reset={version: field_manager.MAIN_RESET},
    )
    spec = entries(obj)[0]["fieldsV1"]["f:spec"]
    assert spec == {
        "f:conversion": {".": {}, "f:strategy": {}},
        "f:group": {},
        "f:names": {"f:kind": {}, "f:listKind": {}, "f:plural": {}, "f:singular": {}},
        "f:scope": {},
        "f:versions": {},
    }
    assert list(spec) == ["f:conversion", "f:group", "f:names", "f:scope", "f:versions"]


async def test_type_mismatch_of_reset_fields_leaves_no_entries() -> None:
    texts = {"type": "array", "items": {"type": "string"}}
    properties = {"spec": {"type": "object"}, "status": {"type": "object", "properties": {"a": texts}}}
    models = {V1: TypeModel({"type": "object", "properties": properties})}
    for value, owners in (["x"], 1), ([1], 0):
        new = {**garden(), "status": {"a": value}}
        obj = await update_object(None, new, "me", models=models, reset={V1: field_manager.MAIN_RESET})
        assert len(entries(obj)) == owners


def test_equal_ignoring_times() -> None:
    old = {"metadata": {"managedFields": [entry("a", "Apply", {}, 1)], "resourceVersion": "1"}, "spec": {"a": 1}}
    new = {"metadata": {"managedFields": [entry("a", "Apply", {}, 2)]}, "spec": {"a": 1}}
    assert field_manager.equal_ignoring_times(old, new)
    assert not field_manager.equal_ignoring_times(old, {**new, "spec": {"a": True}})
    assert not field_manager.equal_ignoring_times(
        old, {**new, "metadata": {"managedFields": [entry("b", "Apply", {}, 1)]}}
    )


SPECS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["a", "b"]),
        "size": st.integers(0, 2),
        "tags": st.lists(st.sampled_from("abc"), unique=True, max_size=3),
        "tools": st.lists(st.sampled_from("xy"), max_size=2),
        "notes": st.dictionaries(st.sampled_from("mn"), st.sampled_from("xy"), max_size=2),
        "plan": st.fixed_dictionaries({}, optional={"spring": st.sampled_from("xy")}),
        "beds": st.lists(
            st.fixed_dictionaries({"name": st.sampled_from("ab")}, optional={"rows": st.integers(0, 1)}),
            unique_by=lambda bed: bed["name"],
            max_size=2,
        ),
        "free": st.recursive(
            st.dictionaries(st.sampled_from("pq"), st.integers(0, 1), max_size=2),
            lambda inner: st.dictionaries(st.sampled_from("pq"), inner, max_size=2),
            max_leaves=4,
        ),
    },
)


@given(SPECS, SPECS, SPECS, st.booleans())
async def test_repeated_apply_changes_nothing(first: Json, other: Json, mine: Json, by_update: bool) -> None:
    live = await apply_object(None, garden(**first), "amy", 1)
    live = await (
        update_object(live, garden(**other), "ben", 2)
        if by_update
        else apply_object(live, garden(**other), "ben", 2, force=True)
    )
    once = await apply_object(live, garden(**mine), "cyd", 3, force=True)
    assert await apply_object(once, garden(**mine), "cyd", 4) is once


@given(SPECS, SPECS)
async def test_applied_fields_exist_and_are_owned(first: Json, mine: Json) -> None:
    live = await apply_object(None, garden(**first), "amy", 1)
    live = await apply_object(live, garden(**mine), "cyd", 2, force=True)
    fields = applied_fields(garden(**mine)["spec"], MODELS[V1].root.map.fields["spec"].type) or {}  # type: ignore[union-attr]
    listed = {e["manager"]: e["fieldsV1"].get("f:spec", {}) for e in entries(live) or []}
    assert not difference(fields, listed.get("cyd", {}))
    assert live["spec"].keys() >= mine.keys()
    assert all(live["spec"][name] == mine[name] for name in ("name", "size", "tools", "plan") if name in mine)


@given(SPECS, SPECS)
async def test_dropped_fields_of_a_single_owner_are_removed(first: Json, second: Json) -> None:
    live = await apply_object(None, garden(**first), "amy", 1)
    live = await apply_object(live, garden(**second), "amy", 2)
    alone = await apply_object(None, garden(**second), "amy", 2)
    assert without_empty(live.get("spec") or {}) == without_empty(alone["spec"])
    mine = [[e["fieldsV1"] for e in entries(o) or [] if e["manager"] == "amy"] for o in (live, alone)]
    assert mine[0] == mine[1]


def without_empty(value: Any) -> Any:
    """Return a value without empty parts. An empty list has no owner and stays; a map that becomes empty turns null."""
    if isinstance(value, dict):
        return {
            name: item for name, item in ((n, without_empty(i)) for n, i in value.items()) if item not in ([], {}, None)
        }
    return value
