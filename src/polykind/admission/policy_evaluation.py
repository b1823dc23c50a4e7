"""A policy at work: its expressions, compiled, and what they decide about one write."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any, NamedTuple

from polykind.admission.conditions import IGNORE, Conditions, MatchFailure
from polykind.admission.expression import OUT_OF_BUDGET, PER_EVALUATION, Environment, composed_type
from polykind.cel import Condition, ConditionError
from polykind.cel.library.strings import trim
from polykind.cel.types import BOOL, DYN, NULL, STRING, Type
from polykind.cel.values import EvalError, Lazy
from polykind.contract import JsonObject
from polykind.gotext import go_quote
from polykind.schema.names import size

_LONGEST_MESSAGE = 5 * 1024
_TURN = 0.01
"""How many seconds of work are done before others get their turn."""


class Denial(NamedTuple):
    """Why a policy denies a write; a `reason` is one of a Status. What is `unconditional`, bindings do not soften."""

    message: str
    reason: str = ""
    unconditional: bool = False


class OutOfBudget(Exception):
    """Expressions that together cost more than they may."""


class _Result(NamedTuple):
    value: Any
    failure: str


class _Expression:
    """One expression, compiled when the policy was read."""

    __slots__ = ("_program", "_wrong", "text", "type")

    def __init__(self, text: str, environment: Environment, results: Sequence[Type]) -> None:
        self.text = text
        self._program: Condition | None = None
        self._wrong = ""
        self.type = DYN
        try:
            self._program = environment.compile(text, results)
            self.type = self._program.type
        except ConditionError as wrong:
            # It was judged when it was written: only another server can have let it pass.
            self._wrong = str(wrong)

    def made(self, name: str, scope: Scope) -> Any:
        """As a variable of that name. Raises EvalError."""
        if self._program is None:
            raise EvalError(f"composited variable {go_quote(name)} fails to compile: {self._wrong}")
        outcome = self._program.run(scope.values)
        scope.spent += outcome.cost
        if outcome.failure is not None:
            raise EvalError(f"composited variable {go_quote(name)} fails to evaluate: {outcome.failure}")
        return outcome.value

    def run(self, scope: Scope) -> _Result:
        if self._program is None:
            return _Result(None, f"compilation error: {self._wrong}")
        outcome = self._program.run(scope.values)
        scope.spend(outcome.cost)
        if outcome.failure is not None:
            return _Result(None, f"expression '{self.text}' resulted in error: {outcome.failure}")
        return _Result(outcome.value, "")


class Scope:
    """What the expressions of one round see, and what is left for them to spend. Each variable is made once."""

    __slots__ = ("left", "spent", "values")

    def __init__(self, values: Mapping[str, Any], variables: Mapping[str, _Expression], left: int) -> None:
        made = Lazy(variables, lambda name: variables[name].made(name, self))
        self.values: dict[str, Any] = {**values, "variables": made}
        self.left = left
        self.spent = 0
        """By variables, since the last expression ended."""

    def spend(self, cost: int) -> None:
        variables, self.spent = self.spent, 0
        self.left -= variables + cost
        if self.left < 0:
            raise OutOfBudget


class _Validation:
    __slots__ = ("expression", "message", "reason", "telling")

    def __init__(self, validation: JsonObject, environment: Environment, messages: Environment) -> None:
        self.expression = _Expression(validation["expression"], environment, (BOOL,))
        telling = validation.get("messageExpression")
        self.telling = _Expression(telling, messages, (STRING,)) if telling else None
        self.message = trim(validation.get("message") or "")
        self.reason = validation.get("reason") or "Invalid"

    def told(self, result: _Result | None) -> str:
        """Why it was not met: as its messageExpression says, its message, or itself."""
        if result is not None and isinstance(result.value, str):
            text = trim(result.value)
            if text and size(text) <= _LONGEST_MESSAGE and "\n" not in text:
                return text
        return self.message or f"failed expression: {trim(self.expression.text)}"


class Evaluation:
    """The expressions of one policy."""

    def __init__(self, spec: JsonObject) -> None:
        params = spec.get("paramKind") is not None
        self._ignore = spec.get("failurePolicy") == IGNORE
        composed: dict[str, Type] = {}
        environment = Environment(params=params, variables=composed)
        messages = Environment(params=params, authorizer=False, variables=composed)
        self._variables: dict[str, _Expression] = {}
        for variable in spec.get("variables") or ():
            expression = _Expression(variable["expression"], environment, ())
            composed[variable["name"]] = composed_type(expression.type)
            self._variables[variable["name"]] = expression
        self._conditions = Conditions(
            spec.get("matchConditions") or (), spec.get("failurePolicy") or "Fail", params=params
        )
        self._validations = [_Validation(one, environment, messages) for one in spec.get("validations") or ()]
        self._annotations = [
            _Expression(one["valueExpression"], environment, (STRING, NULL))
            for one in spec.get("auditAnnotations") or ()
        ]

    async def evaluate(
        self, values: Mapping[str, Any], condition_values: Mapping[str, Any], namespace: JsonObject | None
    ) -> list[Denial]:
        """What it denies. `values` are the variables, `condition_values` those of match conditions.

        Annotations of audits see the whole `namespace`; there are no audits here, but they must not fail.
        """
        try:
            if not self._conditions.match(condition_values):
                return []
            scope = Scope(values, self._variables, PER_EVALUATION)
            results = await _each([one.expression for one in self._validations], scope)
            denied = await self._judged(results, Scope(values, self._variables, scope.left))
            whole = Scope({**values, "namespaceObject": namespace}, self._variables, PER_EVALUATION)
            annotated = await _each(self._annotations, whole)
        except MatchFailure as failure:
            return self._failed(str(failure))
        except OutOfBudget:
            return self._failed(OUT_OF_BUDGET)
        if not self._ignore:
            failures = [result.failure for result in annotated if result is not None and result.failure]
            denied += [Denial(failure, unconditional=True) for failure in failures]
        return denied

    async def _judged(self, results: Sequence[_Result | None], scope: Scope) -> list[Denial]:
        beyond = ""
        try:
            messages = await _each([one.telling for one in self._validations], scope)
        except OutOfBudget:
            messages, beyond = [None] * len(results), f"failed messageExpression: {OUT_OF_BUDGET}"
        denied: list[Denial] = []
        for validation, result, message in zip(self._validations, results, messages, strict=True):
            if result is None:
                continue
            if result.failure or beyond:
                denied += self._failed(result.failure or beyond)
            elif result.value is not True:
                denied.append(Denial(validation.told(message), validation.reason))
        return denied

    def _failed(self, why: str) -> list[Denial]:
        return [] if self._ignore else [Denial(why)]


async def _each(expressions: Sequence[_Expression | None], scope: Scope) -> list[_Result | None]:
    """What each of them gives; others get their turn in between."""
    results: list[_Result | None] = []
    turn = monotonic()
    for expression in expressions:
        results.append(expression.run(scope) if expression is not None else None)
        if monotonic() - turn > _TURN:
            await asyncio.sleep(0)
            turn = monotonic()
    return results
