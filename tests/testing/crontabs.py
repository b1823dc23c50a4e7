"""CronTabs of two versions and their conversions, for tests of the fixtures."""

from __future__ import annotations

from typing import Any

from polykind.contract import JsonObject
from polykind.convert import Conversions

GROUP = "stable.example.com"
COLLECTION = f"/apis/{GROUP}/v1/namespaces/default/crontabs"
CLUSTER_WIDE = "clusters.stable.example.com"

crontabs = Conversions(f"CronTab.{GROUP}")


@crontabs.step("v1", "v2")
def up(obj: JsonObject) -> None:
    if "cronSpec" in obj.get("spec", {}):
        obj["spec"]["schedule"] = obj["spec"].pop("cronSpec")


@crontabs.step("v2", "v1")
def down(obj: JsonObject) -> None:
    if "schedule" in obj.get("spec", {}):
        obj["spec"]["cronSpec"] = obj["spec"].pop("schedule")


def _version(name: str, field: str, *, storage: bool) -> JsonObject:
    loose: JsonObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    spec: JsonObject = {"type": "object", "properties": {field: {"type": "string", "minLength": 1}}}
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": loose}}},
        "subresources": {"status": {}},
    }


DEFINITION: JsonObject = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"crontabs.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "crontabs", "kind": "CronTab"},
        "versions": [_version("v1", "cronSpec", storage=True), _version("v2", "schedule", storage=False)],
    },
}


def crontab(name: str = "mine", schedule: str = "@daily", **metadata: Any) -> JsonObject:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "CronTab",
        "metadata": {"name": name, **metadata},
        "spec": {"cronSpec": schedule},
    }
