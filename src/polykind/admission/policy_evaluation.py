"""A policy at work: its expressions, compiled, and what they decide about one write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple

from polykind.admission.authorizing import AUTHORIZER
from polykind.admission.conditions import IGNORE, Conditions, MatchFailure
from polykind.admission.expression import OUT_OF_BUDGET, PER_EVALUATION, Environment
from polykind.admission.patience import Interrupted, patiently
from polykind.admission.policy_expressions import Expression, OutOfBudget, Result, Scope, variables
from polykind.cel.activation import InterruptCheck
from polykind.cel.cel_types import BOOL, NULL, STRING, Type
from polykind.cel.library.strings import trim
from polykind.contract import JsonObject
from polykind.golang.utf8 import byte_length

_LONGEST_MESSAGE = 5 * 1024


class Denial(NamedTuple):
    """Why a policy denies a write; a `reason` is one of a Status. What is `unconditional`, bindings do not soften.

    What is `ignored` denies nothing; `seconds` is how long it took to find out.
    """

    message: str
    reason: str = ""
    unconditional: bool = False
    ignored: bool = False
    seconds: float = 0.0


class _Validation:
    __slots__ = ("expression", "message", "reason", "telling")

    def __init__(self, validation: JsonObject, environment: Environment, messages: Environment) -> None:
        self.expression = Expression(validation["expression"], environment, (BOOL,))
        telling = validation.get("messageExpression")
        self.telling = Expression(telling, messages, (STRING,)) if telling else None
        self.message = trim(validation.get("message") or "")
        self.reason = validation.get("reason") or "Invalid"

    def told(self, result: Result | None) -> str:
        """Why it was not met: as its messageExpression says, its message, or itself."""
        if result is not None and isinstance(result.value, str):
            text = trim(result.value)
            if text and byte_length(text) <= _LONGEST_MESSAGE and "\n" not in text:
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
        self._variables = variables(spec.get("variables") or (), environment, composed)
        self._conditions = Conditions(
            spec.get("matchConditions") or (), spec.get("failurePolicy") or "Fail", params=params
        )
        self._validations = [_Validation(one, environment, messages) for one in spec.get("validations") or ()]
        self._annotations = [
            Expression(one["valueExpression"], environment, (STRING, NULL))
            for one in spec.get("auditAnnotations") or ()
        ]
        self.asks = environment.asks or self._conditions.asks
        """Whether it wants an authorizer among its variables."""

    async def evaluate(
        self, values: Mapping[str, Any], condition_values: Mapping[str, Any], namespace: JsonObject | None
    ) -> list[Denial]:
        """What it denies. `values` are the variables, `condition_values` those of match conditions.

        Annotations of audits see the whole `namespace`; there are no audits here, but they must not fail.
        """
        try:
            return await patiently(lambda check: self._decided(values, condition_values, namespace, check))
        except (Interrupted, MatchFailure) as failure:
            return self._failed(str(failure))
        except OutOfBudget:
            return self._failed(OUT_OF_BUDGET)

    def _decided(
        self,
        values: Mapping[str, Any],
        condition_values: Mapping[str, Any],
        namespace: JsonObject | None,
        check: InterruptCheck,
    ) -> list[Denial]:
        if not self._conditions.matched(condition_values, check):
            return []
        scope = Scope(values, self._variables, PER_EVALUATION, check)
        results = [_timed(one.expression, scope) for one in self._validations]
        # Annotations, and the variables that messages name, may speak of an authorizer, but there is none for them.
        values = {**values, **dict.fromkeys(AUTHORIZER)}
        denied = self._judged(results, Scope(values, self._variables, scope.left, check))
        whole = Scope({**values, "namespaceObject": namespace}, self._variables, PER_EVALUATION, check)
        for annotation in self._annotations:
            result, seconds = _timed(annotation, whole)
            if result.failure and not self._ignore:
                denied.append(Denial(result.failure, unconditional=True, seconds=seconds))
        return denied

    def _judged(self, results: Sequence[tuple[Result, float]], scope: Scope) -> list[Denial]:
        beyond = ""
        messages: list[Result | None] = [None] * len(results)
        try:
            for index, validation in enumerate(self._validations):
                messages[index] = validation.telling.run(scope) if validation.telling is not None else None
        except OutOfBudget:
            beyond = f"failed messageExpression: {OUT_OF_BUDGET}"
        denied: list[Denial] = []
        for validation, (result, seconds), message in zip(self._validations, results, messages, strict=True):
            if result.failure or beyond:
                denied += self._failed(result.failure or beyond, seconds)
            elif result.value is not True:
                denied.append(Denial(validation.told(message), validation.reason, seconds=seconds))
        return denied

    def _failed(self, why: str, seconds: float = 0.0) -> list[Denial]:
        return [Denial(why, ignored=self._ignore, seconds=seconds)]


def _timed(expression: Expression, scope: Scope) -> tuple[Result, float]:
    begun = perf_counter()
    return expression.run(scope), perf_counter() - begun
