"""Validation rules (x-kubernetes-validations) of a structural schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polykind.cel import environment
from polykind.cel.cel_types import BOOL, STRING
from polykind.cel.from_json import PYTHON_TYPES
from polykind.cel.library.strings import trim
from polykind.cel.program import RuleProgram
from polykind.cel.rule_evaluation import RuleEvaluation
from polykind.cel.schema_types import DeclType, DeclTypeProvider, escape
from polykind.contract import InterruptCheck, JsonObject
from polykind.crd.field_path import FieldPathError, find_field
from polykind.errors import FieldError
from polykind.schema.correlation import Correlation
from polykind.schema.node import SchemaNode

VALIDATIONS = "x-kubernetes-validations"
_ROOT_TYPE_NAME = "selfType1"


class Rule:
    """One compiled validation rule of a schema node."""

    __slots__ = (
        "compile_error",
        "message_program",
        "node",
        "normalized_field_path",
        "optional_old_self",
        "program",
        "raw",
        "uses_old_self",
    )

    def __init__(self, raw: JsonObject, node: RuleNode) -> None:
        self.raw = raw
        self.node = node
        self.optional_old_self = bool(raw.get("optionalOldSelf"))
        self.program: RuleProgram | None = None
        self.message_program: RuleProgram | None = None
        self.compile_error = ""
        self.uses_old_self = False
        self.normalized_field_path = ""
        text = raw.get("rule") or ""
        if not text.strip():
            return
        decl_type, type_provider = node.decl_type, node.type_provider
        if decl_type is None:
            raise AssertionError("a rule without a type is not compiled")
        checked = environment.compile_rule(text, decl_type, type_provider, optional_old=self.optional_old_self)
        if checked.ast is None:
            self.compile_error = f"compilation failed: {checked.errors}"
            return
        if checked.ast.type != BOOL:
            self.compile_error = "cel expression must evaluate to a bool"
            return
        self.uses_old_self = checked.uses_old_self
        self.program = checked.program(decl_type)
        if raw.get("messageExpression"):
            message = environment.compile_rule(
                raw["messageExpression"], decl_type, type_provider, optional_old=self.optional_old_self
            )
            if message.ast is None or message.ast.type != STRING or message.instantiation_error() is not None:
                return
            self.message_program = message.message_program(decl_type)
        if raw.get("fieldPath"):
            self.normalized_field_path = _normalize_field_path(raw["fieldPath"], node.schema)

    @property
    def error_name(self) -> str:
        """The rule's name in error messages: its message if it has one, otherwise its expression."""
        return trim(self.raw.get("message") or self.raw.get("rule") or "")


class RuleNode:
    """A schema node that has rules or whose descendants have rules. The rules are compiled on first use."""

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

    def __init__(self, schema: JsonObject, decl_type: DeclType | None, type_provider: DeclTypeProvider) -> None:
        """`decl_type` is None if kube-apiserver finds no type for the node, so that none of its rules can run."""
        self.schema = schema
        self.decl_type = decl_type
        self.type_provider = type_provider
        is_int_or_string = bool(schema.get("x-kubernetes-int-or-string"))
        self.python_type = None if is_int_or_string else PYTHON_TYPES.get(schema.get("type", ""))
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
        """True if any rule of this node uses oldSelf. Only then do message expressions get a value for oldSelf."""
        return any(rule.uses_old_self for rule in self.rules)

    @property
    def has_rules(self) -> bool:
        return bool(self.raw_rules or self.items or self.additional or self.properties)


class Rules:
    """All validation rules of a structural schema."""

    def __init__(self, root: RuleNode, openapi: JsonObject) -> None:
        self._root = root
        self._openapi = openapi
        self._node: SchemaNode | None = None

    def validate(
        self,
        obj: Any,
        old: Any,
        *,
        root_path: str = "",
        ratchet: bool = True,
        check: InterruptCheck | None = None,
    ) -> tuple[list[FieldError], list[str]]:
        """Return the violations as errors and as warnings. If `ratchet` is true, violations of values that have not
        changed since `old` are warnings.

        An exception from `check` ends the evaluation.
        """
        correlation = None
        if old is not None and ratchet:
            if self._node is None:
                self._node = SchemaNode(self._openapi)
            correlation = Correlation(obj, old, self._node)
        evaluation = RuleEvaluation(root_path, check)
        evaluation.run(self._root, obj, old, correlation)
        return evaluation.errors, evaluation.warnings


def _normalize_field_path(path: str, schema: JsonObject) -> str:
    """Return a rule's fieldPath in the notation of error paths. Return an empty string if there is no such field."""
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
    """Return the rules of a structural schema. Return None if the schema has no rules.

    If `resource` is true, rules may use apiVersion, kind and the object's name. Rules are compiled on first use.
    """
    if not _has_rules(openapi):
        return None
    type_provider = DeclTypeProvider()
    decl_type = type_provider.declare(openapi, _ROOT_TYPE_NAME, root=resource)
    if decl_type is None:
        return None
    root = _build_node(openapi, decl_type, type_provider)
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


def _build_child(schema: JsonObject, parent: DeclType | None, type_provider: DeclTypeProvider) -> RuleNode | None:
    """Return the rule node for the items of a list or the values of a map. Return None if they have no rules.

    `parent` is the declared type of the list or map, or None if the declared type is no list or map.
    """
    if parent is not None and parent.elem is not None:
        return _build_node(schema, parent.elem, type_provider)
    return RuleNode(schema, None, type_provider) if schema.get(VALIDATIONS) else None


def _build_node(schema: JsonObject, decl_type: DeclType, type_provider: DeclTypeProvider) -> RuleNode | None:
    node = RuleNode(schema, decl_type, type_provider)
    items, additional = schema.get("items"), schema.get("additionalProperties")
    if isinstance(items, dict):
        is_list = decl_type.elem is not None and decl_type.type.kind == "list"
        node.items = _build_child(items, decl_type if is_list else None, type_provider)
    if isinstance(additional, dict):
        is_map = decl_type.elem is not None and decl_type.type.kind == "map"
        node.additional = _build_child(additional, decl_type if is_map else None, type_provider)
    for name, child in (schema.get("properties") or {}).items():
        if not _has_rules(child):
            continue
        inner = decl_type.fields.get(escape(name) or name) if decl_type.fields is not None else None
        built = _build_node(child, inner, type_provider) if inner is not None else None
        if built is not None:
            node.properties[name] = built
    return node if node.has_rules else None
