"""Evaluation of the expressions of validating admission policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple

from polykind.admission.evaluation_deadline import EvaluationInterruptedError, run_with_deadline
from polykind.admission.match_conditions import IGNORE, MatchConditionError, MatchConditions
from polykind.admission.policy_expressions import (
    EvaluationScope,
    Expression,
    OutOfBudgetError,
    Result,
    compile_variables,
)
from polykind.apis.admissionregistration.cel_environment import (
    AUTHORIZER_VARIABLES,
    OUT_OF_BUDGET,
    PER_EVALUATION,
    Environment,
)
from polykind.cel.cel_types import BOOL, NULL, STRING, Type
from polykind.cel.library.strings import trim
from polykind.contract import InterruptCheck, JsonObject
from polykind.golang.utf8 import byte_length

_MAX_MESSAGE_BYTES = 5 * 1024
_MAX_ANNOTATION_BYTES = 10 * 1024


class Denial(NamedTuple):
    """A validation of a policy that denies a request, or that failed to evaluate.

    `reason` is the reason in the response's Status. If `unconditional` is true, the request is denied whatever the
    binding's validationActions are. If `ignored` is true, the failure policy is Ignore and the request is not denied.
    `seconds` is the evaluation time.
    """

    message: str
    reason: str = ""
    unconditional: bool = False
    ignored: bool = False
    seconds: float = 0.0
    validation: int = 0
    """The index of the validation in the policy."""


class PolicyResult(NamedTuple):
    """The result of a policy for one request: denials, and the keys and values of audit annotations."""

    denials: list[Denial]
    annotations: Sequence[tuple[str, str]] = ()


class _Validation:
    __slots__ = ("expression", "message", "message_expression", "reason")

    def __init__(self, validation: JsonObject, environment: Environment, messages: Environment) -> None:
        self.expression = Expression(validation["expression"], environment, (BOOL,))
        message_expression = validation.get("messageExpression")
        self.message_expression = Expression(message_expression, messages, (STRING,)) if message_expression else None
        self.message = trim(validation.get("message") or "")
        self.reason = validation.get("reason") or "Invalid"

    def failure_message(self, result: Result | None) -> str:
        """Return the message of a failed validation: `result` of messageExpression, else message, else expression."""
        if result is not None and isinstance(result.value, str):
            text = trim(result.value)
            if text and byte_length(text) <= _MAX_MESSAGE_BYTES and "\n" not in text:
                return text
        return self.message or f"failed expression: {trim(self.expression.text)}"


class Evaluation:
    """The compiled expressions of one policy."""

    def __init__(self, spec: JsonObject) -> None:
        params = spec.get("paramKind") is not None
        self._ignore = spec.get("failurePolicy") == IGNORE
        variable_types: dict[str, Type] = {}
        environment = Environment(params=params, variables=variable_types)
        messages = Environment(params=params, authorizer=False, variables=variable_types)
        self._variables = compile_variables(spec.get("variables") or (), environment, variable_types)
        self._conditions = MatchConditions(
            spec.get("matchConditions") or (), spec.get("failurePolicy") or "Fail", params=params
        )
        self._validations = [_Validation(item, environment, messages) for item in spec.get("validations") or ()]
        self._annotations = [
            (item["key"], Expression(item["valueExpression"], environment, (STRING, NULL)))
            for item in spec.get("auditAnnotations") or ()
        ]
        self.uses_authorizer = environment.uses_authorizer or self._conditions.uses_authorizer
        """True if an expression of the policy uses the variable `authorizer`."""

    async def evaluate(
        self, values: Mapping[str, Any], condition_values: Mapping[str, Any], namespace: JsonObject | None
    ) -> PolicyResult:
        """Evaluate the policy. `condition_values` are the variables of the match conditions.

        Audit annotations see all fields of `namespace`. They are always evaluated, because their errors deny the
        request.
        """
        try:
            return await run_with_deadline(lambda check: self._evaluate(values, condition_values, namespace, check))
        except (EvaluationInterruptedError, MatchConditionError) as failure:
            return PolicyResult(self._failure(str(failure)))
        except OutOfBudgetError:
            return PolicyResult(self._failure(OUT_OF_BUDGET))

    def _evaluate(
        self,
        values: Mapping[str, Any],
        condition_values: Mapping[str, Any],
        namespace: JsonObject | None,
        check: InterruptCheck,
    ) -> PolicyResult:
        if not self._conditions.evaluate(condition_values, check):
            return PolicyResult([])
        scope = EvaluationScope(values, self._variables, PER_EVALUATION, check)
        results = [_run_timed(item.expression, scope) for item in self._validations]
        # Messages and audit annotations may mention the authorizer, but its value is null, as in kube-apiserver.
        values = {**values, **dict.fromkeys(AUTHORIZER_VARIABLES)}
        denials = self._denials(results, EvaluationScope(values, self._variables, scope.remaining, check))
        annotation_scope = EvaluationScope(
            {**values, "namespaceObject": namespace}, self._variables, PER_EVALUATION, check
        )
        annotations: list[tuple[str, str]] = []
        for key, expression in self._annotations:
            result, seconds = _run_timed(expression, annotation_scope)
            if result.error:
                if not self._ignore:
                    denials.append(Denial(result.error, unconditional=True, seconds=seconds))
            elif isinstance(result.value, str) and (text := trim(result.value)):
                annotations.append((key, text.encode()[:_MAX_ANNOTATION_BYTES].decode(errors="ignore")))
        return PolicyResult(denials, annotations)

    def _denials(self, results: Sequence[tuple[Result, float]], scope: EvaluationScope) -> list[Denial]:
        budget_error = ""
        messages: list[Result | None] = [None] * len(results)
        try:
            for index, validation in enumerate(self._validations):
                messages[index] = (
                    validation.message_expression.run(scope) if validation.message_expression is not None else None
                )
        except OutOfBudgetError:
            budget_error = f"failed messageExpression: {OUT_OF_BUDGET}"
        denials: list[Denial] = []
        evaluated = zip(self._validations, results, messages, strict=True)
        for index, (validation, (result, seconds), message) in enumerate(evaluated):
            if result.error or budget_error:
                denials += self._failure(result.error or budget_error, seconds, index)
            elif result.value is not True:
                text = validation.failure_message(message)
                denials.append(Denial(text, validation.reason, seconds=seconds, validation=index))
        return denials

    def _failure(self, message: str, seconds: float = 0.0, index: int = 0) -> list[Denial]:
        return [Denial(message, ignored=self._ignore, seconds=seconds, validation=index)]


def _run_timed(expression: Expression, scope: EvaluationScope) -> tuple[Result, float]:
    started = perf_counter()
    return expression.run(scope), perf_counter() - started
