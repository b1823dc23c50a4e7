"""Generators of random metadata and of random values for schema nodes.

A generated value is valid for its schema node, but the schema of a parent may still reject the value, for example by a
CEL rule. The generator of the parent then tries again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from polykind import names
from polykind.contract import JsonObject, copy_json
from polykind.schema.equality import hashable_key
from polykind.schema.node import META_KEYS, SchemaNode
from polykind.schema.value_validation import validate_value
from polykind.toolkit.crd_versions import CRDVersion
from polykind.toolkit.proving import scalar_generators
from polykind.toolkit.proving.cel_repair import CelRepair
from polykind.toolkit.proving.choices import Choices, GenerationError, between, chance, pick
from polykind.toolkit.proving.schema_branches import FORBIDDEN_KEY, BranchSelector, has_combinators, source_id
from polykind.toolkit.proving.text_style import Style

_NAME_ATTEMPTS = 12
_TIME = "2026-01-02T03:04:05Z"
_LABELS = ("app", "app.kubernetes.io/name", "tier", "example.com/team", "Upper", "a.b_c")
_ANNOTATIONS = ("note", "example.com/owner", "kubectl.kubernetes.io/last-applied-configuration", "Upper", "a.b_c")
_FINALIZERS = (
    ("example.com/cleanup",),
    ("example.com/z", "example.com/a"),
    ("foregroundDeletion", "example.com/cleanup"),
)
_OWN_NAMES = ("owner", "reviewed-by", "cost-center", "Imported-From")
"""Names of labels and annotations whose prefix is the CRD's own group. They belong to users, not to the converter."""
_LABEL_VALUES = ("a", "Web", "1.2.3", "", "true", "a" * 63, "a_b-C")
_ANNOTATION_VALUES = ("a", "", "line\nline", '{"a": 1}', "x" * 300, " a ", "true")
_LONG_NAMES = (
    "a.b.example.com",
    "a" * 64,
    "0",
    "1-a",
    "name-of-more-than-sixty-three-letters-in-one-single-label-of-dns-x.y",
)
_EXTRA_BUDGET = (15, 6.0)
"""A percentage and a budget: this percentage of the objects and lists with a smaller budget get this budget instead."""
_UNBOUNDED = 1 << 20
_ATTEMPTS = 6
_FIELDS = ("enabled", "name", "size", "config", "cpu", "mode", "labels", "Upper-Case", "example.com/a", "a.b")


def generate_head(choices: Choices, version: CRDVersion, limits: JsonObject) -> JsonObject:
    """Generate apiVersion, kind and metadata of an object. `limits` are the schemas of metadata fields in the CRD."""
    kind = version.crd.kind.partition(".")[0]
    metadata: JsonObject = {"name": _generate_name(choices, limits.get("name") or {})}
    own = tuple(f"{version.crd.group}/{name}" for name in _OWN_NAMES)
    if version.crd.namespaced:
        metadata["namespace"] = pick(choices, ("default", "team-a"))
    if chance(choices, 30):
        metadata["labels"] = {
            pick(choices, own if chance(choices, 30) else _LABELS): pick(choices, _LABEL_VALUES)
            if chance(choices, 40)
            else scalar_generators.generate_name(choices)
            for _ in range(1 + choices.up_to(2))
        }
    if chance(choices, 30):
        metadata["annotations"] = {
            pick(choices, own if chance(choices, 40) else _ANNOTATIONS): pick(choices, _ANNOTATION_VALUES)
            if chance(choices, 40)
            else scalar_generators.plain_string(choices)
            for _ in range(1 + choices.up_to(2))
        }
    if chance(choices, 40):
        _add_server_metadata(choices, version, metadata)
    return {"apiVersion": version.api_version, "kind": kind, "metadata": metadata}


