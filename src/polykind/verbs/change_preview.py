"""Warnings about a dry run of a CRD update: what the change breaks, and what it does to the stored objects.

kube-apiserver answers a dry run without such warnings. They are the findings of `polykind check`. Ordinary writes do
not compute them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from polykind.apis.apiextensions import crd_codec
from polykind.cache.cached_object import CachedObject
from polykind.contract import JsonObject
from polykind.errors import APIError
from polykind.evolution.change_finding import ChangeFinding, Severity
from polykind.evolution.crd_checks import check_release
from polykind.evolution.effect_totals import ObjectTotals
from polykind.evolution.object_effects import SchemaTransition, version_schemas
from polykind.operations.operation import Operation

_SECONDS: Final = 1.0
"""The time for the stored objects of a CRD. Objects that are not reached in this time are not checked."""
_CHUNK: Final = 100
"""The number of objects that one computation in a worker thread checks."""
_MAX_WARNINGS: Final = 14
_MAX_LENGTH: Final = 250
"""kube-apiserver truncates warnings to 256 characters if all of them together exceed 4096 characters."""
_PHRASES: Final = {"invalid": "become invalid", "lost": "lose a field", "changed": "change by a default"}


async def warn_about_change(op: Operation, new: JsonObject, old: JsonObject) -> None:
    """Send the findings about a CRD update to the client as warnings. Both CRDs have the request's version."""
    before, after = await op.lane.run_in_worker(lambda: (_canonical(old), _canonical(new)))
    if before["spec"] == after["spec"]:
        return
    findings = await op.lane.run_in_worker(lambda: check_release(before, after))
    texts = await _object_warnings(op, before, after)
    serious = [finding for finding in findings if finding.severity > Severity.INFO]
    room = max(1, _MAX_WARNINGS - len(texts))
    texts += [_describe(finding) for finding in serious[:room]]
    if len(serious) > room:
        texts.append(f"{len(serious) - room} more findings: run polykind check with the old and the new CRD")
    for text in texts:
        op.notes.warn(" ".join(text.split())[:_MAX_LENGTH])


def _canonical(crd: JsonObject) -> JsonObject:
    api = str(crd.get("apiVersion")).rpartition("/")[2]
    return crd_codec.decode(crd, "v1beta1", False, validate=False)[0] if api == "v1beta1" else crd


def _describe(finding: ChangeFinding) -> str:
    version = f" {finding.version}" if finding.version else ""
    return f"{finding.severity.label}:{version} {finding.message} [{finding.trap}]"


async def _object_warnings(op: Operation, before: JsonObject, after: JsonObject) -> list[str]:
    """Return warnings about stored objects. Check as many of them as `_SECONDS` allows."""
    spec = before["spec"]
    resource = op.backend.registry.resource(spec["group"], spec["names"]["plural"])
    if resource is None:
        return []
    objects = resource.cache.unordered()
    check = _StoredObjectCheck(before, after)
    deadline = time.monotonic() + _SECONDS
    for start in range(0, len(objects), _CHUNK):
        if time.monotonic() >= deadline:
            break
        chunk = objects[start : start + _CHUNK]
        await op.lane.run_in_worker(check.add, chunk)
    return check.warnings(len(objects))


class _StoredObjectCheck:
    """Counts the effects of a CRD change on stored objects."""

    def __init__(self, before: JsonObject, after: JsonObject) -> None:
        self._totals = ObjectTotals()
        old, new = version_schemas(before), version_schemas(after)
        self._transitions = {name: SchemaTransition(schema, new[name]) for name, schema in old.items() if name in new}

    def add(self, objects: Sequence[CachedObject]) -> None:
        totals = self._totals
        for cached in objects:
            totals.objects += 1
            transition = self._transitions.get(cached.version)
            if transition is None:
                continue
            try:
                effects = transition.effects(cached.decode())
            except APIError:
                # The stored bytes are damaged. The change has no effect on that.
                continue
            totals.add_effects(cached.version, effects, cached.key)

    def warnings(self, stored: int) -> list[str]:
        totals = self._totals
        counts = {"invalid": totals.invalid, "lost": totals.lost, "changed": totals.changed}
        out = []
        for effect, count in counts.items():
            groups = [group for group in totals.groups.values() if group.effect == effect]
            if count and groups:
                largest = max(groups, key=lambda group: group.count)
                example = f"{largest.examples[0].partition(':')[0]}: {largest.path}"
                out.append(f"{count} of {totals.objects} stored objects {_PHRASES[effect]}, for example {example}")
        if totals.objects < stored:
            out.append(f"only {totals.objects} of {stored} stored objects were checked in the time of a dry run")
        return out
