"""Server-side apply: merging, conflicts and ownership."""

from __future__ import annotations

import json
from typing import Any

import pytest

from polykind import errors
from polykind.apply import field_manager
from polykind.apply.last_applied import ANNOTATION
from tests.apply.test_field_manager import (
    MODELS,
    V1,
    V2,
    Json,
    apply_object,
    convert,
    entries,
    entry,
    failing_convert,
    garden,
    update_object,
)


async def test_conflict_names_manager_version_and_field() -> None:
    live = await update_object(None, garden(size=1, name="a"), "amy")
    with pytest.raises(errors.ConflictError) as caught:
        await apply_object(live, garden(size=2), "ben")
    assert caught.value.message == 'Apply failed with 1 conflict: conflict with "amy" using g.io/v1: .spec.size'
    assert caught.value.details == {
        "causes": [
            {
                "reason": "FieldManagerConflict",
                "message": 'conflict with "amy" using g.io/v1',
                "field": ".spec.size",
            }
        ]
    }


async def test_several_conflicts_are_listed_by_manager() -> None:
    live = await apply_object(None, garden(size=1, beds=[{"name": "a", "rows": 1}]), "zoe")
    live = await update_object(live, {**live, "spec": {**live["spec"], "name": "x"}}, "amy", subresource="status")
    with pytest.raises(errors.ConflictError) as caught:
        await apply_object(live, garden(size=2, name="y", beds=[{"name": "a", "rows": 2}]), "ben")
    assert caught.value.message == (
        "Apply failed with 3 conflicts: "
        'conflicts with "amy" with subresource "status" using g.io/v1:\n- .spec.name\n'
        'conflicts with "zoe":\n- .spec.size\n- .spec.beds[kind="plain",name="a"].rows'
    )


async def test_force_takes_ownership() -> None:
    live = await apply_object(None, garden(size=1, name="a"), "amy", 1)
    live = await apply_object(live, garden(size=2), "ben", 2, force=True)
    assert entries(live) == [
        entry("amy", "Apply", {"f:spec": {"f:name": {}}}, 1),
        entry("ben", "Apply", {"f:spec": {"f:size": {}}}, 2),
    ]


async def test_entry_for_ownership_alone_has_no_time_and_sorts_first() -> None:
    live = await apply_object(None, garden(size=1), "amy", 1)
    live = await apply_object(live, garden(size=1), "ben", 2)
    assert entries(live) == [
        entry("ben", "Apply", {"f:spec": {"f:size": {}}}, None),
        entry("amy", "Apply", {"f:spec": {"f:size": {}}}, 1),
    ]


async def test_fields_are_removed_when_their_last_owner_drops_them() -> None:
    live = await apply_object(None, garden(size=1, name="a"), "amy")
    live = await apply_object(live, garden(size=1), "ben")
    live = await apply_object(live, garden(name="a"), "amy")
    assert live["spec"] == {"size": 1, "name": "a"}
    live = await apply_object(live, {**garden(), "spec": {}}, "ben")
    assert live["spec"] == {"name": "a"}


async def test_unowned_fields_stay() -> None:
    live = await apply_object(None, garden(beds=[{"name": "a"}]), "amy")
    live["spec"]["beds"][0]["rows"] = 4
    live = await apply_object(live, garden(beds=[{"name": "a"}], size=1), "amy")
    assert live["spec"]["beds"] == [{"name": "a", "rows": 4}]


async def test_apply_at_another_version_drops_previous_fields() -> None:
    live = await apply_object(None, garden(size=1, name="a"), "amy", 1)
    live = await apply_object({**live, "apiVersion": V2}, garden(V2, name="a"), "amy", 2)
    assert live["spec"] == {"name": "a"}
    assert entries(live) == [entry("amy", "Apply", {"f:spec": {"f:name": {}}}, 2, version=V2)]


async def test_conflicts_are_detected_at_the_owners_version() -> None:
    live = await update_object(None, garden(V2, size=1), "amy")
    with pytest.raises(errors.ConflictError) as caught:
        await apply_object({**live, "apiVersion": V1}, garden(size=2), "ben")
    assert caught.value.message == 'Apply failed with 1 conflict: conflict with "amy" using g.io/v2: .spec.size'


async def test_empty_remainder_is_not_converted() -> None:
    async def strict_convert(document: Json, version: str) -> Json | None:
        if "metadata" not in document and document.keys() != {"apiVersion", "kind"}:
            raise errors.UnknownReasonError("missing metadata")
        return await convert(document, version)

    live = await apply_object(None, garden(metadata={"labels": {"a": "b"}}), "amy")
    live["spec"]["beds"] = []
    live = await apply_object(live, garden(V2), "amy", 1, convert=strict_convert)
    assert live["spec"] == {"beds": []}


async def test_owner_at_a_removed_version_is_dropped() -> None:
    live = await update_object(None, garden(size=1), "amy")
    live["metadata"]["managedFields"][0]["apiVersion"] = "g.io/v0"
    live = await apply_object(live, garden(size=2), "ben", 1)
    assert entries(live) == [entry("ben", "Apply", {"f:spec": {"f:size": {}}}, 1)]


async def test_owner_at_a_rejected_version_fails_the_apply() -> None:
    live = await update_object(None, garden(size=1), "amy")
    live["metadata"]["managedFields"][0]["apiVersion"] = "g.io/v0"
    with pytest.raises(errors.UnknownReasonError) as caught:
        await apply_object(live, garden(size=2), "ben", convert=failing_convert)
    assert caught.value.message == "no such version: g.io/v0"