def _add_server_metadata(choices: Choices, version: CRDVersion, metadata: JsonObject) -> None:
    """Add the metadata that the server sets, such as uid and resourceVersion."""
    low = choices.up_to(0xFFFF)
    metadata |= {
        "uid": f"0000{low:04x}-1111-4222-8333-444455556666",
        "resourceVersion": str(1 + choices.up_to(9999)),
        "generation": 1 + choices.up_to(5),
        "creationTimestamp": _TIME,
    }
    if chance(choices, 30):
        metadata["finalizers"] = list(pick(choices, _FINALIZERS))
        if chance(choices, 30):  # A client has deleted the object, and a finalizer keeps it.
            metadata |= {"deletionTimestamp": _TIME, "deletionGracePeriodSeconds": 0}
    if chance(choices, 30):
        owner = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "name": scalar_generators.generate_name(choices),
            "uid": metadata["uid"],
        }
        other = {**owner, "kind": "ReplicaSet", "uid": f"0001{low:04x}-1111-4222-8333-444455556666"}
        controller = {**owner, "controller": True, "blockOwnerDeletion": True}
        metadata["ownerReferences"] = pick(choices, ([controller], [owner], [other, controller], [owner, other]))
    if chance(choices, 40):
        entry = {"manager": "kubectl", "operation": pick(choices, ("Update", "Apply")), "fieldsType": "FieldsV1"}
        fields: JsonObject = {"f:spec": {".": {}}}
        metadata["managedFields"] = [{**entry, "apiVersion": version.api_version, "time": _TIME, "fieldsV1": fields}]


def make_embedded_resource(choices: Choices, out: JsonObject) -> None:
    """Add a random apiVersion, kind and metadata.name to `out`, the value of an embedded resource."""
    api_version, kind = pick(choices, (("v1", "ConfigMap"), ("apps/v1", "Deployment"), ("example.com/v1", "Thing")))
    out |= {"apiVersion": api_version, "kind": kind, "metadata": {"name": scalar_generators.generate_name(choices)}}


def _generate_name(choices: Choices, limits: JsonObject) -> str:
    """Generate an object name. `limits` is the CRD's schema for metadata.name, with a pattern or a maximum length."""
    if not limits:
        if chance(choices, 8):
            return pick(choices, _LONG_NAMES)
        return scalar_generators.generate_name(choices)
    node = SchemaNode(limits)
    for _ in range(_NAME_ATTEMPTS if node.pattern else 0):
        found = scalar_generators.generate_string(choices, node)
        if found and not names.subdomain_name(found, False):
            return found
    return scalar_generators.generate_name(choices)[: node.max_length]


