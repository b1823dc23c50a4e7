"""Values of the nodes of a schema, made by a row of choices: valid for their node, as far as that can be seen there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from polykind.contract import JsonObject, copy_json
from polykind.schema.equality import hashable_key
from polykind.schema.node import META_KEYS, SchemaNode
from polykind.schema.value_validation import validate_value
from polykind.toolkit.proving import metadata, scalars
from polykind.toolkit.proving.branches import FORBIDDEN, Branches, has_junctors, origin
from polykind.toolkit.proving.choices import Choices, Unlucky, between, likely, pick
from polykind.toolkit.proving.repair import Repair

FAVOUR = (15, 6.0)
"""How many of a hundred fields may have some values below them though the budget is spent, and how many."""
ENDLESS = 1 << 20
_TRIES = 6
_FIELDS = ("enabled", "name", "size", "config", "cpu", "mode", "labels")


class Maker:
    """Makes values. `budget` is about how many a value may have below it, `density` how many optional fields of 100."""

    def __init__(self) -> None:
        self.repair = Repair(self.value, self.is_aim)
        self.aims: set[int] = set()
        """The ids of nodes that are to be there, where they can be."""
        self._branches = Branches()
        self._nodes: dict[int, tuple[JsonObject, SchemaNode]] = {}

    def value(self, choices: Choices, raw: JsonObject, budget: float = 4, density: int = 50, **hints: Any) -> Any:
        """A value of a node of the schema, found good for that node alone. Raises Unlucky."""
        rules = bool(raw.get("x-kubernetes-validations"))
        judged = has_junctors(raw) or raw.get("type") not in ("object", "array", "boolean")
        said = "no value was found"
        for _ in range(_TRIES):
            out = self._value(choices, raw, budget, density, hints.get("texts", ()))
            if judged:
                faults = validate_value(self.node(raw), out).errors
                if faults:
                    said = faults[0].text.strip().removeprefix("in body ")
                    continue
            if not rules:
                return out
            out, said = self.repair.settled(choices, raw, self.node(raw), out)
            if not said:
                return out
        raise Unlucky(said)

    def is_aim(self, raw: JsonObject) -> bool:
        return origin(raw) in self.aims

    def _plain(self, choices: Choices, raw: JsonObject) -> JsonObject:
        """A node without junctors, of branches that do not forbid what is aimed at, if such are found."""
        for _ in range(_TRIES):
            out = self._branches.plain(choices, raw)
            properties = out.get("properties") or {}
            if not any(name in properties and self.is_aim(properties[name]) for name in out.get(FORBIDDEN, ())):
                break
        return out

    def node(self, raw: JsonObject) -> SchemaNode:
        """The node of a schema, made once; the schema is kept with it, so that its id stays its own."""
        found = self._nodes.get(id(raw))
        if found is None:
            found = self._nodes[id(raw)] = (raw, SchemaNode(raw))
        return found[1]

    def _value(self, choices: Choices, raw: JsonObject, budget: float, density: int, texts: Sequence[str]) -> Any:
        if raw.get("nullable") is True and not raw.get("enum") and likely(choices, 8):
            return None
        if has_junctors(raw):
            raw = self._plain(choices, raw)
        node = self.node(raw)
        if node.enum:
            options = [item for item in node.enum if item is not None]
            return copy_json(pick(choices, options)) if options else None
        kind = node.types[0] if node.types else ""
        if raw.get("x-kubernetes-int-or-string"):
            kind = raw.get("type") or ("string" if node.pattern or likely(choices, 50) else "integer")
        if kind == "object" or (not kind and (node.embedded_resource or raw.get("properties"))):
            return self.object(choices, raw, node, budget, density)
        if kind == "array":
            return self._list(choices, raw, node, budget, density)
        if kind == "string":
            text = scalars.text(choices, node, texts)
            if text is None:
                raise Unlucky(f"no text was found that matches {node.pattern}")
            return text
        if kind == "integer":
            return scalars.integer(choices, node)
        if kind == "number":
            return scalars.number(choices, node)
        if kind == "boolean":
            return choices.upto(1) == 1
        return anything(choices)

    def object(self, choices: Choices, raw: JsonObject, node: SchemaNode, budget: float, density: int) -> JsonObject:
        """An object of a node, not yet found good."""
        out: JsonObject = {}
        forbidden = raw.get(FORBIDDEN, ())
        properties = raw.get("properties") or {}
        names = [name for name in properties if name not in forbidden]
        if node.embedded_resource:
            names = [name for name in names if name not in META_KEYS]
        optional = [name for name in names if name not in node.required]
        wanted = min(len(optional) * density / 100, budget)
        percent = 100 * wanted / len(optional) if optional else 0
        share = (budget - wanted) / max(1.0, wanted + len(names) - len(optional))
        missing = node.min_properties or 0
        for at, name in enumerate(names):
            needed = name in node.required or missing - len(out) >= len(names) - at
            aimed = self.is_aim(properties[name])
            if node.max_properties is not None and len(out) >= node.max_properties and name not in node.required:
                continue
            if needed or aimed or likely(choices, percent):
                self._put(choices, out, name, properties[name], share, density, needed=needed)
        self._more(choices, raw, node, out, share, density)
        if node.embedded_resource:
            metadata.embed(choices, out)
        return out

    def _put(
        self, choices: Choices, out: JsonObject, name: str, raw: JsonObject, share: float, density: int, *, needed: bool
    ) -> None:
        """Set a field; one that could not be made is left out if it may be."""
        percent, favour = FAVOUR
        if share < favour and raw.get("type") in ("object", "array") and likely(choices, percent):
            share = favour
        try:
            out[name] = choices.part(lambda: self.value(choices, raw, share, density))
        except Unlucky as error:
            if needed:
                raise error.below(name) from None

    def _more(
        self, choices: Choices, raw: JsonObject, node: SchemaNode, out: JsonObject, share: float, density: int
    ) -> None:
        """Keys that the schema does not name: of a map, of what is preserved, and of what is required all the same."""
        least = node.min_properties or 0
        room = ENDLESS if node.max_properties is None else node.max_properties
        more = raw.get("additionalProperties")
        missing = [name for name in node.required if name not in out and not node.has_property(name)]
        if isinstance(more, dict) or more is True:
            child = more if isinstance(more, dict) else {}
            aimed = self.is_aim(child)
            count = min(room - len(out), between(choices, int(aimed), 3 if share >= 1 else 1))
            for at in range(max(count, least - len(out), len(missing))):
                key = missing[at] if at < len(missing) else scalars.name(choices)
                while key in out:
                    key += "x"
                make: Callable[[], Any] = lambda: self.value(choices, child, share / 2, density)  # noqa: E731
                out[key] = choices.part(make if child else lambda: anything(choices))
        elif node.preserve_unknown and likely(choices, 40 if raw.get("properties") else 80):
            for _ in range(min(room - len(out), between(choices, 1, 2))):
                key = pick(choices, _FIELDS)
                if not node.has_property(key) and not (node.embedded_resource and key in META_KEYS):
                    out[key] = choices.part(lambda: anything(choices))
        for name in missing:
            out.setdefault(name, anything(choices) if node.preserve_unknown else None)

    def _list(self, choices: Choices, raw: JsonObject, node: SchemaNode, budget: float, density: int) -> list[Any]:
        least = node.min_items or 0
        items = raw.get("items") or {}
        few = 3 if budget >= 2 or items.get("type") not in ("object", "array") else 2
        most = min(least + few, ENDLESS if node.max_items is None else node.max_items)
        fewest = max(least, min(most, 1)) if self.is_aim(items) else least
        count = between(choices, fewest, max(fewest, most))
        out: list[Any] = []
        seen: set[Any] = set()
        apart = node.list_type in ("set", "map") or node.unique_items
        for _ in range(count):
            for _again in range(_TRIES):
                item = choices.part(lambda: self.value(choices, items, (budget - count) / max(1, count), density))
                key = self._key(items, node, item)
                if not apart or key not in seen:
                    seen.add(key)
                    out.append(item)
                    break
        if len(out) < least:
            raise Unlucky(f"no {least} items were found that differ")
        return out

    def _key(self, items: JsonObject, node: SchemaNode, item: Any) -> Any:
        """What tells an item of a set or a map from the others, with the defaults that it will get."""
        if node.list_type != "map" or not isinstance(item, dict):
            return hashable_key(item)
        properties = items.get("properties") or {}
        return hashable_key(
            [item.get(name, (properties.get(name) or {}).get("default")) for name in node.list_map_keys]
        )


def anything(choices: Choices, depth: int = 0) -> Any:
    """A value where the schema says nothing; never null, which some places drop."""
    kind = choices.upto(6 if depth < 2 else 3)
    if kind <= 1:
        return scalars.plain(choices)
    if kind == 2:
        return choices.upto(20)
    if kind == 3:
        return choices.upto(1) == 1
    if kind == 4:
        return [anything(choices, depth + 1) for _ in range(choices.upto(2))]
    return {pick(choices, _FIELDS): anything(choices, depth + 1) for _ in range(choices.upto(2))}
