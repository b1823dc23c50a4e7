"""Evaluation of an object's validation rules within a cost budget, with ratcheting of unchanged values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from polykind.cel.activation import PER_CALL_LIMIT
from polykind.cel.from_json import wrong_type_message
from polykind.cel.library.strings import trim
from polykind.cel.program import EvaluationResult
from polykind.contract import InterruptCheck, JsonObject
from polykind.errors import OMITTED, FieldError, duplicate, forbidden, invalid, required
from polykind.golang.fmt import go_quote
from polykind.golang.utf8 import byte_length
from polykind.schema.correlation import Correlation

if TYPE_CHECKING:
    from polykind.cel.validation_rules import Rule, RuleNode

RUNTIME_COST_BUDGET = 10_000_000
"""Runtime cost budget for all rules of one object: kube-apiserver's RuntimeCELCostBudget."""
_MAX_MESSAGE_BYTES = 5 * 1024
_OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"

_NO_DECL_TYPE = "rule compiler initialization error: failed to convert to declType for CEL validation rules"
_EXCEEDED = "operation cancelled: actual cost limit exceeded"

Path = tuple[Any, str] | None
"""A value's path as a linked list: the parent's path and the last step. None is the root."""


class CostBudgetError(Exception):
    """The rules of an object have exhausted the cost budget. The remaining rules are not evaluated."""


class Ratchet:
    """Ratcheting (KEP-4008) for one value: a violation is only a warning if `value_unchanged` returns True.

    `current` compares the value with its old value. If it is None, `parent`, the closest parent's comparison, is used.
    """

    __slots__ = ("current", "parent")

    def __init__(self, current: Correlation | None, parent: Correlation | None) -> None:
        self.current = current
        self.parent = parent

    def value_unchanged(self) -> bool:
        correlation = self.current if self.current is not None else self.parent
        return correlation is not None and correlation.unchanged()

    def key(self, name: str) -> Ratchet:
        if self.current is None:
            return self
        if self.parent is None and name in ("apiVersion", "kind"):
            return _NO_RATCHET
        return Ratchet(self.current.key(name), self.current)

    def index(self, path_text: int) -> Ratchet:
        return self if self.current is None else Ratchet(self.current.index(path_text), self.current)


_NO_RATCHET = Ratchet(None, None)