async def test_type_mismatch_at_an_owners_version_fails_the_apply() -> None:
    async def convert_with_unknown_field(document: Json, version: str) -> Json | None:
        converted = await convert(document, version)
        return converted and {**converted, "spec": {"pond": "deep"}}

    live = await update_object(None, garden(V2, size=1), "amy")
    with pytest.raises(errors.UnknownReasonError) as caught:
        await apply_object({**live, "apiVersion": V1}, garden(size=2), "ben", convert=convert_with_unknown_field)
    assert caught.value.message == ".spec.pond: field not declared in schema"


@pytest.mark.parametrize("entry", [None, {"time": "yesterday"}, {"time": 5}])
async def test_undecodable_managed_fields_count_as_absent(entry: Any) -> None:
    config = garden(size=1, metadata={"managedFields": [entry]})
    assert "managedFields" in (await apply_object(None, config, "amy"))["metadata"]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (5, "[0]: expected map, got &{5}"),
        ({"manager": 5}, "[0].manager: expected string, got &value.valueUnstructured{Value:5}"),
        ({"manager": 0}, "[0].manager: expected string, got &value.valueUnstructured{Value:0}"),
    ],
)
async def test_managed_fields_of_a_wrong_type_are_rejected(entry: Any, message: str) -> None:
    with pytest.raises(errors.UnknownReasonError) as caught:
        await apply_object(None, garden(size=1, metadata={"managedFields": [entry]}), "amy")
    assert caught.value.message.endswith(f": .metadata.managedFields{message}")


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({**garden(), "kind": "Park"}, "invalid object type: g.io/v1, Kind=Park"),
        ({"kind": "Garden"}, "invalid object type: /, Kind=Garden"),
        ({**garden(), "apiVersion": "a/b/c"}, "invalid object type: /, Kind="),
        (garden(metadata={"managedFields": []}), "metadata.managedFields must be nil"),
    ],
)
async def test_body_of_another_kind_is_rejected(config: Json, text: str) -> None:
    with pytest.raises(errors.BadRequestError) as caught:
        await apply_object(None, {"apiVersion": "", **config}, "amy", api_version=V1)
    assert caught.value.message == text


async def test_unknown_field_is_an_error_without_reason() -> None:
    with pytest.raises(errors.UnknownReasonError) as caught:
        await apply_object(None, garden(metadata={"namespace": "n"}, pond="deep"), "amy")
    assert caught.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "failed to create typed patch object (n/x; g.io/v1, Kind=Garden): "
        ".spec.pond: field not declared in schema",
        "code": 500,
    }


def last(config: Json) -> dict[str, Any]:
    return {"annotations": {ANNOTATION: json.dumps(config)}}


async def test_kubectl_takes_over_fields_of_client_side_apply() -> None:
    live = await update_object(
        None, garden(metadata=last(garden(size=1, name="a")), size=1, name="a"), "kubectl-client"
    )
    after = await apply_object(live, garden(size=2, name="a"), "kubectl")
    assert after["spec"] == {"size": 2, "name": "a"}
    assert after["metadata"]["annotations"][ANNOTATION] == (
        '{"apiVersion":"g.io/v1","kind":"Garden","metadata":{"name":"x"},"spec":{"name":"a","size":2}}\n'
    )
    with pytest.raises(errors.ConflictError):
        await apply_object(live, garden(size=2), "another")


async def test_kubectl_does_not_take_over_fields_of_another_kind() -> None:
    other = {**garden(size=1, name="a"), "kind": "Park"}
    live = await update_object(None, garden(metadata=last(other), size=1, name="a"), "kubectl-client")
    with pytest.raises(errors.ConflictError):
        await apply_object(live, garden(size=2, name="a"), "kubectl")


async def test_kubectl_does_not_take_over_changed_fields() -> None:
    live = await update_object(None, garden(metadata=last(garden(size=1, name="b")), size=1, name="a"), "editor")
    with pytest.raises(errors.ConflictError) as caught:
        await apply_object(live, garden(size=2, name="c"), "kubectl")
    assert caught.value.message == 'Apply failed with 1 conflict: conflict with "editor" using g.io/v1: .spec.name'


async def test_deep_nesting_succeeds_or_is_rejected() -> None:
    deep: Any = {}
    for _ in range(3000):
        deep = {"a": deep}
    rules: Json = {"manager": "amy", "api_version": V1, "subresource": "", "now": "", "models": MODELS}
    with pytest.raises(errors.BadRequestError):
        await field_manager.apply(None, garden(free=deep), kind="Garden", force=False, convert=convert, **rules)
    assert await field_manager.update(None, garden(free=deep), convert=convert, **rules) == []


@pytest.mark.parametrize(
    ("metadata", "what"),
    [
        ({}, "failed to create manager for existing fields: failed to convert new object (/x; {}) to smd typed"),
        (
            {"managedFields": [entry("amy", "Apply", {"f:spec": {"f:size": {}}})]},
            "failed to create typed live object (/x; {})",
        ),
    ],
)
async def test_live_object_with_type_mismatch_fails_the_apply(metadata: Json, what: str) -> None:
    live = garden(metadata=metadata, size="big")
    with pytest.raises(errors.UnknownReasonError) as caught:
        await apply_object(live, garden(size=1), "ben", force=True)
    named = what.format("g.io/v1, Kind=Garden")
    assert caught.value.message == f"{named}: .spec.size: expected numeric (int or float), got string"
