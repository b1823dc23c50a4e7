"""Correct converters of many styles. None of them may be reported."""

from __future__ import annotations

import copy
import json
from types import SimpleNamespace
from typing import Any

from polykind.convert import Conversions, put, take
from tests.toolkit.proving.bugs import (
    alerts,
    certificates,
    clusters,
    databases,
    pipelines,
    queues,
    releases,
    routes,
    scalers,
    services,
    sources,
)
from tests.toolkit.proving.bugs.family import (
    NUMBER,
    TEXT,
    Object,
    array,
    drop_empty_annotations,
    fields,
    manifest,
    notes_of,
    rename,
    spec,
)

FAMILIES = {
    "alerts": alerts.FAMILY,
    "certificates": certificates.FAMILY,
    "clusters": clusters.FAMILY,
    "databases": databases.FAMILY,
    "pipelines": pipelines.FAMILY,
    "queues": queues.FAMILY,
    "releases": releases.FAMILY,
    "routes": routes.FAMILY,
    "scalers": scalers.FAMILY,
    "services": services.FAMILY,
    "sources": sources.FAMILY,
}


BUGS = SimpleNamespace(**{bug.name: bug.converter for family in FAMILIES.values() for bug in family.bugs})
"""The converters with bugs by name, for processes that load them as `--converter` does."""


def _whole_spec_stash() -> Conversions:
    """Stash the whole newer spec, and use it only if the older spec was not edited."""
    key = f"{certificates.GROUP}/v1-spec"

    def keep(obj: Object) -> None:
        newer = copy.deepcopy(obj.get("spec"))
        certificates.down(obj)
        take(obj, "empty")
        if newer is not None:
            notes_of(obj)[key] = json.dumps([newer, obj["spec"]])

    def restore(obj: Object) -> None:
        text = ((obj.get("metadata") or {}).get("annotations") or {}).pop(key, None)
        drop_empty_annotations(obj)
        certificates.up(obj)
        if text is not None and "spec" in obj:
            newer, older = json.loads(text)
            again = copy.deepcopy({"apiVersion": "a/b", "spec": newer, "metadata": {}})
            certificates.down(again)
            current = copy.deepcopy(obj)
            certificates.down(current)
            if older == current["spec"]:
                obj["spec"] = newer
            else:
                for name in ("subject", "privateKey", "secretTemplate"):
                    if newer.get(name) == {}:
                        obj["spec"].setdefault(name, {})

    return certificates.FAMILY.conversions(keep, restore)


def _function_of_two_arguments() -> Any:
    good = sources.FAMILY.conversions()
    return lambda obj, to: good.convert(obj, to)


def _async_function() -> Any:
    good = scalers.FAMILY.conversions()

    async def convert(obj: Object, to: str) -> Object:
        return good.convert(obj, to)

    return convert


def _mapping() -> Any:
    kind = databases.FAMILY.kind
    return {(kind, "v1", "v2"): databases.up, (kind, "v2", "v1"): databases.down}


def _lossy_with_acknowledgement() -> Conversions:
    def keep(obj: Object) -> None:
        services.down(obj)
        take(obj, "containers")

    return services.FAMILY.conversions(keep, loses={"spec.containers": "v1alpha1 has one container"})


def _canonicalizing() -> Conversions:
    """Durations lose their form, which is declared."""

    def canonical(obj: Object) -> None:
        sources.down(obj)
        interval = spec(obj).get("interval", "")
        if interval.endswith("m") and interval[:-1].isdecimal() and interval.isascii():
            obj["spec"]["interval"] = f"{60 * int(interval[:-1])}s"

    return sources.FAMILY.conversions(canonical, loses={"spec.interval": "minutes are written as seconds"})


def _stash_by_key() -> Conversions:
    """Stash retries by the content of the rule at the older version, so that moved rules keep them."""

    def keep(obj: Object) -> None:
        rules = copy.deepcopy(spec(obj).get("rules") or [])
        routes.plain_down(obj)
        older = spec(obj).get("rules") or []
        if rules:
            put(obj, "rules", [[json.dumps(old, sort_keys=True), new] for old, new in zip(older, rules, strict=True)])

    def restore(obj: Object) -> None:
        known = take(obj, "rules", [])
        older = [json.dumps(rule, sort_keys=True) for rule in spec(obj).get("rules") or []]
        routes.up(obj)
        for at, text in enumerate(older):
            position = next((number for number, (old, _) in enumerate(known) if old == text), None)
            if position is not None:
                obj["spec"]["rules"][at] = known.pop(position)[1]

    return routes.FAMILY.conversions(keep, restore)


HUB_KIND = "Widget.hub.example.com"
HUB_VERSIONS = {
    "v1": {"spec": fields(size=NUMBER, names=array(TEXT))},
    "v2": {"spec": fields(size=NUMBER, names=array(TEXT), color=TEXT)},
    "v3": {"spec": fields(length=NUMBER, names=array(TEXT), color=TEXT)},
}


def _hub_and_spoke() -> Conversions:
    """All conversions pass through v3, and v1 keeps the color in the stash."""
    out = Conversions(HUB_KIND)

    def v3_to_v1(obj: Object) -> None:
        rename(spec(obj), "length", "size")
        color = spec(obj).pop("color", None)
        if color is not None:
            put(obj, "color", color)

    def v1_to_v3(obj: Object) -> None:
        rename(spec(obj), "size", "length")
        color = take(obj, "color")
        if color is not None and "spec" in obj:
            obj["spec"]["color"] = color

    out.add("v3", "v1", v3_to_v1)
    out.add("v1", "v3", v1_to_v3)
    out.add("v3", "v2", lambda obj: rename(spec(obj), "length", "size"))
    out.add("v2", "v3", lambda obj: rename(spec(obj), "size", "length"))
    return out


def _class_instance() -> Any:
    class Webhook:
        """A converter in the style of a webhook handler: it builds new objects."""

        def handles(self, group: str, kind: str) -> bool:
            return (group, kind) == (alerts.GROUP, "AlertRoute")

        def convert(self, obj: Object, to: str) -> Object:
            out = copy.deepcopy(obj)
            (alerts.up if to.endswith("/v1beta1") else alerts.down)(out)
            out.setdefault("metadata", {})
            return {**out, "apiVersion": to}

    return Webhook()


def _leaves_a_note() -> Conversions:
    """Add an annotation that never changes."""

    def note(obj: Object) -> None:
        databases.down(obj)
        notes_of(obj)["platform.example.com/converted"] = "true"

    return databases.FAMILY.conversions(note)


CORRECT: list[tuple[str, Object, Any]] = [
    *((name, family.manifest, converter) for family in FAMILIES.values() for name, converter in family.correct.items()),
    ("Certificate with a stash of the whole spec", certificates.FAMILY.manifest, _whole_spec_stash()),
    ("Source as a function", sources.FAMILY.manifest, _function_of_two_arguments()),
    ("Scaler as an async function", scalers.FAMILY.manifest, _async_function()),
    ("Database as a mapping", databases.FAMILY.manifest, _mapping()),
    ("Service with an acknowledged loss", services.FAMILY.manifest, _lossy_with_acknowledgement()),
    ("Source with declared canonical intervals", sources.FAMILY.manifest, _canonicalizing()),
    ("Route with a stash by content", routes.FAMILY.manifest, _stash_by_key()),
    ("Widget with hub and spokes", manifest(HUB_KIND, HUB_VERSIONS), _hub_and_spoke()),
    ("AlertRoute as an object", alerts.FAMILY.manifest, _class_instance()),
    ("Database with a constant annotation", databases.FAMILY.manifest, _leaves_a_note()),
]
