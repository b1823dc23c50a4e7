"""The effects of a CRD change on real objects, counted: invalid, lost fields, other defaults, failed conversions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polykind.contract import JsonObject, copy_json
from polykind.declare.conversions import ConversionError, describe_object
from polykind.evolution.effect_totals import ObjectTotals, without_values
from polykind.evolution.object_effects import SchemaTransition, version_schemas
from polykind.toolkit.crd_versions import CRD, CRDVersion, RejectedError, accept_converted

Convert = Callable[[JsonObject, str], Any]
"""A function that converts an object to an apiVersion. It may change its argument."""


class ObjectCheck:
    """Applies the change of one CRD to objects, one after the other, and counts the effects."""

    def __init__(
        self, old: JsonObject | None, new: JsonObject, convert: Convert | None = None, new_crd: CRD | None = None
    ) -> None:
        """`old` and `new` are decoded CRDs. With `convert`, objects are converted to all served versions of `new_crd`.

        Without `old`, only the new schemas are checked.
        """
        self.totals = ObjectTotals()
        self._old = version_schemas(old) if old is not None else {}
        self._new = version_schemas(new)
        self._served = {entry["name"] for entry in new["spec"]["versions"] if entry.get("served")}
        self._transitions: dict[str, SchemaTransition] = {}
        self._convert, self._crd = convert, new_crd

    def add(self, obj: JsonObject) -> None:
        """Count the effects on one object. The object may be changed."""
        totals = self.totals
        totals.objects += 1
        version = str(obj["apiVersion"]).rpartition("/")[2]
        if version not in self._served:
            totals.not_served += 1
            totals.add("not-served", version, f"{version} is not served by the new CRD", describe_object(obj))
            return
        transition = self._transitions.get(version)
        if transition is None:
            new = self._new[version]
            transition = self._transitions[version] = SchemaTransition(self._old.get(version, new), new)
            if self._old:
                transition.old.schema.compile_programs()
            new.schema.compile_programs()
        original = copy_json(obj) if self._convert is not None else None
        effects = transition.effects(obj)
        totals.add_effects(version, effects, describe_object(obj))
        if original is not None:
            self._add_conversions(version, original)

    def _add_conversions(self, version: str, obj: JsonObject) -> None:
        assert self._crd is not None
        failed = False
        try:
            admitted, _ = self._crd.versions[version].admit(obj)
        except RejectedError:
            return
        for target in self._crd.versions.values():
            if target.name == version or not (target.served or target.storage):
                continue
            message = self._conversion_error(admitted, target)
            if message:
                failed = True
                pair, text = f"{version} to {target.name}", without_values(message)
                self.totals.add("unconvertible", pair, text, describe_object(obj), message)
        self.totals.unconvertible += failed

    def _conversion_error(self, obj: JsonObject, target: CRDVersion) -> str:
        assert self._convert is not None
        try:
            out = self._convert(copy_json(obj), target.api_version)
            if not isinstance(out, dict):
                return f"the converter returned {type(out).__name__}, not an object"
            if out.get("apiVersion") == obj["apiVersion"]:
                out["apiVersion"] = target.api_version
            accept_converted(obj, out, target)
        except (ConversionError, RejectedError) as error:
            return str(error)
        except (Exception, SystemExit) as error:
            return f"{type(error).__name__}: {error}"
        return ""
