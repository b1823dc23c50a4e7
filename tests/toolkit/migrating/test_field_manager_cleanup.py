from __future__ import annotations

from typing import Any

from polykind.contract import JsonObject
from polykind.toolkit.migrating.field_manager_cleanup import has_fields, repair

GROUP = "example.com"
SCHEMA: JsonObject = {
    "properties": {
        "spec": {
            "properties": {
                "size": {"type": "integer"},
                "tags": {"additionalProperties": {"type": "string"}},
                "ports": {"items": {"properties": {"port": {"type": "integer"}}}},
                "raw": {"x-kubernetes-preserve-unknown-fields": True},
            }
        }
    }
}


def entry(manager: str, version: str, fields: JsonObject | None = None, **more: Any) -> JsonObject:
    owned = fields if fields is not None else {"f:spec": {"f:size": {}}}
    return {"manager": manager, "operation": "Apply", "apiVersion": f"{GROUP}/{version}", "fieldsV1": owned, **more}


def metadata(*entries: JsonObject) -> JsonObject:
    return {"name": "one", "uid": "u", "resourceVersion": "7", "managedFields": list(entries)}


def test_entries_of_declared_versions_and_other_groups_are_left_alone() -> None:
    scale = entry("hpa", "v1", apiVersion="autoscaling/v1")
    assert repair(metadata(entry("a", "v2"), scale), GROUP, {"v2"}, "v2", SCHEMA) is None


def test_entry_moves_to_the_storage_version_if_its_fields_exist_there() -> None:
    fixed = repair(metadata(entry("a", "v2"), entry("b", "v1")), GROUP, {"v2"}, "v2", SCHEMA)
    assert fixed is not None
    assert (fixed.renamed, fixed.removed) == (1, 0)
    assert fixed.patch == [
        {"op": "test", "path": "/metadata/uid", "value": "u"},
        {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
        {"op": "test", "path": "/metadata/managedFields/1/apiVersion", "value": "example.com/v1"},
        {"op": "replace", "path": "/metadata/managedFields/1/apiVersion", "value": "example.com/v2"},
    ]


def test_entry_with_a_field_that_is_gone_is_removed() -> None:
    gone = entry("b", "v1", {"f:spec": {"f:cron": {}}})
    fixed = repair(metadata(entry("a", "v2"), gone, entry("c", "v2")), GROUP, {"v2"}, "v2", SCHEMA)
    assert fixed is not None
    assert (fixed.renamed, fixed.removed) == (0, 1)
    assert fixed.patch[-1] == {"op": "remove", "path": "/metadata/managedFields/1"}


def test_second_entry_of_the_same_manager_is_removed() -> None:
    fixed = repair(metadata(entry("a", "v1"), entry("a", "v2")), GROUP, {"v2"}, "v2", SCHEMA)
    assert fixed is not None
    assert (fixed.renamed, fixed.removed) == (0, 1)


def test_last_entries_are_reset_because_an_empty_list_is_ignored() -> None:
    gone = entry("b", "v1", {"f:spec": {"f:cron": {}}})
    fixed = repair(metadata(gone), GROUP, {"v2"}, "v2", SCHEMA)
    assert fixed is not None
    assert fixed.patch[-1] == {"op": "replace", "path": "/metadata/managedFields", "value": [{}]}


def test_fields_of_lists_maps_and_metadata_are_found() -> None:
    assert has_fields(SCHEMA, {"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {".": {}, "f:tags": {"f:x": {}}}})
    assert has_fields(SCHEMA, {"f:spec": {"f:ports": {'k:{"port":1}': {".": {}, "f:port": {}}}, "f:raw": {"f:x": {}}}})
    assert not has_fields(SCHEMA, {"f:spec": {"f:ports": {'k:{"port":1}': {"f:name": {}}}}})
    assert not has_fields(SCHEMA, {"f:status": {}})
