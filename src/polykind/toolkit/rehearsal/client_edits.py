"""Edits that an old client makes: it reads an object, changes one field, and writes the object back."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, Literal, NamedTuple

from polykind.contract import JsonObject, copy_json
from polykind.toolkit.crd_versions import CRDVersion
from polykind.toolkit.proving.choices import GenerationError, RandomChoices
from polykind.toolkit.proving.object_diff import Path, leaf_paths
from polykind.toolkit.proving.object_generator import ObjectGenerator

Method = Literal["PUT", "PATCH", "apply"]
METHODS: tuple[Method, ...] = ("PUT", "PATCH", "apply")
TOUCHED = "rehearsal.polykind.dev/touched"
"""An annotation that a client sets to write an object without changing a field. Comparisons ignore it."""
_EDITED = "rehearsal.polykind.dev/edited"
_IDENTITY = ("apiVersion", "kind")


class Edit(NamedTuple):
    """A change of one field."""

    path: Path
    value: Any
    original: Any
    """The value before the edit, or None for an annotation that the edit adds."""

    def applied(self, obj: JsonObject, *, undo: bool = False) -> JsonObject:
        """Return a copy of an object with the edit, or with the original value if `undo` is true."""
        out: JsonObject = copy_json(obj)
        _set(out, self.path, self.original if undo else self.value)
        return out


def choose_edit(version: CRDVersion, obj: JsonObject, number: int, method: Method) -> Edit:
    """Return an edit after which the object is still valid. Different numbers choose different fields.

    If no field can be edited, the edit adds an annotation. Apply edits no list items, because an applied list without
    keys replaces the whole list.
    """
    leaves = [
        path
        for path in leaf_paths({k: v for k, v in obj.items() if k not in (*_IDENTITY, "metadata", "status")})
        if path and (method != "apply" or not any(isinstance(step, int) for step in path))
    ]
    for offset in range(len(leaves)):
        path = leaves[(number + offset) % len(leaves)]
        original = _get(obj, path)
        for value in _other_values(original, _schema_at(version.openapi, path)):
            edit = Edit(path, value, original)
            if not version.validation_errors(edit.applied(obj)):
                return edit
    return annotation_edit()


def annotation_edit() -> Edit:
    """Return an edit that adds an annotation, which every object accepts."""
    return Edit(("metadata", "annotations", _EDITED), "true", None)


def filled(version: CRDVersion, obj: JsonObject, seed: int) -> JsonObject:
    """Return a copy of an object with values for the fields that it lacks, as far as the object stays valid.

    A client of a new version sets fields that an old version does not have.
    """
    generator, choices = ObjectGenerator(version), RandomChoices(Random(seed))  # noqa: S311
    out: JsonObject = copy_json(obj)
    for path in list(_missing_fields(version.openapi, obj)):
        try:
            value = generator.value(choices, _schema_at(version.openapi, path))
        except GenerationError:
            continue
        candidate: JsonObject = copy_json(out)
        _set(candidate, path, value)
        candidate, unknown = version.admit(candidate)
        if not unknown and not version.validation_errors(candidate):
            out = candidate
    return out


def _missing_fields(schema: JsonObject, value: JsonObject, path: Path = ()) -> Iterator[Path]:
    """Yield the paths of declared fields that an object lacks, without metadata and status. Do not enter lists."""
    for name, below in (schema.get("properties") or {}).items():
        if not path and name in (*_IDENTITY, "metadata", "status"):
            continue
        if name not in value:
            if not path and below.get("properties"):
                yield from _missing_fields(below, {}, (*path, name))
            else:
                yield (*path, name)
        elif isinstance(value[name], dict):
            yield from _missing_fields(below, value[name], (*path, name))


def touched(obj: JsonObject, text: str) -> JsonObject:
    """Return a copy of an object with the annotation TOUCHED."""
    out: JsonObject = copy_json(obj)
    _set(out, ("metadata", "annotations", TOUCHED), text)
    return out


def merge_patch(obj: JsonObject, edit: Edit, *, undo: bool = False) -> JsonObject:
    """Return the JSON merge patch of an edit, with the object's resourceVersion as a precondition."""
    changed = edit.applied(obj, undo=undo)
    out: JsonObject = {"metadata": {"resourceVersion": obj["metadata"]["resourceVersion"]}}
    target, source = out, changed
    for at, step in enumerate(edit.path):
        assert isinstance(step, str)
        last = at == len(edit.path) - 1 or isinstance(edit.path[at + 1], int)
        if last:
            # A merge patch replaces a list as a whole, and removes a field by null.
            target[step] = source.get(step)
            break
        target, source = target.setdefault(step, {}), source.get(step) or {}
    return out


def apply_configuration(obj: JsonObject, edit: Edit, *, undo: bool = False) -> JsonObject:
    """Return the configuration that a client applies: the object's identity and the edited field."""
    metadata = {k: v for k, v in obj["metadata"].items() if k in ("name", "namespace")}
    out: JsonObject = {**{k: obj[k] for k in _IDENTITY}, "metadata": metadata}
    value = edit.original if undo else edit.value
    if value is not None:
        _set(out, edit.path, value)
    return out


def _other_values(value: Any, schema: JsonObject) -> Iterator[Any]:
    """Yield values for a field that differ from its current value, the most ordinary first."""
    yield from (other for other in schema.get("enum") or () if other != value)
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value - 1)
    elif isinstance(value, float):
        yield from (value + 0.5, value - 0.5)
    elif isinstance(value, str):
        yield from (f"{value}x", value[:-1], f"{value[:-1]}0")


def _schema_at(schema: JsonObject, path: Path) -> JsonObject:
    for step in path:
        if isinstance(step, int):
            below = schema.get("items")
        else:
            additional = schema.get("additionalProperties")
            below = (schema.get("properties") or {}).get(step) or (additional if isinstance(additional, dict) else None)
        if not isinstance(below, dict):
            return {}
        schema = below
    return schema


def _get(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def _set(obj: JsonObject, path: Path, value: Any) -> None:
    """Set a field and create its parents. None removes a field."""
    target: Any = obj
    for step in path[:-1]:
        target = target.setdefault(step, {}) if isinstance(target, dict) else target[step]
    last = path[-1]
    if value is None and isinstance(target, dict):
        target.pop(last, None)
        if not target and path[-2:-1] == ("annotations",):
            obj["metadata"].pop("annotations", None)
    else:
        target[last] = value