class ValueGenerator:
    """Generates values for schema nodes.

    In its methods, `budget` is the approximate number of values inside the generated value, and `density` the
    percentage of optional fields that are set.
    """

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
        """Values of the object that is being generated, by their schema, for the theme `equal`."""

    def begin(self, choices: Choices, theme: str) -> None:
        """Begin to generate another object."""
        self._field = ""
        self._repeatable = {}
        self.style.begin(choices, theme)

    def value(
        self, choices: Choices, raw: JsonObject, budget: float = 4, density: int = 50, strings: Sequence[str] = ()
    ) -> Any:
        """Generate a valid value for one schema node. Raise GenerationError if no valid value is found."""
        rules = bool(raw.get("x-kubernetes-validations"))
        needs_validation = has_combinators(raw) or raw.get("type") not in ("object", "array", "boolean")
        message = "no valid value was found"
        for _ in range(_ATTEMPTS):
            out = self._generate_value(choices, raw, budget, density, strings)
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

    def _generate_value(
        self, choices: Choices, raw: JsonObject, budget: float, density: int, strings: Sequence[str]
    ) -> Any:
        if raw.get("nullable") is True and not raw.get("enum") and chance(choices, 8):
            return None
        if has_combinators(raw):
            raw = self._choose_branches(choices, raw)
        node = self.node(raw)
        if node.enum:
            options = [item for item in node.enum if item is not None]
            return copy_json(pick(choices, options)) if options else None
        kind = node.types[0] if node.types else ""
        if raw.get("x-kubernetes-int-or-string"):
            kind = raw.get("type") or ("string" if node.pattern or chance(choices, 50) else "integer")
        if kind == "array" or kind == "object" or (not kind and (node.embedded_resource or raw.get("properties"))):
            if self.style.theme == "equal" and not strings:
                signature = self._signature(raw)
                if signature in self._repeatable and chance(choices, 60):
                    return copy_json(self._repeatable[signature])
                out = self._generate_container(choices, raw, node, budget, density, kind)
                self._repeatable[signature] = copy_json(out)
                return out
            return self._generate_container(choices, raw, node, budget, density, kind)
        if kind == "string":
            text = scalar_generators.generate_string(choices, node, strings, self.style, self._field)
            if text is None:
                raise GenerationError(f"no string was found that matches {node.pattern}")
            return text
        if kind == "integer":
            return scalar_generators.generate_integer(choices, node, self.style)
        if kind == "number":
            return scalar_generators.generate_number(choices, node, self.style)
        if kind == "boolean":
            return choices.up_to(1) == 1 and not (self.style.theme == "empty" and chance(choices, 60))
        return arbitrary_value(choices, self.style)

    def _generate_container(
        self, choices: Choices, raw: JsonObject, node: SchemaNode, budget: float, density: int, kind: str
    ) -> Any:
        if kind == "array":
            return self._generate_list(choices, raw, node, budget, density)
        return self.object(choices, raw, node, budget, density)

    def _signature(self, raw: JsonObject) -> bytes:
        """Return a key that is equal for schemas with the same content. It is cached by the id of `raw`."""
        cached = self._signatures.get(id(raw))
        if cached is None:
            cached = self._signatures[id(raw)] = (raw, orjson.dumps(raw, option=orjson.OPT_SORT_KEYS))
        return cached[1]

    def object(self, choices: Choices, raw: JsonObject, node: SchemaNode, budget: float, density: int) -> JsonObject:
        """Generate an object for a schema node. It may be invalid, so the caller must validate it."""
        out: JsonObject = {}
        forbidden = raw.get(FORBIDDEN_KEY, ())
        properties = raw.get("properties") or {}
        names = [name for name in properties if name not in forbidden]
        if node.embedded_resource:
            names = [name for name in names if name not in META_KEYS]
        optional = [name for name in names if name not in node.required]
        expected_count = min(len(optional) * density / 100, budget)
        percent = 100 * expected_count / len(optional) if optional else 0
        share = (budget - expected_count) / max(1.0, expected_count + len(names) - len(optional))
        missing = node.min_properties or 0
        for at, name in enumerate(names):
            required_here = name in node.required or missing - len(out) >= len(names) - at
            targeted = self.is_target(properties[name])
            if node.max_properties is not None and len(out) >= node.max_properties and name not in node.required:
                continue
            if required_here or targeted or chance(choices, percent):
                self._set_field(choices, out, name, properties[name], share, density, required_here=required_here)
        self._add_unlisted_keys(choices, raw, node, out, share, density)
        if node.embedded_resource:
            make_embedded_resource(choices, out)
        return out

    def _set_field(
        self,
        choices: Choices,
        out: JsonObject,
        name: str,
        raw: JsonObject,
        share: float,
        density: int,
        *,
        required_here: bool,
    ) -> None:
        """Set the field `name` of `out` to a generated value. `raw` is the schema of the field.

        If no valid value is found, skip an optional field, and raise GenerationError for a required one.
        """
        percent, favour = _EXTRA_BUDGET
        if share < favour and raw.get("type") in ("object", "array") and chance(choices, percent):
            share = favour
        parent, self._field = self._field, name
        try:
            out[name] = choices.part(lambda: self.value(choices, raw, share, density))
        except GenerationError as error:
            if required_here:
                raise error.below(name) from None
        finally:
            self._field = parent

    def _add_unlisted_keys(
        self, choices: Choices, raw: JsonObject, node: SchemaNode, out: JsonObject, share: float, density: int
    ) -> None:
        """Add keys that are not in `properties` of the schema: map keys, preserved unknown fields, required fields."""
        least = node.min_properties or 0
        room = _UNBOUNDED if node.max_properties is None else node.max_properties
        more = raw.get("additionalProperties")
        missing = [name for name in node.required if name not in out and not node.has_property(name)]
        if isinstance(more, dict) or more is True:
            child = more if isinstance(more, dict) else {}
            targeted = self.is_target(child)
            most = 5 if self.style.theme in ("keys", "lists") else 3 if share >= 1 else 1
            if self.style.theme == "lists" and chance(choices, 30):
                most = self.style.longest_list
            if self.style.theme == "empty" and chance(choices, 50):
                most = int(targeted)
            count = min(room - len(out), between(choices, int(targeted), max(most, int(targeted))))
            for at in range(max(count, least - len(out), len(missing))):
                key = missing[at] if at < len(missing) else self._map_key(choices, out)
                while key in out:
                    key += "x"
                make: Callable[[], Any] = lambda: self.value(choices, child, share / 2, density)  # noqa: E731
                out[key] = choices.part(make if child else lambda: arbitrary_value(choices, self.style))
        elif node.preserve_unknown and chance(choices, 40 if raw.get("properties") else 80):
            for _ in range(min(room - len(out), between(choices, 1, 3))):
                key = _arbitrary_key(choices, self.style)
                if not node.has_property(key) and not (node.embedded_resource and key in META_KEYS):
                    out[key] = choices.part(lambda: arbitrary_value(choices, self.style, 1))
        for name in missing:
            out.setdefault(name, arbitrary_value(choices, self.style) if node.preserve_unknown else None)

    def _map_key(self, choices: Choices, out: JsonObject) -> str:
        """Generate a key, with the theme `keys` sometimes one that differs from another key only by case."""
        if out and self.style.theme == "keys" and chance(choices, 30):
            return pick(choices, sorted(out)).swapcase()
        return scalar_generators.generate_map_key(choices, self.style)

    def _generate_list(
        self, choices: Choices, raw: JsonObject, node: SchemaNode, budget: float, density: int
    ) -> list[Any]:
        least = node.min_items or 0
        items = raw.get("items") or {}
        simple = items.get("type") not in ("object", "array")
        extra = self.style.longest_list if budget >= 2 or simple else 2
        if self.style.theme == "empty" and chance(choices, 50):
            extra = 0
        most = min(least + extra, _UNBOUNDED if node.max_items is None else node.max_items)
        fewest = max(least, min(most, 1)) if self.is_target(items) else least
        if self.style.theme == "lists" and chance(choices, 60):
            fewest = max(fewest, min(4, most))
        count = between(choices, fewest, max(fewest, most))
        out: list[Any] = []
        keys: set[Any] = set()
        must_differ = node.list_type in ("set", "map") or node.unique_items
        repeats = 50 if self.style.theme == "duplicates" and not must_differ else 0
        for _ in range(count):
            if out and repeats and chance(choices, repeats):
                item = copy_json(pick(choices, out))
                out.append(self._similar_text(choices, items, item) if isinstance(item, str) else item)
                continue
            for _again in range(_ATTEMPTS):
                item = choices.part(lambda: self.value(choices, items, (budget - count) / max(1, count), density))
                key = self._item_key(items, node, item)
                if not must_differ or key not in keys:
                    keys.add(key)
                    out.append(item)
                    break
        if len(out) < least:
            raise GenerationError(f"fewer than {least} distinct items were found")
        return out

    def _similar_text(self, choices: Choices, raw: JsonObject, text: str) -> str:
        """Return the text, or sometimes a valid text that differs only by case or by a space."""
        similar = pick(choices, (text, text, text.swapcase(), f"{text} ", f" {text}"))
        return text if validate_value(self.node(raw), similar).errors else similar

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


ARBITRARY_NUMBERS = (0, 0.5, -1, (1 << 53) + 1, 1 << 31, 100)


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
        return pick(choices, ARBITRARY_NUMBERS) if chance(choices, 30) else choices.up_to(20)
    if kind == 3:
        return choices.up_to(1) == 1
    if kind == 4:
        return [arbitrary_value(choices, style, depth + 1) for _ in range(choices.up_to(style.longest_list))]
    return {_arbitrary_key(choices, style): arbitrary_value(choices, style, depth + 1) for _ in range(choices.up_to(3))}


def _arbitrary_key(choices: Choices, style: Style) -> str:
    if chance(choices, style.odd_key_percent):
        return scalar_generators.generate_map_key(choices, style)
    return pick(choices, _FIELDS)
