"""A family of converters: one CRD, one correct converter, and converters that each have one bug."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from polykind.convert import Conversions

Object = dict[str, Any]
Change = Callable[[Object], Any]
TEXT: Object = {"type": "string"}
NUMBER: Object = {"type": "integer"}
FLAG: Object = {"type": "boolean"}


def array(items: Object, **more: Any) -> Object:
    return {"type": "array", "items": items, **more}


def mapping(values: Object) -> Object:
    return {"type": "object", "additionalProperties": values}


def fields(**properties: Object) -> Object:
    return {"type": "object", "properties": properties}


class SeededBug(NamedTuple):
    """A converter with one bug. `level` is easy, medium or hard."""

    name: str
    level: str
    converter: Any


class Family:
    """A CRD with its correct conversions between two versions, `down` from the newer one and `up` from the older."""

    def __init__(self, kind: str, versions: dict[str, Object], down: Change, up: Change) -> None:
        self.kind = kind
        self.versions = list(versions)
        self.manifest = manifest(kind, versions)
        self.bugs: list[SeededBug] = []
        self.correct: dict[str, Any] = {}
        self._down, self._up = down, up
        self.correct[f"{kind.partition('.')[0]} with plain functions"] = self.conversions()

    def conversions(self, down: Change | None = None, up: Change | None = None, **options: Any) -> Conversions:
        out = Conversions(self.kind)
        old, new = self.versions[0], self.versions[-1]
        out.add(new, old, down or self._down, **options)
        out.add(old, new, up or self._up)
        return out

    def before_down(self, level: str) -> Callable[[Change], Change]:
        return lambda change: self._add(change, level, down=_both(change, self._down))

    def after_down(self, level: str) -> Callable[[Change], Change]:
        return lambda change: self._add(change, level, down=_both(self._down, change))

    def before_up(self, level: str) -> Callable[[Change], Change]:
        return lambda change: self._add(change, level, up=_both(change, self._up))

    def after_up(self, level: str) -> Callable[[Change], Change]:
        return lambda change: self._add(change, level, up=_both(self._up, change))

    def down(self, level: str) -> Callable[[Change], Change]:
        return lambda change: self._add(change, level, down=change)

    def up(self, level: str) -> Callable[[Change], Change]:
        return lambda change: self._add(change, level, up=change)

    def converter(self, level: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
        """Register the converter that a function returns."""

        def register(make: Callable[[], Any]) -> Callable[[], Any]:
            self.bugs.append(SeededBug(make.__name__, level, make()))
            return make

        return register

    def _add(self, change: Change, level: str, **functions: Change) -> Change:
        self.bugs.append(SeededBug(change.__name__, level, self.conversions(**functions)))
        return change


def _both(first: Change, second: Change) -> Change:
    def both(obj: Object) -> None:
        first(obj)
        second(obj)

    return both


def spec(obj: Object) -> Object:
    out: Object = obj["spec"] if isinstance(obj.get("spec"), dict) else {}
    return out


def notes_of(obj: Object) -> Object:
    out: Object = obj.setdefault("metadata", {}).setdefault("annotations", {})
    return out


def drop_empty_annotations(obj: Object) -> None:
    if not (obj.get("metadata") or {}).get("annotations", True):
        del obj["metadata"]["annotations"]


def rename(holder: Object, old: str, new: str) -> None:
    if old in holder:
        holder[new] = holder.pop(old)


def move(holder: Object, old: str, parent: str, new: str) -> None:
    """Move a field into a nested object, which is created if needed."""
    if old in holder:
        holder.setdefault(parent, {})[new] = holder.pop(old)


def lift(holder: Object, parent: str, old: str, new: str) -> None:
    """Move a field out of a nested object, which is removed if it becomes empty."""
    inner = holder.get(parent)
    if isinstance(inner, dict) and old in inner:
        holder[new] = inner.pop(old)
        if not inner:
            del holder[parent]


def manifest(kind: str, versions: dict[str, Object], storage: str = "") -> Object:
    name, _, group = kind.partition(".")
    plural = f"{name.lower()}s"
    stored = storage or list(versions)[-1]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": name},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": version == stored,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
                }
                for version, properties in versions.items()
            ],
        },
    }
