"""Field ownership of a CRD that is applied at v1 and at v1beta1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from polykind.contract import JsonObject
from tests.support.live import Live, live
from tests.support.widgets import APPLY, MERGE

_BETA = {"apiextensions.k8s.io/v1beta1": "true"}
_NAME = "gadgets.beta.example.com"
_PATH = "/apis/apiextensions.k8s.io/{}/customresourcedefinitions/" + _NAME


def _spec(**more: Any) -> JsonObject:
    return {
        "group": "beta.example.com",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "kind": "Gadget"},
        **more,
    }


def _schema(kind: str) -> JsonObject:
    spec = {"type": "object", "properties": {"size": {"type": kind}}}
    return {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}


def _v1beta1(kind: str) -> JsonObject:
    versions = [{"name": "v1", "served": True, "storage": True}]
    columns = [{"name": "Size", "type": "string", "JSONPath": ".spec.size"}]
    more = {"validation": _schema(kind), "additionalPrinterColumns": columns, "preserveUnknownFields": False}
    return _spec(version="v1", versions=versions, **more)


def _v1(kind: str) -> JsonObject:
    return _spec(versions=[{"name": "v1", "served": True, "storage": True, "schema": _schema(kind)}])


async def _applied(running: Live, version: str, manager: str, spec: JsonObject, **more: Any) -> Any:
    manifest = {
        "apiVersion": f"apiextensions.k8s.io/{version}",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": _NAME},
        "spec": spec,
    }
    path = f"{_PATH.format(version)}?fieldManager={manager}"
    return await running.ask("PATCH", path, manifest, kind=APPLY, **more)


async def _managers(running: Live) -> dict[str, str]:
    crd = await running.ask("GET", _PATH.format("v1"))
    return {e["manager"]: e["apiVersion"].rpartition("/")[2] for e in crd["metadata"]["managedFields"]}


async def test_v1beta1_applier_stays_owner_after_v1_updates(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        await _applied(running, "v1beta1", "old", _v1beta1("string"))
        await running.until("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", lambda _, o: "status" in o)
        assert (await _managers(running))["old"] == "v1beta1"
        conflict = await _applied(running, "v1", "new", _v1("integer"), expect=409)
        assert conflict["details"]["causes"] == [
            {
                "reason": "FieldManagerConflict",
                "message": 'conflict with "old"',
                "field": ".spec.validation.openAPIV3Schema.properties.spec.properties.size.type",
            }
        ]


async def test_v1_applier_stays_owner_after_v1beta1_updates(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        await _applied(running, "v1", "new", _v1("string"))
        conflict = await _applied(running, "v1beta1", "old", _v1beta1("integer"), expect=409)
        assert [cause["field"] for cause in conflict["details"]["causes"]] == [".spec.versions"]
        assert (await _managers(running))["new"] == "v1"


def _unrepresentable(**more: Any) -> JsonObject:
    """Return a v1beta1 CRD whose `version` is not its first one, which v1 cannot say."""
    versions = [{"name": "v2", "served": True, "storage": True}, {"name": "v1", "served": True, "storage": False}]
    return {"metadata": {"name": _NAME}, "spec": {**_v1beta1("string"), "versions": versions, **more}}


async def test_unknown_fields_are_reported_before_invalid_ones(tmp_path: Path) -> None:
    async with live(tmp_path, runtime_config=_BETA) as running:
        collection = _PATH.format("v1beta1").rpartition("/")[0]
        body = _unrepresentable(unknown=1)
        strict = await running.ask("POST", f"{collection}?fieldValidation=Strict", body, expect=400)
        assert strict["message"].endswith('strict decoding error: unknown field "spec.unknown"')
        invalid = await running.ask("POST", collection, body, expect=422)
        assert [cause["field"] for cause in invalid["details"]["causes"]] == ["spec.version"]


async def test_moved_storage_version_is_no_further_error(tmp_path: Path) -> None:
    async with live(tmp_path, runtime_config=_BETA) as running:
        body = {"metadata": {"name": _NAME}, "spec": _v1beta1("string")}
        path = _PATH.format("v1beta1")
        await running.ask("POST", path.rpartition("/")[0], body)
        patch = {"spec": {"versions": _unrepresentable()["spec"]["versions"]}}
        invalid = await running.ask("PATCH", path, patch, kind=MERGE, expect=422)
        assert [cause["field"] for cause in invalid["details"]["causes"]] == ["spec.version"]
        await running.ask("PATCH", path, {"spec": {"version": "v2", **patch["spec"]}}, kind=MERGE)
        assert (await running.ask("GET", path))["status"]["storedVersions"] == ["v1", "v2"]
