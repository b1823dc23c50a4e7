"""The rules of a schema at work: which hold for an object, on create and on update."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from polykind.cel import expression
from polykind.cel.declared import Declared, Registry, escape
from polykind.cel.program import Program
from polykind.cel.types import BOOL, STRING
from polykind.contract import JsonObject
from polykind.crd.field_path import PathError, find_field
from polykind.errors import OMITTED, FieldError, duplicate, forbidden, invalid, required
from polykind.gotext import go_quote
from polykind.schema.correlation import Correlation
from polykind.schema.node import Node

RULES = "x-kubernetes-validations"
BUDGET = 10_000_000
"""What all rules together may cost for one object."""
_LONGEST_MESSAGE = 5 * 1024
_OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"
_EXCEEDED = "operation cancelled: actual cost limit exceeded"
_SPACE = re.compile(r"^[\s\x85\xa0]+|[\s\x85\xa0]+$")
_NAME = "selfType1"

Path = tuple[Any, str] | None
"""Where a value lies: its parent's place and the step from there, None for the root."""


class _OutOfBudget(Exception):
    """No further rule may run; why has been said."""


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
        self._program = checked.program(declared, registry)
        if raw.get("messageExpression"):
            message = expression.check(
                raw["messageExpression"], declared, registry, optional_old=self.optional_old
            )
            if message.tree is not None and message.tree.type == STRING:
                self._message = message.program(declared, registry)
        if raw.get("fieldPath"):
            self.field = _normal_path(raw["fieldPath"], node.schema)

    @property
    def named(self) -> str:
        """The rule in the text of an error: its message, or itself."""
        return _trimmed(self.raw.get("message") or self.raw.get("rule") or "")

    @property
    def program(self) -> Program | None:
        return self._program

    @property
    def message(self) -> Program | None:
        return self._message


class RuleNode:
    """A node of a schema that has rules, or has some below it."""

    __slots__ = ("_rules", "additional", "declared", "items", "properties", "raw_rules", "registry", "schema")

    def __init__(self, schema: JsonObject, declared: Declared, registry: Registry) -> None:
        self.schema = schema
        self.declared = declared
        self.registry = registry
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
        run = _Run(root_path)
        try:
            run.visit(self._root, obj, old, None, _Ratchet(correlation, None))
        except _OutOfBudget:
            pass
        return run.errors, run.warnings


class _Ratchet:
    """Whether a failure at a node is an old one: its value, or what holds it, did not change."""

    __slots__ = ("current", "parent")

    def __init__(self, current: Correlation | None, parent: Correlation | None) -> None:
        self.current = current
        self.parent = parent

    def old_failure(self) -> bool:
        known = self.current if self.current is not None else self.parent
        return known is not None and known.unchanged()

    def key(self, name: str) -> _Ratchet:
        if self.current is None:
            return self
        if self.parent is None and name in ("apiVersion", "kind"):
            return _NOTHING
        return _Ratchet(self.current.key(name), self.current)

    def index(self, at: int) -> _Ratchet:
        return self if self.current is None else _Ratchet(self.current.index(at), self.current)


_NOTHING = _Ratchet(None, None)


