"""A CronTab CRD, lossless conversions, and faulty conversions that each break one property."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

from polykind.convert import Conversions, put, take
from polykind.declare.library import Library
from polykind.toolkit.crd_versions import CRD
from polykind.toolkit.proving.proof_run import ProofRun
from tests.toolkit.crds import crd_manifest

KIND = "CronTab.stable.example.com"
Object = dict[str, Any]
Change = Callable[[Object], Any]


def manifest(older: Object | None = None, newer: Object | None = None) -> Object:
    """Return a CRD with `cronSpec` and `host` in v1, and `schedule`, `timeZone` and `hosts` in v2, which is stored."""
    text, replicas = {"type": "string"}, {"type": "integer", "minimum": 0, "default": 1}
    fields = (
        {"cronSpec": text, "host": text, "replicas": replicas, **(older or {})},
        {
            "schedule": text,
            "timeZone": text,
            "hosts": {"type": "array", "items": text},
            "replicas": replicas,
            **(newer or {}),
        },
    )
    versions = [
        {
            "name": name,
            "served": True,
            "storage": name == "v2",
            "schema": {
                "openAPIV3Schema": {
                    "type": "object",
                    "required": ["spec"],
                    "properties": {"spec": {"type": "object", "properties": properties}},
                }
            },
        }
        for name, properties in zip(("v1", "v2"), fields, strict=True)
    ]
    names = {"plural": "crontabs", "kind": "CronTab"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "crontabs.stable.example.com"},
        "spec": {"group": "stable.example.com", "scope": "Namespaced", "names": names, "versions": versions},
    }


CRONTAB_CRD = CRD(manifest())


def down(obj: Object) -> None:
    """Convert v2 to v1 and stash what v1 cannot represent."""
    spec = obj.get("spec")
    if spec is None:
        return
    if "schedule" in spec:
        spec["cronSpec"] = spec.pop("schedule")
    hosts, zone = spec.pop("hosts", None), spec.pop("timeZone", None)
    if hosts:
        spec["host"] = hosts[0]
    if hosts is not None:
        put(obj, "hosts", hosts, beside=["spec.host"])
    if zone is not None:
        put(obj, "timeZone", zone)


def up(obj: Object) -> None:
    """Convert v1 to v2."""
    spec = obj.get("spec")
    if spec is None:
        return
    if "cronSpec" in spec:
        spec["schedule"] = spec.pop("cronSpec")
    hosts, zone = take(obj, "hosts"), take(obj, "timeZone")
    host = spec.pop("host", None)
    if hosts is not None:
        spec["hosts"] = hosts
    elif host is not None:
        spec["hosts"] = [host]
    if zone is not None:
        spec["timeZone"] = zone


def bare_down(obj: Object) -> None:
    """Convert v2 to v1 like `down`, but without a stash."""
    down(obj)
    (obj.get("metadata") or {}).get("annotations", {}).pop("stable.example.com/conversion-stash", None)


def conversions(there: Change = down, back: Change = up, loses: dict[str, str] | None = None) -> Conversions:
    out = Conversions(KIND)
    out.add("v2", "v1", there, loses=loses)
    out.add("v1", "v2", back)
    return out


def after(first: Change, second: Change) -> Change:
    def both(obj: Object) -> None:
        first(obj)
        second(obj)

    return both


def proof_run(converter: Any, crd: CRD = CRONTAB_CRD, **options: Any) -> ProofRun:
    return ProofRun(crd, Library("converters:it", converter), **options)


def failures(converter: Any, crd: CRD = CRONTAB_CRD, **options: Any) -> dict[str, set[str]]:
    """Return the failed properties with their pairs."""
    out: dict[str, set[str]] = {}
    run = proof_run(converter, crd, **options)
    for name, pair in run.cases():
        if run.finding(name, pair) is not None:
            out.setdefault(name, set()).add(":".join(pair))
    return out


def stale_stash() -> Conversions:
    """Return conversions that stash the whole v2 object and restore it over any edit."""

    def keep(obj: Object) -> None:
        stashed = copy.deepcopy(obj.get("spec", {}))
        bare_down(obj)
        put(obj, "all", stashed)

    def restore(obj: Object) -> None:
        stashed = take(obj, "all")
        up(obj)
        if stashed is not None:
            obj["spec"] = stashed

    return conversions(keep, restore)


def expects_host() -> Conversions:
    """Return conversions that restore into a field that a client may have removed."""

    def keep(obj: Object) -> None:
        hosts = obj.get("spec", {}).get("hosts")
        down(obj)
        if hosts is not None:
            put(obj, "hosts", hosts)

    def restore(obj: Object) -> None:
        hosts = take(obj, "hosts")
        if hosts:
            hosts[0] = obj["spec"].pop("host")
        up(obj)
        if hosts is not None:
            obj["spec"]["hosts"] = hosts

    return conversions(keep, restore)


def forgets_on_edit() -> Conversions:
    """Return conversions that discard the stash after any edit."""
    name = "example.com/zone"

    def keep(obj: Object) -> None:
        zone = obj.get("spec", {}).pop("timeZone", None)
        down(obj)
        if zone is not None:
            obj.setdefault("metadata", {}).setdefault("annotations", {})[name] = json.dumps([zone, obj["spec"]])

    def restore(obj: Object) -> None:
        annotations = obj.get("metadata", {}).get("annotations", {})
        zone, spec = json.loads(annotations.pop(name, "[null, null]"))
        untouched = spec == obj.get("spec")
        up(obj)
        if zone is not None and untouched:
            obj["spec"]["timeZone"] = zone
        if annotations == {}:
            obj.get("metadata", {}).pop("annotations", None)

    return conversions(keep, restore)


def keeps_stash() -> Conversions:
    """Return conversions that never remove the stash of the time zone, and restore it over a later edit."""
    name = "example.com/zone"

    def keep(obj: Object) -> None:
        zone = (obj.get("spec") or {}).pop("timeZone", None)
        down(obj)
        notes = obj.setdefault("metadata", {}).setdefault("annotations", {})
        if zone is not None:
            notes.setdefault(name, zone)
        if not notes:
            del obj["metadata"]["annotations"]

    def restore(obj: Object) -> None:
        up(obj)
        zone = ((obj.get("metadata") or {}).get("annotations") or {}).get(name)
        if zone is not None and "spec" in obj:
            obj["spec"]["timeZone"] = zone

    return conversions(keep, restore)


def grows(obj: Object) -> None:
    """Append to an annotation."""
    notes = obj.setdefault("metadata", {}).setdefault("annotations", {})
    notes["example.com/history"] = notes.get("example.com/history", "") + "v1 "


def disagrees() -> Conversions:
    """Return conversions of three versions in which the direct path exchanges two values."""
    out = Conversions(KIND)

    def unchanged(obj: Object) -> None:
        return None

    def exchanged(obj: Object) -> None:
        spec = obj.get("spec") or {}
        if spec.get("mode") in ("on", "off"):
            spec["mode"] = "off" if spec["mode"] == "on" else "on"

    for origin, goal in (("v1", "v2"), ("v2", "v1"), ("v2", "v3"), ("v3", "v2")):
        out.add(origin, goal, unchanged)
    out.add("v1", "v3", exchanged)
    out.add("v3", "v1", exchanged)
    return out


def remembers() -> Conversions:
    """Return a converter that annotates each object with the previous one."""
    last: list[str] = [""]

    def note(obj: Object) -> None:
        before, last[0] = last[0], obj.get("metadata", {}).get("name", "")
        obj.setdefault("metadata", {}).setdefault("annotations", {})["example.com/before"] = before

    return conversions(after(down, note))


def delays() -> Callable[[Object, str], Object]:
    """Return a converter that returns the previous object if it is similar."""
    good, pending = conversions(), dict[str, Object]()

    def convert(obj: Object, to: str) -> Object:
        name = f"{obj.get('metadata', {}).get('name', '')}"
        if name.endswith("-twin"):
            pending["twin"] = copy.deepcopy(obj)
        if name.endswith("-lean") and "twin" in pending:
            return good.convert(pending.pop("twin"), to)
        return good.convert(obj, to)

    return convert


def shares() -> Conversions:
    """Return a converter that shares equal lists between objects."""
    made: dict[str, list[str]] = {}

    def reuse(obj: Object) -> None:
        spec = obj.get("spec") or {}
        if "hosts" in spec:
            spec["hosts"] = made.setdefault(repr(spec["hosts"]), spec["hosts"])

    return conversions(back=after(up, reuse))


def counts() -> Conversions:
    dice = random.Random(0)

    def roll(obj: Object) -> None:
        obj.setdefault("metadata", {}).setdefault("annotations", {})["example.com/roll"] = str(dice.random())

    return conversions(after(down, roll))


def off_schema(obj: Object) -> None:
    if "spec" in obj:
        obj["spec"]["extra"] = 1


def raises(obj: Object) -> None:
    if obj.get("spec", {}).get("replicas", 0) > 3:
        raise ValueError("too many")


def needs_spec(obj: Object) -> None:
    _ = obj["spec"]


def bumps_generation(obj: Object) -> None:
    if "generation" in obj.get("metadata", {}):
        obj["metadata"]["generation"] += 1


def renames(obj: Object) -> None:
    if "name" in obj.get("metadata", {}):
        obj["metadata"]["name"] += "-v1"


def forgets_debug(obj: Object) -> None:
    (obj.get("spec") or {}).pop("debug", None)


THREE = CRD(crd_manifest(*[{"properties": {"mode": {"type": "string", "enum": ["on", "off"]}}}] * 3))
"""A CRD with three equal versions."""
WIDER = CRD(manifest(older={"debug": {"type": "string"}}))
"""A CRD whose v1 has a field that its v2 does not have."""
STRICTER = CRD(manifest(older={"cronSpec": {"type": "string", "maxLength": 5}}))
"""A CRD whose v1 rejects values that its v2 accepts."""
