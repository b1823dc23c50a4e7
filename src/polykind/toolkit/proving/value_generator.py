"""Generators of random values for schema nodes.

A generated value is valid for its schema node, but the schema of a parent may still reject the value, for example by a
CEL rule. The generator of the parent then tries again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import orjson

from polykind.contract import JsonObject, copy_json
from polykind.schema.equality import hashable_key
from polykind.schema.node import META_KEYS, SchemaNode
from polykind.schema.value_validation import validate_value
from polykind.toolkit.proving import scalar_generators
from polykind.toolkit.proving.cel_repair import CelRepair
from polykind.toolkit.proving.choices import Choices, GenerationError, between, chance, pick
from polykind.toolkit.proving.metadata_generator import make_embedded_resource
from polykind.toolkit.proving.schema_branches import FORBIDDEN_KEY, BranchSelector, has_combinators, source_id
from polykind.toolkit.proving.text_style import Style

_EXTRA_BUDGET = (15, 6.0)
"""A percentage and a budget: this percentage of the objects and lists with a smaller budget get this budget instead."""
_UNBOUNDED = 1 << 20
_ATTEMPTS = 6
_FIELDS = ("enabled", "name", "size", "config", "cpu", "mode", "labels", "Upper-Case", "example.com/a", "a.b")
_SCALARS: dict[str, Callable[[Choices, SchemaNode, Style], Any]] = {
    "integer": scalar_generators.generate_integer,
    "number": scalar_generators.generate_number,
    "boolean": scalar_generators.generate_boolean,
}
"""The generators of values without an inside, except strings, by their type."""


class Size(NamedTuple):
    """The size of a value.

    `budget` is the approximate number of values inside of it, and `density` the percentage of optional fields that are
    set.
    """

    budget: float = 4
    density: int = 50

    def divide(self, optional: int, required: int) -> tuple[float, Size]:
        """Return the percentage of `optional` fields that are set, and the size of the value of each field."""
        expected = min(optional * self.density / 100, self.budget)
        percent = 100 * expected / optional if optional else 0
        return percent, self.part((self.budget - expected) / max(1.0, expected + required))

    def part(self, budget: float) -> Size:
        return Size(budget, self.density)


_DEFAULT_SIZE = Size()


class ValueGenerator:
    """Generates values for schema nodes."""

    def __init__(self, style: Style | None = None) -> None:
        self.style = style or Style()
        """The theme of the object that is being generated."""
        self.repair = CelRepair(self.value, self.is_target)
        self.targets: set[int] = set()
        """Ids of schema nodes for which a generated object should have a value, if possible."""
        self._branches = BranchSelector()
        self._nodes: dict[int, tuple[JsonObject, SchemaNode]] = {}
        self._field = ""
        """The name of the innermost field whose value is being generated."""
        self._signatures: dict[int, tuple[JsonObject, bytes]] = {}
        self._repeatable: dict[bytes, Any] = {}
        """Objects and lists of the object that is being generated, by their schema, for the theme `equal`."""

    def begin(self, choices: Choices, theme: str) -> None:
        """Begin to generate another object."""
        self._field = ""
        self._repeatable = {}
        self.style.begin(choices, theme)

    def value(self, choices: Choices, raw: JsonObject, size: Size = _DEFAULT_SIZE, strings: Sequence[str] = ()) -> Any:
        """Generate a valid value for one schema node. Raise GenerationError if no valid value is found."""
        rules = bool(raw.get("x-kubernetes-validations"))
        needs_validation = has_combinators(raw) or raw.get("type") not in ("object", "array", "boolean")
        message = "no valid value was found"
        for _ in range(_ATTEMPTS):
            out = self._generate(choices, raw, size, strings)
            if needs_validation:
                faults = validate_value(self.node(raw), out).errors
                if faults:
                    message = faults[0].text.strip().removeprefix("in body ")
                    continue
            if not rules:
                return out
            out, message = self.repair.fix(choices, raw, self.node(raw), out)
            if not message:
                return out
        raise GenerationError(message)

    def is_target(self, raw: JsonObject) -> bool:
        return source_id(raw) in self.targets

    def _choose_branches(self, choices: Choices, raw: JsonObject) -> JsonObject:
        """Choose branches of anyOf, oneOf and so on in the schema `raw`, and return the schema without them.

        Prefer branches that do not forbid a field in `targets`.
        """
        for _ in range(_ATTEMPTS):
            out = self._branches.choose(choices, raw)
            properties = out.get("properties") or {}
            if not any(name in properties and self.is_target(properties[name]) for name in out.get(FORBIDDEN_KEY, ())):
                break
        return out

    def node(self, raw: JsonObject) -> SchemaNode:
        """Return the SchemaNode of the schema `raw`. It is cached by the id of `raw`, and the cache also references
        `raw`, so that no other schema gets the same id.
        """
        cached = self._nodes.get(id(raw))
        if cached is None:
            cached = self._nodes[id(raw)] = (raw, SchemaNode(raw))
        return cached[1]

    def _generate(self, choices: Choices, raw: JsonObject, size: Size, strings: Sequence[str]) -> Any:
        """Generate a value that may be invalid."""
        if raw.get("nullable") is True and not raw.get("enum") and chance(choices, 8):
            return None
        if has_combinators(raw):
            raw = self._choose_branches(choices, raw)
        node = self.node(raw)
        if node.enum:
            options = [item for item in node.enum if item is not None]
            return copy_json(pick(choices, options)) if options else None
        kind = _type_of(choices, raw, node)
        if kind in ("array", "object"):
            return self._container(choices, raw, kind, size, repeatable=not strings)
        if kind == "string":
            return self._string(choices, node, strings)
        make = _SCALARS.get(kind)
        return make(choices, node, self.style) if make else arbitrary_value(choices, self.style)

    def _string(self, choices: Choices, node: SchemaNode, strings: Sequence[str]) -> str:
        text = scalar_generators.generate_string(choices, node, strings, self.style, self._field)
        if text is None:
            raise GenerationError(f"no string was found that matches {node.pattern}")
        return text

    # ---------------------------------------------------------------------- objects and lists

    def _container(self, choices: Choices, raw: JsonObject, kind: str, size: Size, *, repeatable: bool) -> Any:
        """Generate an object or a list, or repeat the last one with the same schema if the theme prefers this."""
        percent = self.style.theme.equal_containers if repeatable else 0
        signature = self._signature(raw) if percent else b""
        if signature in self._repeatable and chance(choices, percent):
            return copy_json(self._repeatable[signature])
        generate = self._list if kind == "array" else self.object
        out = generate(choices, raw, self.node(raw), size)
        if percent:
            self._repeatable[signature] = copy_json(out)
        return out

    def _signature(self, raw: JsonObject) -> bytes:
        """Return a key that is equal for schemas with the same content. It is cached by the id of `raw`."""
        cached = self._signatures.get(id(raw))
        if cached is None:
            cached = self._signatures[id(raw)] = (raw, orjson.dumps(raw, option=orjson.OPT_SORT_KEYS))
        return cached[1]

    def object(self, choices: Choices, raw: JsonObject, node: SchemaNode, size: Size) -> JsonObject:
        """Generate an object for a schema node. It may be invalid, so the caller must validate it."""
        out: JsonObject = {}
        properties = raw.get("properties") or {}
        names = _listed_fields(raw, node)
        required = sum(name in node.required for name in names)
        percent, field_size = size.divide(len(names) - required, required)
        least, most = node.min_properties or 0, node.max_properties
        for at, name in enumerate(names):
            is_required = name in node.required
            if not is_required and most is not None and len(out) >= most:
                continue
            needed = is_required or least - len(out) >= len(names) - at
            if needed or self.is_target(properties[name]) or chance(choices, percent):
                self._set_field(choices, out, name, properties[name], field_size, needed=needed)
        self._add_unlisted_keys(choices, raw, node, out, field_size)
        if node.embedded_resource:
            make_embedded_resource(choices, out)
        return out

    def _set_field(
        self, choices: Choices, out: JsonObject, name: str, raw: JsonObject, size: Size, *, needed: bool
    ) -> None:
        """Set the field `name` of `out` to a generated value. `raw` is the schema of the field.

        If no valid value is found, skip the field, or raise GenerationError if it is needed.
        """
        percent, favour = _EXTRA_BUDGET
        if size.budget < favour and raw.get("type") in ("object", "array") and chance(choices, percent):
            size = size.part(favour)
        parent, self._field = self._field, name
        try:
            out[name] = choices.part(lambda: self.value(choices, raw, size))
        except GenerationError as error:
            if needed:
                raise error.below(name) from None
        finally:
            self._field = parent

    def _add_unlisted_keys(
        self, choices: Choices, raw: JsonObject, node: SchemaNode, out: JsonObject, size: Size
    ) -> None:
        """Add keys that are not in `properties` of the schema: map keys, preserved unknown fields, required fields."""
        more = raw.get("additionalProperties")
        missing = [name for name in node.required if name not in out and not node.has_property(name)]
        if isinstance(more, dict) or more is True:
            self._add_map_keys(choices, more if isinstance(more, dict) else {}, node, out, size, missing)
        elif node.preserve_unknown and chance(choices, 40 if raw.get("properties") else 80):
            self._add_unknown_fields(choices, node, out)
        for name in missing:
            out.setdefault(name, arbitrary_value(choices, self.style) if node.preserve_unknown else None)

    def _add_map_keys(
        self,
        choices: Choices,
        raw: JsonObject,
        node: SchemaNode,
        out: JsonObject,
        size: Size,
        missing: Sequence[str],
    ) -> None:
        """Add keys with values for the schema `raw`. `missing` are required keys."""
        theme = self.style.theme
        fewest = int(self.is_target(raw))
        most = theme.most_keys or (3 if size.budget >= 1 else 1)
        if chance(choices, theme.long_maps):
            most = self.style.longest_list
        if chance(choices, theme.empty_maps):
            most = fewest
        count = min(_room(node, out), between(choices, fewest, max(most, fewest)))
        inner = size.part(size.budget / 2)
        for at in range(max(count, (node.min_properties or 0) - len(out), len(missing))):
            key = missing[at] if at < len(missing) else self._map_key(choices, out)
            while key in out:
                key += "x"
            out[key] = choices.part(
                lambda: self.value(choices, raw, inner) if raw else arbitrary_value(choices, self.style)
            )

    def _add_unknown_fields(self, choices: Choices, node: SchemaNode, out: JsonObject) -> None:
        for _ in range(min(_room(node, out), between(choices, 1, 3))):
            key = _arbitrary_key(choices, self.style)
            if not node.has_property(key) and not (node.embedded_resource and key in META_KEYS):
                out[key] = choices.part(lambda: arbitrary_value(choices, self.style, 1))

    def _map_key(self, choices: Choices, out: JsonObject) -> str:
        """Generate a key, with some themes sometimes one that differs from another key only by case."""
        if out and chance(choices, self.style.theme.swapped_keys):
            return pick(choices, sorted(out)).swapcase()
        return scalar_generators.generate_map_key(choices, self.style)

    def _list(self, choices: Choices, raw: JsonObject, node: SchemaNode, size: Size) -> list[Any]:
        items = raw.get("items") or {}
        count = self._list_length(choices, items, node, size)
        item_size = size.part((size.budget - count) / max(1, count))
        must_differ = node.list_type in ("set", "map") or node.unique_items
        equal_percent = 0 if must_differ else self.style.theme.equal_items
        keys: set[Any] | None = set() if must_differ else None
        out: list[Any] = []
        for _ in range(count):
            if out and chance(choices, equal_percent):
                out.append(self._similar_item(choices, items, copy_json(pick(choices, out))))
            else:
                out += self._new_item(choices, items, node, item_size, keys)
        least = node.min_items or 0
        if len(out) < least:
            raise GenerationError(f"fewer than {least} distinct items were found")
        return out

    def _list_length(self, choices: Choices, items: JsonObject, node: SchemaNode, size: Size) -> int:
        theme, fewest = self.style.theme, node.min_items or 0
        simple = items.get("type") not in ("object", "array")
        extra = self.style.longest_list if size.budget >= 2 or simple else 2
        if chance(choices, theme.empty_lists):
            extra = 0
        most = min(fewest + extra, _UNBOUNDED if node.max_items is None else node.max_items)
        if self.is_target(items):
            fewest = max(fewest, min(most, 1))
        if chance(choices, theme.long_lists):
            fewest = max(fewest, min(4, most))
        return between(choices, fewest, max(fewest, most))

    def _new_item(
        self, choices: Choices, items: JsonObject, node: SchemaNode, size: Size, keys: set[Any] | None
    ) -> list[Any]:
        """Return a list with one item, or an empty one if no attempt gives an item whose key is not in `keys`."""
        for _ in range(_ATTEMPTS):
            item = choices.part(lambda: self.value(choices, items, size))
            if keys is None:
                return [item]
            key = self._item_key(items, node, item)
            if key not in keys:
                keys.add(key)
                return [item]
        return []

    def _similar_item(self, choices: Choices, raw: JsonObject, item: Any) -> Any:
        """Return the item, or sometimes a valid text that differs from it only by case or by a space."""
        if not isinstance(item, str):
            return item
        similar = pick(choices, (item, item, item.swapcase(), f"{item} ", f" {item}"))
        return item if validate_value(self.node(raw), similar).errors else similar

    def _item_key(self, items: JsonObject, node: SchemaNode, item: Any) -> Any:
        """Return the part of a list item that must be unique in its list, as a hashable value.

        In a list of type map, these are the values of the map keys, with their defaults, otherwise the whole item.
        """
        if node.list_type != "map" or not isinstance(item, dict):
            return hashable_key(item)
        properties = items.get("properties") or {}
        return hashable_key(
            [item.get(name, (properties.get(name) or {}).get("default")) for name in node.list_map_keys]
        )


def _type_of(choices: Choices, raw: JsonObject, node: SchemaNode) -> str:
    """Return the type of the value to generate. Choose one if the schema allows integers and strings."""
    if raw.get("x-kubernetes-int-or-string"):
        return raw.get("type") or ("string" if node.pattern or chance(choices, 50) else "integer")
    if node.types:
        return node.types[0]
    return "object" if node.embedded_resource or raw.get("properties") else ""


def _listed_fields(raw: JsonObject, node: SchemaNode) -> list[str]:
    """Return the names of the fields in a schema that a generated object may have."""
    excluded = (*raw.get(FORBIDDEN_KEY, ()), *(META_KEYS if node.embedded_resource else ()))
    return [name for name in raw.get("properties") or {} if name not in excluded]


def _room(node: SchemaNode, out: JsonObject) -> int:
    """Return the number of fields that an object may still get."""
    return (_UNBOUNDED if node.max_properties is None else node.max_properties) - len(out)


_ARBITRARY_NUMBERS = (0, 0.5, -1, (1 << 53) + 1, 1 << 31, 100)


def arbitrary_value(choices: Choices, style: Style, depth: int = 0) -> Any:
    """Generate a value for a schema without constraints.

    Only values inside of it may be null, because the API server rejects or prunes null where the schema has a field.
    """
    if depth and chance(choices, 8):
        return None
    kind = choices.up_to(6 if depth < 2 else 3)
    if kind <= 1:
        text = style.text(choices, "") if chance(choices, 60) else None
        return scalar_generators.plain_string(choices) if text is None else text
    if kind == 2:
        return pick(choices, _ARBITRARY_NUMBERS) if chance(choices, 30) else choices.up_to(20)
    if kind == 3:
        return choices.up_to(1) == 1
    if kind == 4:
        return [arbitrary_value(choices, style, depth + 1) for _ in range(choices.up_to(style.longest_list))]
    return {_arbitrary_key(choices, style): arbitrary_value(choices, style, depth + 1) for _ in range(choices.up_to(3))}


def _arbitrary_key(choices: Choices, style: Style) -> str:
    if chance(choices, style.theme.odd_keys):
        return scalar_generators.generate_map_key(choices, style)
    return pick(choices, _FIELDS)
