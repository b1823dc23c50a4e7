"""The effects of a schema change on single objects: invalid, lost fields, other defaults."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from polykind.contract import JsonObject, copy_json
from polykind.errors import APIError
from polykind.schema import CompiledSchema
from polykind.schema.node import META_KEYS

if TYPE_CHECKING:
    from polykind.cel import Rules

_MAX_PATHS = 20
"""The maximum number of paths that are reported for one object."""


class ObjectEffects(NamedTuple):
    """The effects of a schema change on one object."""

    errors: list[str]
    """The reasons why the object is invalid at the new schema, although it is valid at the old one."""
    lost: list[str]
    """The paths of fields that the new schema prunes."""
    changed: list[str]
    """The paths of fields that another default changes or adds."""
    was_invalid: bool = False
    """True if the object is invalid at the old schema, too."""

    @property
    def none(self) -> bool:
        return not (self.errors or self.lost or self.changed)


class VersionSchema:
    """The schema and the CEL rules of one version."""

    def __init__(self, openapi: JsonObject, *, preserve_unknown: bool = False) -> None:
        self.openapi = openapi
        self.schema = CompiledSchema(openapi or None, preserve_unknown=preserve_unknown)

    @cached_property
    def rules(self) -> Rules | None:
        """The compiled CEL rules, or None if the schema has none."""
        from polykind.cel import compile_schema

        return compile_schema(self.openapi) if self.openapi else None

    def normalize(self, obj: JsonObject) -> tuple[JsonObject, str]:
        """Prune and default an object in place. Return it, and the error if that is impossible."""
        try:
            self.schema.prune_and_default_stored(obj)
        except APIError as error:
            return obj, error.message
        return obj, ""

    def errors(self, obj: JsonObject) -> list[str]:
        """Return the validation errors of a normalized object, without those of its metadata."""
        try:
            errors = self.schema.validate(obj)
            if not errors and self.rules is not None:
                errors = self.rules.validate(obj, None)[0]
        except APIError as error:
            return [error.message]
        return [str(error) for error in errors]


def version_schemas(crd: JsonObject) -> dict[str, VersionSchema]:
    """Return the schemas of all versions of a decoded v1 CRD, by name."""
    preserve = bool(crd["spec"].get("preserveUnknownFields"))
    return {
        entry["name"]: VersionSchema(
            (entry.get("schema") or {}).get("openAPIV3Schema") or {}, preserve_unknown=preserve
        )
        for entry in crd["spec"]["versions"]
    }


class SchemaTransition:
    """The change of one version's schema, applied to objects."""

    def __init__(self, old: VersionSchema, new: VersionSchema) -> None:
        self.old, self.new = old, new

    def effects(self, obj: JsonObject) -> ObjectEffects:
        """Return the effects on one object of this version. The object may be changed."""
        before, old_error = self.old.normalize(copy_json(obj))
        after, new_error = self.new.normalize(obj)
        errors = [new_error] if new_error and not old_error else self.new.errors(after)
        was_invalid = bool(errors) and bool(old_error or self.old.errors(before))
        lost: list[str] = []
        changed: list[str] = []
        if before != after:
            for kind, path in differing_paths(before, after):
                (lost if kind == "lost" else changed).append(path)
        return ObjectEffects([] if was_invalid else errors[:_MAX_PATHS], lost, changed, was_invalid)


def differing_paths(before: JsonObject, after: JsonObject) -> list[tuple[str, str]]:
    """Return the paths at which two normalized objects differ, each with `lost` or `changed`."""
    out: list[tuple[str, str]] = []
    for key in dict.fromkeys((*before, *after)):
        if key not in META_KEYS:
            for item in _differences(before.get(key, _MISSING), after.get(key, _MISSING), key):
                out.append(item)
                if len(out) >= _MAX_PATHS:
                    return out
    return out


_MISSING: Any = object()


def _differences(before: Any, after: Any, path: str) -> Iterator[tuple[str, str]]:
    if before is after or (before is not _MISSING and after is not _MISSING and before == after):
        return
    if after is _MISSING:
        yield "lost", path
    elif isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            yield from _differences(before.get(key, _MISSING), after.get(key, _MISSING), f"{path}.{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for item, other in zip(before, after, strict=True):
            yield from _differences(item, other, f"{path}[*]")
    else:
        yield "changed", path
