"""Releases of charts: free-form values, named parameters and metadata that the API server manages."""

from __future__ import annotations

from typing import Any

from tests.toolkit.proving.bugs.family import (
    TEXT,
    Family,
    Object,
    array,
    drop_empty_annotations,
    fields,
    mapping,
    notes_of,
    rename,
    spec,
)

GROUP = "releases.example.com"
STASH = f"{GROUP}/drift-mode"
FREE: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
OLDER = {"spec": fields(chart=TEXT, values=FREE, hooks=array(TEXT), parameters=mapping(TEXT))}
NEWER = {"spec": fields(chartRef=TEXT, values=FREE, hooks=array(TEXT), parameters=mapping(TEXT), driftMode=TEXT)}


def down(obj: Object) -> None:
    rename(spec(obj), "chartRef", "chart")
    if "driftMode" in spec(obj):
        notes_of(obj)[STASH] = spec(obj).pop("driftMode")


def up(obj: Object) -> None:
    rename(spec(obj), "chart", "chartRef")
    notes = (obj.get("metadata") or {}).get("annotations") or {}
    if STASH in notes:
        obj.setdefault("spec", {})["driftMode"] = notes.pop(STASH)
        drop_empty_annotations(obj)


FAMILY = Family(f"Release.{GROUP}", {"v2beta1": OLDER, "v2": NEWER}, down, up)


def _without_null(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: _without_null(item) for key, item in value.items() if item is not None}


@FAMILY.after_down("hard")
def null_in_values_is_pruned(obj: Object) -> None:
    if "values" in spec(obj):
        obj["spec"]["values"] = _without_null(obj["spec"]["values"])


@FAMILY.after_down("hard")
def slash_in_a_key_of_the_values_is_replaced(obj: Object) -> None:
    if "values" in spec(obj):
        obj["spec"]["values"] = {key.replace("/", "_"): item for key, item in obj["spec"]["values"].items()}


@FAMILY.after_up("hard")
def more_than_eight_parameters_are_cut(obj: Object) -> None:
    if "parameters" in spec(obj):
        obj["spec"]["parameters"] = dict(sorted(obj["spec"]["parameters"].items())[:8])


@FAMILY.after_up("hard")
def more_than_sixteen_hooks_are_cut(obj: Object) -> None:
    if "hooks" in spec(obj):
        obj["spec"]["hooks"] = obj["spec"]["hooks"][:16]


@FAMILY.after_down("hard")
def chart_of_more_than_2048_letters_is_cut(obj: Object) -> None:
    if "chart" in spec(obj):
        obj["spec"]["chart"] = obj["spec"]["chart"][:2048]


@FAMILY.after_down("medium")
def terminating_release_loses_its_hooks(obj: Object) -> None:
    if (obj.get("metadata") or {}).get("deletionTimestamp"):
        spec(obj).pop("hooks", None)


@FAMILY.after_down("hard")
def annotation_of_another_tool_is_dropped(obj: Object) -> None:
    ((obj.get("metadata") or {}).get("annotations") or {}).pop("charts.example.org/resource-policy", None)


@FAMILY.after_up("medium")
def owners_without_a_controller_are_completed(obj: Object) -> None:
    for owner in (obj.get("metadata") or {}).get("ownerReferences") or []:
        owner.setdefault("controller", False)