class RuleEvaluation:
    """Evaluates the rules of a schema for one object and collects `errors` and `warnings`."""

    __slots__ = ("_check", "budget", "errors", "root_path", "warnings")

    def __init__(self, root_path: str, check: InterruptCheck | None = None) -> None:
        self._check = check
        self.root_path = root_path
        self.errors: list[FieldError] = []
        self.warnings: list[str] = []
        self.budget = RUNTIME_COST_BUDGET

    def run(self, root: RuleNode, obj: Any, old: Any, correlation: Correlation | None) -> None:
        try:
            self.visit(root, obj, old, None, Ratchet(correlation, None) if correlation is not None else _NO_RATCHET)
        except CostBudgetError:
            return

    def visit(self, node: RuleNode, value: Any, old: Any, path: Path, ratchet: Ratchet) -> None:
        """Evaluate a node's own rules and then the rules of its children. Skip a null or absent value."""
        if value is None:
            return
        if node.raw_rules:
            self._evaluate_rules(node, value, old, path, ratchet)
        if type(value) is dict:
            self._visit_map(node, value, old if type(old) is dict else None, path, ratchet)
        elif type(value) is list and node.items is not None:
            find_old = _old_item_finder(node.schema, old)
            for index, item in enumerate(value):
                self.visit(node.items, item, find_old(item), (path, f"[{index}]"), ratchet.index(index))

    def _visit_map(
        self, node: RuleNode, value: JsonObject, old: JsonObject | None, path: Path, ratchet: Ratchet
    ) -> None:
        old_items = old or {}
        if node.additional is not None:
            for key, item in value.items():
                self.visit(node.additional, item, old_items.get(key), (path, f"[{key}]"), ratchet.key(key))
        for key, child in node.properties.items():
            item = value.get(key)
            if item is not None:
                self.visit(child, item, old_items.get(key), (path, f".{key}"), ratchet.key(key))

    # ------------------------------------------------------------------ rules of one node

    def _evaluate_rules(self, node: RuleNode, value: Any, old: Any, path: Path, ratchet: Ratchet) -> None:
        if node.decl_type is None:
            self._report(node, path, _NO_DECL_TYPE)
            return
        if self.budget <= 0:
            self._abort(node, path, _OUT_OF_BUDGET)
        type_error = (
            ""
            if node.python_type is None or type(value) is node.python_type
            else wrong_type_message(node.schema["type"], value)
        )
        for rule in node.rules:
            if rule.compile_error:
                self._report(node, path, f"rule compile error: {rule.compile_error}")
                continue
            program = rule.program
            if program is None or (rule.uses_old_self and old is None and not rule.optional_old_self):
                continue
            if type_error:
                self._report_failure(node, path, rule, type_error)
                continue
            if self._check is not None:
                self._check(0)
            cost = program.cost_if_true(value, old, self._check)
            if cost is not None and cost <= PER_CALL_LIMIT and cost <= self.budget:
                self.budget -= cost
                continue
            result = program.run(value, old, self._check) if cost is None else EvaluationResult(None, _EXCEEDED, cost)
            if result.cost > self.budget:
                self._abort(node, path, _OUT_OF_BUDGET)
            self.budget -= result.cost
            if result.error is not None:
                self._report_failure(node, path, rule, result.error)
            elif result.value is not True:
                self._report_violation(node, rule, value, old, path, ratchet)

    def _report_failure(self, node: RuleNode, path: Path, rule: Rule, error: str) -> None:
        if error.startswith("no such overload"):
            detail = "call arguments did not match a supported operator, function or macro signature for rule"
            self._report(node, path, f"'{error}': {detail}: {rule.error_name}")
        elif error == _EXCEEDED:
            detail = "no further validation rules will be run due to call cost exceeds limit for rule"
            self._abort(node, path, f"'{error}': {detail}: {rule.error_name}")
        else:
            self._report(node, path, f"{error} evaluating rule: {rule.error_name}")

    def _report(self, node: RuleNode, path: Path, detail: str) -> None:
        self.errors.append(invalid(self._format_path(path), node.schema.get("type") or "", detail))

    def _abort(self, node: RuleNode, path: Path, detail: str) -> None:
        self._report(node, path, detail)
        raise CostBudgetError

    def _report_violation(self, node: RuleNode, rule: Rule, value: Any, old: Any, path: Path, ratchet: Ratchet) -> None:
        path_text = self._format_path((path, f".{rule.normalized_field_path}") if rule.normalized_field_path else path)
        keep = rule.uses_old_self or not ratchet.value_unchanged()
        detail = None
        if rule.message_program is not None:
            try:
                detail = self._message(rule, value, old if node.uses_old_self else None)
            except CostBudgetError as error:
                self._add(invalid(path_text, node.schema.get("type") or "", str(error)), keep)
                raise
        if detail is None:
            detail = rule.error_name if rule.raw.get("message") else f"failed rule: {rule.error_name}"
        reported_value = OMITTED if node.schema.get("type") in ("object", "array") else value
        self._add(_for_reason(rule.raw.get("reason"), path_text, reported_value, detail), keep)

    def _add(self, error: FieldError, keep: bool) -> None:
        if keep:
            self.errors.append(error)
        else:
            self.warnings.append(str(error))

    def _message(self, rule: Rule, value: Any, old: Any) -> str | None:
        """Evaluate a rule's message expression. Return None if the result is not a usable message.

        Raise CostBudgetError if the evaluation exhausts the cost budget.
        """
        program = rule.message_program
        if program is None:
            return None
        result = program.run(value, old, self._check)
        if result.cost > self.budget:
            raise CostBudgetError(
                "messageExpression evaluation failed due to running out of cost budget, "
                "no further validation rules will be run"
            )
        if result.error == _EXCEEDED:
            text = rule.raw["messageExpression"]
            raise CostBudgetError(
                "no further validation rules will be run due to call cost exceeds limit for messageExpression: "
                f"{go_quote(text)}"
            )
        self.budget -= result.cost
        if not isinstance(result.value, str):
            return None
        text = trim(result.value)
        if not text or "\n" in text or byte_length(text) > _MAX_MESSAGE_BYTES:
            return None
        return text

    def _format_path(self, path: Path) -> str:
        steps: list[str] = []
        while path is not None:
            path, step = path
            steps.append(step)
        text = self.root_path + "".join(reversed(steps))
        return text.removeprefix(".") or "<nil>"


def _for_reason(reason: str | None, path_text: str, value: Any, detail: str) -> FieldError:
    if reason == "FieldValueForbidden":
        return forbidden(path_text, detail)
    if reason == "FieldValueRequired":
        return required(path_text, detail)
    if reason == "FieldValueDuplicate":
        return duplicate(path_text, value)
    return invalid(path_text, value, detail)


def _old_item_finder(schema: JsonObject, old: Any) -> Callable[[Any], Any]:
    """Return a function that returns the old item with the same list map keys as a new item, or None if there is none.

    If the list type is not map, the function always returns None.
    """
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    if schema.get("x-kubernetes-list-type") != "map" or not keys or not isinstance(old, list):
        return lambda item: None
    by_key: dict[Any, Any] = {}
    for item in old:
        key = _key_of(item, keys)
        if key is not None:
            by_key.setdefault(key, item)
    return lambda item: by_key.get(_key_of(item, keys))


def _key_of(item: Any, keys: Sequence[str]) -> tuple[Any, ...] | None:
    if type(item) is not dict:
        return None
    values = []
    for key in keys:
        value = item.get(key)
        if type(value) not in (bool, int, float, str):
            return None
        values.append((type(value), value))
    return tuple(values)
