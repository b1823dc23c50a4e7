"""The rules of a schema at work: which hold for an object, on create and on update."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polykind.cel import expression
from polykind.cel.declared import Declared, Registry, escape
from polykind.cel.judging import Judging, trimmed
from polykind.cel.program import Program
from polykind.cel.reading import HELD
from polykind.cel.types import BOOL, STRING
from polykind.contract import JsonObject
from polykind.crd.field_path import PathError, find_field
from polykind.errors import FieldError
from polykind.schema.correlation import Correlation
from polykind.schema.node import Node

RULES = "x-kubernetes-validations"
_NAME = "selfType1"


class Rule:
    """One rule of a node, compiled when it is first run."""

    __slots__ = ("_message", "_program", "broken", "field", "node", "optional_old", "raw", "uses_old")

    def __init__(self, raw: JsonObject, node: RuleNode) -> None:
        self.raw = raw
        self.node = node
        self.optional_old = bool(raw.get("optionalOldSelf"))
        self._program: Program | None = None
        self._message: Program | None = None
        self.broken = ""
        self.uses_old = False
        self.field = ""
        text = raw.get("rule") or ""
        if not text.strip():
            return
        declared, registry = node.declared, node.registry
        checked = expression.check(text, declared, registry, optional_old=self.optional_old)
        if checked.tree is None:
            self.broken = f"compilation failed: {checked.problems}"
            return
        if checked.tree.type != BOOL:
            self.broken = "cel expression must evaluate to a bool"
            return
        self.uses_old = checked.uses_old
        self._program = checked.program(declared)
        if raw.get("messageExpression"):
            message = expression.check(raw["messageExpression"], declared, registry, optional_old=self.optional_old)
            if message.tree is None or message.tree.type != STRING or message.unusable() is not None:
                return
            self._message = message.message(declared)
        if raw.get("fieldPath"):
            self.field = _normal_path(raw["fieldPath"], node.schema)

    @property
    def named(self) -> str:
        """The rule in the text of an error: its message, or itself."""
        return trimmed(self.raw.get("message") or self.raw.get("rule") or "")

    @property
    def program(self) -> Program | None:
        return self._program

    @property
    def message(self) -> Program | None:
        return self._message


class RuleNode:
    """A node of a schema that has rules, or has some below it."""

    __slots__ = ("_rules", "additional", "declared", "held", "items", "properties", "raw_rules", "registry", "schema")

    def __init__(self, schema: JsonObject, declared: Declared, registry: Registry) -> None:
        self.schema = schema
        self.declared = declared
        self.registry = registry
        self.held = None if schema.get("x-kubernetes-int-or-string") else HELD.get(schema.get("type", ""))
        self.raw_rules: list[JsonObject] = schema.get(RULES) or []
        self._rules: list[Rule] | None = None
        self.items: RuleNode | None = None
        self.additional: RuleNode | None = None
        self.properties: dict[str, RuleNode] = {}

    @property
    def rules(self) -> list[Rule]:
        if self._rules is None:
            self._rules = [Rule(raw, self) for raw in self.raw_rules]
        return self._rules

    @property
    def transitional(self) -> bool:
        """Whether any of its rules looks at the old value: only then do messages see it."""
        return any(rule.uses_old for rule in self.rules)

    @property
    def needed(self) -> bool:
        return bool(self.raw_rules or self.items or self.additional or self.properties)


class Rules:
    """All rules of a structural schema."""

    def __init__(self, root: RuleNode, openapi: JsonObject) -> None:
        self._root = root
        self._openapi = openapi
        self._node: Node | None = None

    def validate(
        self, obj: Any, old: Any, *, root_path: str = "", ratchet: bool = True
    ) -> tuple[list[FieldError], list[str]]:
        """What breaks a rule, and the warnings about what broke it before and is unchanged (none without `ratchet`)."""
        correlation = None
        if old is not None and ratchet:
            if self._node is None:
                self._node = Node(self._openapi)
            correlation = Correlation(obj, old, self._node)
        judging = Judging(root_path)
        judging.run(self._root, obj, old, correlation)
        return judging.errors, judging.warnings


def _normal_path(path: str, schema: JsonObject) -> str:
    """A rule's field path as error paths are written; empty if it leads nowhere."""
    try:
        names, _ = find_field(path, schema)
    except PathError:
        return ""
    node: Any = schema
    text = ""
    for name in names:
        properties = node.get("properties") if isinstance(node, dict) else None
        if properties:
            text += f".{name}" if text else name
            node = properties.get(name)
        else:
            text += f"[{name}]"
            node = node.get("additionalProperties") if isinstance(node, dict) else None
    return text


def compile_schema(openapi: JsonObject, *, resource: bool = True) -> Rules | None:
    """The rules of a structural schema, None if it has none. Each is compiled when an object first meets it.

    The schema of a `resource` lets its rules see the object's kind and name.
    """
    if not _has_rules(openapi):
        return None
    registry = Registry()
    declared = registry.declare(openapi, _NAME, root=resource)
    if declared is None:
        return None
    root = _node(openapi, declared, registry)
    return Rules(root, openapi) if root is not None else None


def _has_rules(schema: JsonObject) -> bool:
    pending: list[Any] = [schema]
    while pending:
        node = pending.pop()
        if not isinstance(node, dict):
            continue
        if node.get(RULES):
            return True
        pending.extend(_children(node))
    return False


def _children(node: JsonObject) -> Iterator[Any]:
    yield node.get("items")
    yield node.get("additionalProperties")
    yield from (node.get("properties") or {}).values()


def _node(schema: JsonObject, declared: Declared, registry: Registry) -> RuleNode | None:
    node = RuleNode(schema, declared, registry)
    items, additional = schema.get("items"), schema.get("additionalProperties")
    if isinstance(items, dict) and declared.elem is not None and declared.type.kind == "list":
        node.items = _node(items, declared.elem, registry)
    if isinstance(additional, dict) and declared.elem is not None and declared.type.kind == "map":
        node.additional = _node(additional, declared.elem, registry)
    for name, child in (schema.get("properties") or {}).items():
        if not _has_rules(child):
            continue
        inner = declared.fields.get(escape(name) or name) if declared.fields is not None else None
        found = _node(child, inner, registry) if inner is not None else None
        if found is not None:
            node.properties[name] = found
    return node if node.needed else None
