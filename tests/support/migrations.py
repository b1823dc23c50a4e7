"""Storage-version migrations for tests: a CRD whose two versions differ, its converter, and waiting for the end."""

from __future__ import annotations

import threading
from typing import Any

from polykind.contract import JsonObject
from tests.support.live import DEFINITIONS, Live
from tests.support.widgets import MERGE

GROUP = "gears.example.com"
NAME = f"gears.{GROUP}"
MIGRATIONS = "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations"
CONVERTER = "tests.support.migrations:turned"
AT_HAND = threading.Event()
"""While this is not set, the converter blocks on objects that are marked heavy."""
AT_HAND.set()
WAITING = threading.Event()
"""Set when the converter has received an object that is marked heavy."""


def turned(obj: JsonObject, to: str) -> JsonObject:
    """Convert a gear: v1 has `teeth`, v2 has `cogs`. Raise for objects that are marked stuck."""
    spec = obj.get("spec") or {}
    if spec.get("heavy") and to.endswith("/v2"):
        WAITING.set()
        AT_HAND.wait(20)
    if spec.get("stuck"):
        raise ValueError("it is stuck")
    old, new = ("teeth", "cogs") if to.endswith("/v2") else ("cogs", "teeth")
    if old in spec:
        spec[new] = spec.pop(old)
    return {**obj, "apiVersion": to}


def gears(storage: str = "v1", *versions: str, converted: bool = True) -> JsonObject:
    """Return the Gear CRD, with both versions unless some are named."""

    def stanza(name: str) -> JsonObject:
        number = "teeth" if name == "v1" else "cogs"
        flags = {flag: {"type": "boolean"} for flag in ("heavy", "stuck")}
        spec = {"type": "object", "properties": {number: {"type": "integer"}, **flags}}
        schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
        return {"name": name, "served": True, "storage": name == storage, "schema": schema}

    spec: JsonObject = {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "gears", "kind": "Gear"},
        "versions": [stanza(name) for name in versions or ("v1", "v2")],
    }
    if converted:
        client = {"url": "https://127.0.0.1:1/"}
        spec["conversion"] = {
            "strategy": "Webhook",
            "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client},
        }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": spec,
    }


def all_gears(version: str = "v1", name: str = "") -> str:
    return f"/apis/{GROUP}/{version}/namespaces/default/gears" + (f"/{name}" if name else "")


def gear(name: str, **spec: Any) -> JsonObject:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Gear", "metadata": {"name": name}, "spec": spec}


def migration(name: str = "m", resource: str = "gears", group: str = GROUP) -> JsonObject:
    return {
        "apiVersion": "storagemigration.k8s.io/v1beta1",
        "kind": "StorageVersionMigration",
        "metadata": {"name": name},
        "spec": {"resource": {"group": group, "resource": resource}},
    }


async def store_at(running: Live, version: str, *versions: str) -> None:
    """Make `version` the storage version of gears."""
    stanzas = gears(version, *versions)["spec"]["versions"]
    await running.ask("PATCH", f"{DEFINITIONS}/{NAME}", {"spec": {"versions": stanzas}}, kind=MERGE)


def condition_of(obj: JsonObject, type_: str) -> tuple[str, str, str]:
    """Return the status, reason and message of a condition."""
    for condition in (obj.get("status") or {}).get("conditions") or ():
        if condition["type"] == type_:
            return condition["status"], condition["reason"], condition["message"]
    return "", "", ""


def over(type_: str, obj: JsonObject) -> bool:
    return "True" in (condition_of(obj, "Succeeded")[0], condition_of(obj, "Failed")[0])


async def ended(running: Live, name: str = "m") -> JsonObject:
    """Wait for the migration to end and return it."""
    event = await running.until(f"{MIGRATIONS}?fieldSelector=metadata.name={name}", over)
    found: JsonObject = event["object"]
    return found


async def stored(running: Live, prefix: str = f"/registry/{GROUP}/gears/") -> dict[str, bytes]:
    return {item.key.rpartition("/")[2]: item.value for item in (await running.server.store.range(prefix)).items}
