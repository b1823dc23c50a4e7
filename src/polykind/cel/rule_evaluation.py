"""One object judged by the rules of its schema: in order, within a budget, with old failures only warned of."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from polykind.cel.activation import PER_CALL_LIMIT
from polykind.cel.from_json import wrong_type_message
from polykind.cel.program import EvaluationResult
from polykind.contract import JsonObject
from polykind.errors import OMITTED, FieldError, duplicate, forbidden, invalid, required
from polykind.golang.fmt import go_quote
from polykind.schema.correlation import Correlation

if TYPE_CHECKING:
    from polykind.cel.validation_rules import Rule, RuleNode

RUNTIME_COST_BUDGET = 10_000_000
"""What all rules together may cost for one object."""
_LONGEST_MESSAGE = 5 * 1024
_OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"
_SPACE = re.compile(r"^[\s\x85\xa0]+|[\s\x85\xa0]+$")
_EXCEEDED = "operation cancelled: actual cost limit exceeded"

Path = tuple[Any, str] | None
"""Where a value lies: its parent's place and the step from there, None for the root."""


class CostBudgetError(Exception):
    """No further rule may run; why has been said."""


class Ratchet:
    """Whether a failure at a node is an old one: its value, or what holds it, did not change."""

    __slots__ = ("current", "parent")

    def __init__(self, current: Correlation | None, parent: Correlation | None) -> None:
        self.current = current
        self.parent = parent

    def value_unchanged(self) -> bool:
        known = self.current if self.current is not None else self.parent
        return known is not None and known.unchanged()

    def key(self, name: str) -> Ratchet:
        if self.current is None:
            return self
        if self.parent is None and name in ("apiVersion", "kind"):
            return _NOTHING
        return Ratchet(self.current.key(name), self.current)

    def index(self, at: int) -> Ratchet:
        return self if self.current is None else Ratchet(self.current.index(at), self.current)


_NOTHING = Ratchet(None, None)


class RuleEvaluation:
    """One validation of one object."""

    __slots__ = ("budget", "errors", "root_path", "warnings")

    def __init__(self, root_path: str) -> None:
        self.root_path = root_path
        self.errors: list[FieldError] = []
        self.warnings: list[str] = []
        self.budget = RUNTIME_COST_BUDGET

    def run(self, root: RuleNode, obj: Any, old: Any, correlation: Correlation | None) -> None:
        """Fills `errors` and `warnings`."""
        try:
            self.visit(root, obj, old, None, Ratchet(correlation, None) if correlation is not None else _NOTHING)
        except CostBudgetError:
            return

    def visit(self, node: RuleNode, value: Any, old: Any, path: Path, ratchet: Ratchet) -> None:
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

    def _visit_map(
        self, node: RuleNode, value: JsonObject, old: JsonObject | None, path: Path, ratchet: Ratchet
    ) -> None:
        before = old or {}
        if node.additional is not None:
            for key, item in value.items():
                self.visit(node.additional, item, before.get(key), (path, f"[{key}]"), ratchet.key(key))
        for key, child in node.properties.items():
            item = value.get(key)
            if item is not None:
                self.visit(child, item, before.get(key), (path, f".{key}"), ratchet.key(key))

    # ------------------------------------------------------------------ one node

    def _judge(self, node: RuleNode, value: Any, old: Any, path: Path, ratchet: Ratchet) -> None:
        if self.budget <= 0:
            self._stop(node, path, _OUT_OF_BUDGET)
        misfit = (
            ""
            if node.python_type is None or type(value) is node.python_type
            else wrong_type_message(node.schema["type"], value)
        )
        for rule in node.rules:
            if rule.compile_error:
                self._fail(node, path, f"rule compile error: {rule.compile_error}")
                continue
            program = rule.program
            if program is None or (rule.uses_old_self and old is None and not rule.optional_old_self):
                continue
            if misfit:
                self._trouble(node, path, rule, misfit)
                continue
            cost = program.cost_if_true(value, old)
            if cost is not None and cost <= PER_CALL_LIMIT and cost <= self.budget:
                self.budget -= cost
                continue
            outcome = program.run(value, old) if cost is None else EvaluationResult(None, _EXCEEDED, cost)
            if outcome.cost > self.budget:
                self._stop(node, path, _OUT_OF_BUDGET)
            self.budget -= outcome.cost
            if outcome.error is not None:
                self._trouble(node, path, rule, outcome.error)
            elif outcome.value is not True:
                self._broken(node, rule, value, old, path, ratchet)

    def _trouble(self, node: RuleNode, path: Path, rule: Rule, failure: str) -> None:
        if failure.startswith("no such overload"):
            detail = "call arguments did not match a supported operator, function or macro signature for rule"
            self._fail(node, path, f"'{failure}': {detail}: {rule.error_name}")
        elif failure == _EXCEEDED:
            detail = "no further validation rules will be run due to call cost exceeds limit for rule"
            self._stop(node, path, f"'{failure}': {detail}: {rule.error_name}")
        else:
            self._fail(node, path, f"{failure} evaluating rule: {rule.error_name}")

    def _fail(self, node: RuleNode, path: Path, detail: str) -> None:
        self.errors.append(invalid(self._shown(path), node.schema.get("type") or "", detail))

    def _stop(self, node: RuleNode, path: Path, detail: str) -> None:
        self._fail(node, path, detail)
        raise CostBudgetError

    def _broken(self, node: RuleNode, rule: Rule, value: Any, old: Any, path: Path, ratchet: Ratchet) -> None:
        at = self._shown((path, f".{rule.normalized_field_path}") if rule.normalized_field_path else path)
        keep = rule.uses_old_self or not ratchet.value_unchanged()
        detail = None
        if rule.message_program is not None:
            try:
                detail = self._message(rule, value, old if node.uses_old_self else None)
            except CostBudgetError as stopped:
                self._add(invalid(at, node.schema.get("type") or "", str(stopped)), keep)
                raise
        if detail is None:
            detail = rule.error_name if rule.raw.get("message") else f"failed rule: {rule.error_name}"
        shown = OMITTED if node.schema.get("type") in ("object", "array") else value
        self._add(_for_reason(rule.raw.get("reason"), at, shown, detail), keep)

    def _add(self, error: FieldError, keep: bool) -> None:
        if keep:
            self.errors.append(error)
        else:
            self.warnings.append(str(error))

    def _message(self, rule: Rule, value: Any, old: Any) -> str | None:
        """What a message expression says, None if it says nothing usable. Raises OutOfBudgetError."""
        program = rule.message_program
        if program is None:
            return None
        outcome = program.run(value, old)
        if outcome.cost > self.budget:
            raise CostBudgetError(
                "messageExpression evaluation failed due to running out of cost budget, "
                "no further validation rules will be run"
            )
        if outcome.error == _EXCEEDED:
            text = rule.raw["messageExpression"]
            raise CostBudgetError(
                "no further validation rules will be run due to call cost exceeds limit for messageExpression: "
                f"{go_quote(text)}"
            )
        self.budget -= outcome.cost
        if not isinstance(outcome.value, str):
            return None
        text = trimmed(outcome.value)
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


def trimmed(text: str) -> str:
    """Without space around it, as Go sees space."""
    return _SPACE.sub("", text)


def _matcher(schema: JsonObject, old: Any) -> Callable[[Any], Any]:
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


def _key_of(item: Any, keys: Sequence[str]) -> tuple[Any, ...] | None:
    if type(item) is not dict:
        return None
    found = []
    for key in keys:
        value = item.get(key)
        if type(value) not in (bool, int, float, str):
            return None
        found.append((type(value), value))
    return tuple(found)
