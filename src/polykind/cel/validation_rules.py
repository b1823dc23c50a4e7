"""The rules of a schema at work: which hold for an object, on create and on update."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polykind.cel import environment
from polykind.cel.cel_types import BOOL, STRING
from polykind.cel.from_json import PYTHON_TYPES
from polykind.cel.program import RuleProgram
from polykind.cel.rule_evaluation import RuleEvaluation, trimmed
from polykind.cel.schema_types import DeclType, DeclTypeProvider, escape
from polykind.contract import JsonObject
from polykind.crd.field_path import FieldPathError, find_field
from polykind.errors import FieldError
from polykind.schema.correlation import Correlation
from polykind.schema.node import SchemaNode

VALIDATIONS = "x-kubernetes-validations"
_NAME = "selfType1"


class Rule:
    """One rule of a node, compiled when it is first run."""

    __slots__ = (
        "_message",
        "_program",
        "compile_error",
        "node",
        "normalized_field_path",
        "optional_old_self",
        "raw",
        "uses_old_self",
    )

    def __init__(self, raw: JsonObject, node: RuleNode) -> None:
        self.raw = raw
        self.node = node
        self.optional_old_self = bool(raw.get("optionalOldSelf"))
        self._program: RuleProgram | None = None
        self._message: RuleProgram | None = None
        self.compile_error = ""
        self.uses_old_self = False
        self.normalized_field_path = ""
        text = raw.get("rule") or ""
        if not text.strip():
            return
        declared, registry = node.decl_type, node.type_provider
        checked = environment.compile_rule(text, declared, registry, optional_old=self.optional_old_self)
        if checked.ast is None:
            self.compile_error = f"compilation failed: {checked.errors}"
            return
        if checked.ast.type != BOOL:
            self.compile_error = "cel expression must evaluate to a bool"
            return
        self.uses_old_self = checked.uses_old_self
        self._program = checked.program(declared)
        if raw.get("messageExpression"):
            message = environment.compile_rule(
                raw["messageExpression"], declared, registry, optional_old=self.optional_old_self
            )
            if message.ast is None or message.ast.type != STRING or message.instantiation_error() is not None:
                return
            self._message = message.message_program(declared)
        if raw.get("fieldPath"):
            self.normalized_field_path = _normal_path(raw["fieldPath"], node.schema)

    @property
    def error_name(self) -> str:
        """The rule in the text of an error: its message, or itself."""
        return trimmed(self.raw.get("message") or self.raw.get("rule") or "")

    @property
    def program(self) -> RuleProgram | None:
        return self._program

    @property
    def message_program(self) -> RuleProgram | None:
        return self._message


class RuleNode:
    """A node of a schema that has rules, or has some below it."""

    __slots__ = (
        "_rules",
        "additional",
        "decl_type",
        "items",
        "properties",
        "python_type",
        "raw_rules",
        "schema",
        "type_provider",
    )

    def __init__(self, schema: JsonObject, declared: DeclType, registry: DeclTypeProvider) -> None:
        self.schema = schema
        self.decl_type = declared
        self.type_provider = registry
        self.python_type = (
            None if schema.get("x-kubernetes-int-or-string") else PYTHON_TYPES.get(schema.get("type", ""))
        )
        self.raw_rules: list[JsonObject] = schema.get(VALIDATIONS) or []
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
    def uses_old_self(self) -> bool:
        """Whether any of its rules looks at the old value: only then do messages see it."""
        return any(rule.uses_old_self for rule in self.rules)

    @property
    def has_rules(self) -> bool:
        return bool(self.raw_rules or self.items or self.additional or self.properties)


class Rules:
    """All rules of a structural schema."""

    def __init__(self, root: RuleNode, openapi: JsonObject) -> None:
        self._root = root
        self._openapi = openapi
        self._node: SchemaNode | None = None

    def validate(
        self, obj: Any, old: Any, *, root_path: str = "", ratchet: bool = True
    ) -> tuple[list[FieldError], list[str]]:
        """What breaks a rule, and the warnings about what broke it before and is unchanged (none without `ratchet`)."""
        correlation = None
        if old is not None and ratchet:
            if self._node is None:
                self._node = SchemaNode(self._openapi)
            correlation = Correlation(obj, old, self._node)
        judging = RuleEvaluation(root_path)
        judging.run(self._root, obj, old, correlation)
        return judging.errors, judging.warnings


def _normal_path(path: str, schema: JsonObject) -> str:
    """A rule's field path as error paths are written; empty if it leads nowhere."""
    try:
        names, _ = find_field(path, schema)
    except FieldPathError:
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
    registry = DeclTypeProvider()
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
        if node.get(VALIDATIONS):
            return True
        pending.extend(_children(node))
    return False


def _children(node: JsonObject) -> Iterator[Any]:
    yield node.get("items")
    yield node.get("additionalProperties")
    yield from (node.get("properties") or {}).values()


def _node(schema: JsonObject, declared: DeclType, registry: DeclTypeProvider) -> RuleNode | None:
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
    return node if node.has_rules else None
