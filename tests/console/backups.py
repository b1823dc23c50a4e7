"""Backups: a kind with two versions, and a converter that loses a field of each version and fails for one object."""

from __future__ import annotations

from typing import Any

from polykind.contract import JsonObject
from polykind.convert import Conversions
from tests.console.demo import CRDS, Api

GROUP = "backups.example.com"
CONVERTER = "tests.console.backups:backups"
COLLECTION = f"/apis/{GROUP}/v1/namespaces/default/backups"
OLD_COLLECTION = f"/apis/{GROUP}/v1beta1/namespaces/default/backups"
NAME = f"backups.{GROUP}"

backups = Conversions(f"Backup.{GROUP}")


@backups.step("v1beta1", "v1")
def split_target(obj: Any) -> None:
    spec = obj["spec"]
    spec.pop("verbose", None)
    spec["schedule"] = spec.pop("cron")
    bucket, _, path = spec.pop("target").partition("/")
    spec["bucket"] = bucket
    if path:
        spec["path"] = path
    if "keep" in spec:
        spec["retention"] = {"count": spec.pop("keep")}


@backups.step("v1", "v1beta1")
def join_target(obj: Any) -> None:
    if obj["metadata"]["name"] == "unconvertible":
        raise ValueError("v1beta1 cannot express this backup")
    spec = obj["spec"]
    spec.pop("timeZone", None)
    spec["cron"] = spec.pop("schedule")
    path = spec.pop("path", "")
    spec["target"] = f"{spec.pop('bucket')}/{path}" if path else spec.pop("bucket")
    spec["keep"] = spec.pop("retention", {}).get("count", 14)


def _version(name: str, required: list[str], properties: JsonObject, *, storage: bool, **more: Any) -> JsonObject:
    spec = {"type": "object", "required": required, "properties": properties}
    schema = {"openAPIV3Schema": {"type": "object", "required": ["spec"], "properties": {"spec": spec}}}
    return {"name": name, "served": True, "storage": storage, "schema": schema, **more}


def crd(storage: str = "v1") -> JsonObject:
    """Return the CRD with a storage version."""
    text = {"type": "string"}
    old = {
        "cron": {"type": "string", "description": "When to back up, in five fields."},
        "target": {"type": "string", "description": "Where to, as bucket/path."},
        "keep": {"type": "integer", "minimum": 1, "default": 7, "description": "How many backups are kept."},
        "verbose": {"type": "boolean"},
    }
    count = {"type": "integer", "minimum": 1, "default": 14}
    new = {
        "schedule": {"type": "string", "description": "When to back up, in five fields."},
        "timeZone": {"type": "string", "description": "Where the schedule's hours are counted."},
        "bucket": {"type": "string", "pattern": "^[a-z0-9-]+$"},
        "path": text,
        "retention": {"type": "object", "default": {}, "properties": {"count": count}},
    }
    versions = [
        _version("v1beta1", ["cron", "target"], old, storage=storage == "v1beta1", deprecated=True),
        _version("v1", ["schedule", "bucket"], new, storage=storage == "v1"),
    ]
    names = {"plural": "backups", "singular": "backup", "kind": "Backup", "listKind": "BackupList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": versions},
    }


def backup(name: str, version: str, spec: JsonObject) -> JsonObject:
    """Return a Backup."""
    metadata = {"name": name, "labels": {"team": "shop"}}
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Backup", "metadata": metadata, "spec": spec}


def fill(api: Api) -> None:
    """Create the CRD with backups, some of them stored at the old version."""
    api.define(crd("v1beta1"))
    for name, keep in (("customers", 30), ("mail", 3)):
        spec = {"cron": "30 3 * * *", "target": f"shop-backups/{name}", "keep": keep}
        api.send("POST", OLD_COLLECTION, backup(name, "v1beta1", spec))
    live = api.send("GET", f"{CRDS}/{NAME}")
    release = {**crd("v1"), "metadata": {"name": NAME, "resourceVersion": live["metadata"]["resourceVersion"]}}
    api.send("PUT", f"{CRDS}/{NAME}", release)
    spec = {
        "schedule": "0 3 * * *",
        "timeZone": "Europe/Berlin",
        "bucket": "shop-backups",
        "path": "orders/db",
        "retention": {"count": 7},
    }
    api.send("POST", COLLECTION, backup("orders", "v1", spec))


def next_release() -> JsonObject:
    """Return a CRD that breaks stored objects: a field is removed, a limit tightened, and a field required."""
    release = crd()
    spec = release["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    del spec["properties"]["timeZone"]
    spec["properties"]["retention"]["properties"]["count"] |= {"maximum": 20, "default": 10}
    spec["required"].append("path")
    return release