class _Run:
    """One validation of one object."""

    def __init__(self, root_path: str) -> None:
        self.root_path = root_path
        self.errors: list[FieldError] = []
        self.warnings: list[str] = []
        self.budget = BUDGET

    def visit(self, node: RuleNode, value: Any, old: Any, path: Path, ratchet: _Ratchet) -> None:
        """A node's own rules, then those below. A value that is null or missing is not judged."""
        if value is None:
            return
        if node.raw_rules:
            self._judge(node, value, old, path, ratchet)
        if type(value) is dict:
            self._visit_map(node, value, old if type(old) is dict else None, path, ratchet)
        elif type(value) is list and node.items is not None:
            match = _matcher(node.schema, old)
            for index, item in enumerate(value):
                self.visit(node.items, item, match(item), (path, f"[{index}]"), ratchet.index(index))

    def _visit_map(self, node: RuleNode, value: JsonObject, old: JsonObject | None, path: Path, ratchet: _Ratchet) -> None:
        before = old or {}
        if node.additional is not None:
            for key, item in value.items():
                self.visit(node.additional, item, before.get(key), (path, f"[{key}]"), ratchet.key(key))
        for key, child in node.properties.items():
            item = value.get(key)
            if item is not None:
                self.visit(child, item, before.get(key), (path, f".{key}"), ratchet.key(key))

    # ------------------------------------------------------------------ one node

    def _judge(self, node: RuleNode, value: Any, old: Any, path: Path, ratchet: _Ratchet) -> None:
        if self.budget <= 0:
            self._stop(node, path, _OUT_OF_BUDGET)
        for rule in node.rules:
            if rule.broken:
                self._fail(node, path, f"rule compile error: {rule.broken}")
                continue
            program = rule.program
            if program is None or (rule.uses_old and old is None and not rule.optional_old):
                continue
            outcome = program.run(value, old)
            if outcome.cost > self.budget:
                self._stop(node, path, _OUT_OF_BUDGET)
            self.budget -= outcome.cost
            if outcome.failure is not None:
                self._trouble(node, path, rule, outcome.failure)
            elif outcome.value is not True:
                self._broken(node, rule, value, old, path, ratchet)

    def _trouble(self, node: RuleNode, path: Path, rule: Rule, failure: str) -> None:
        if failure.startswith("no such overload"):
            detail = "call arguments did not match a supported operator, function or macro signature for rule"
            self._fail(node, path, f"'{failure}': {detail}: {rule.named}")
        elif failure == _EXCEEDED:
            detail = "no further validation rules will be run due to call cost exceeds limit for rule"
            self._stop(node, path, f"'{failure}': {detail}: {rule.named}")
        else:
            self._fail(node, path, f"{failure} evaluating rule: {rule.named}")

    def _fail(self, node: RuleNode, path: Path, detail: str) -> None:
        self.errors.append(invalid(self._shown(path), node.schema.get("type") or "", detail))

    def _stop(self, node: RuleNode, path: Path, detail: str) -> None:
        self._fail(node, path, detail)
        raise _OutOfBudget

    def _broken(self, node: RuleNode, rule: Rule, value: Any, old: Any, path: Path, ratchet: _Ratchet) -> None:
        at = self._shown((path, f".{rule.field}") if rule.field else path)
        keep = rule.uses_old or not ratchet.old_failure()
        detail = None
        if rule.message is not None:
            try:
                detail = self._message(node, rule, value, old)
            except _OutOfBudget as stopped:
                self._add(invalid(at, node.schema.get("type") or "", str(stopped)), keep)
                raise
        if detail is None:
            message = rule.raw.get("message") or ""
            detail = _trimmed(message) if message else f"failed rule: {rule.named}"
        shown = OMITTED if node.schema.get("type") in ("object", "array") else value
        self._add(_for_reason(rule.raw.get("reason"), at, shown, detail), keep)

    def _add(self, error: FieldError, keep: bool) -> None:
        if keep:
            self.errors.append(error)
        else:
            self.warnings.append(str(error))

    def _message(self, node: RuleNode, rule: Rule, value: Any, old: Any) -> str | None:
        """What a message expression says, None if it says nothing usable. Raises _OutOfBudget."""
        program = rule.message
        if program is None:
            return None
        outcome = program.run(value, old)
        if outcome.cost > self.budget:
            raise _OutOfBudget(
                "messageExpression evaluation failed due to running out of cost budget, "
                "no further validation rules will be run"
            )
        if outcome.failure == _EXCEEDED:
            text = rule.raw["messageExpression"]
            raise _OutOfBudget(
                "no further validation rules will be run due to call cost exceeds limit for messageExpression: "
                f"{go_quote(text)}"
            )
        self.budget -= outcome.cost
        if not isinstance(outcome.value, str):
            return None
        text = _trimmed(outcome.value)
        if not text or "\n" in text or len(text.encode("utf-8", "replace")) > _LONGEST_MESSAGE:
            return None
        return text

    def _shown(self, path: Path) -> str:
        steps: list[str] = []
        while path is not None:
            path, step = path
            steps.append(step)
        text = self.root_path + "".join(reversed(steps))
        return text.removeprefix(".") or "<nil>"


def _for_reason(reason: str | None, at: str, value: Any, detail: str) -> FieldError:
    if reason == "FieldValueForbidden":
        return forbidden(at, detail)
    if reason == "FieldValueRequired":
        return required(at, detail)
    if reason == "FieldValueDuplicate":
        return duplicate(at, value)
    return invalid(at, value, detail)


def _trimmed(text: str) -> str:
    return _SPACE.sub("", text)


def _matcher(schema: JsonObject, old: Any) -> Any:
    """Finds the old item that a new one continues; only lists of type map have such."""
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    if schema.get("x-kubernetes-list-type") != "map" or not keys or not isinstance(old, list):
        return lambda item: None
    known: dict[Any, Any] = {}
    for item in old:
        key = _key_of(item, keys)
        if key is not None:
            known.setdefault(key, item)
    return lambda item: known.get(_key_of(item, keys))


def _key_of(item: Any, keys: list[str]) -> tuple[Any, ...] | None:
    if type(item) is not dict:
        return None
    found = []
    for key in keys:
        value = item.get(key)
        if type(value) not in (bool, int, float, str):
            return None
        found.append((type(value), value))
    return tuple(found)


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
        escaped = escape(name)
        if escaped is None:
            embedded = bool(child.get("x-kubernetes-embedded-resource"))
            inner = registry.declare(child, f"{_NAME}.{name}", root=embedded)
        else:
            inner = declared.fields.get(escaped) if declared.fields is not None else None
        found = _node(child, inner, registry) if inner is not None else None
        if found is not None:
            node.properties[name] = found
    return node if node.needed else None
