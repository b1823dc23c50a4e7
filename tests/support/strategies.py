"""Strategies of built-in kinds, run on objects as clients send them."""

from __future__ import annotations

from polykind.apis import machinery
from polykind.apis.machinery.kinds import Kind
from polykind.contract import JsonObject, copy_json
from polykind.resources.builtin import BuiltinStrategy, load_strategy

UID = "11111111-2222-3333-4444-555555555555"


class StrategyRun:
    """Runs the strategy of a kind on creates and updates, without a server."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.strategy: BuiltinStrategy = load_strategy(kind)

    def decoded(self, obj: JsonObject) -> JsonObject:
        """Return an object with its defaults. The name is `a` if the object has none."""
        metadata = {"name": "a", "namespace": "default", "uid": UID, "resourceVersion": "1"}
        sent = {**obj, "metadata": {**metadata, **obj.get("metadata", {})}}
        found, _ = machinery.decode(copy_json(sent), self.kind, report=False)
        self.strategy.default(found)
        return found

    def created(self, obj: JsonObject) -> JsonObject:
        """Return a new object as it is stored."""
        new = self.decoded(obj)
        self.strategy.prepare_create(new)
        assert not self.strategy.create_errors(new)
        self.strategy.canonicalize(new)
        return new

    def create_errors(self, obj: JsonObject) -> list[str]:
        """Return the errors of a create."""
        new = self.decoded(obj)
        self.strategy.prepare_create(new)
        return [str(error) for error in self.strategy.create_errors(new)]

    def updated(self, old: JsonObject, change: JsonObject) -> JsonObject:
        """Return a stored object after a merge patch."""
        new = self.decoded(merged(old, change))
        new["metadata"]["generation"] = old["metadata"].get("generation", 0)
        self.strategy.prepare_update(new, old)
        return new

    def update_errors(self, old: JsonObject, change: JsonObject) -> list[str]:
        """Return the errors of a merge patch."""
        return [str(error) for error in self.strategy.update_errors(self.updated(old, change), old)]

    def status_errors(self, old: JsonObject, status: JsonObject) -> list[str]:
        """Return the errors of a merge patch of the status."""
        new = self.strategy.prepare_status(self.decoded(merged(old, {"status": status})), old)
        return [str(error) for error in self.strategy.subresource_errors("status", new, old)]


def merged(document: JsonObject, patch: JsonObject) -> JsonObject:
    """Return a copy of the document after a merge patch."""
    out = copy_json(document)
    for name, value in patch.items():
        if value is None:
            out.pop(name, None)
        elif isinstance(value, dict) and isinstance(out.get(name), dict):
            out[name] = merged(out[name], value)
        else:
            out[name] = copy_json(value)
    return dict(out)
