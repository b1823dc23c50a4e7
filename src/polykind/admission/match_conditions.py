"""Match conditions: CEL expressions that decide whether a webhook or policy applies to a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polykind.admission.evaluation_deadline import EvaluationInterruptedError, run_with_deadline
from polykind.apis.admissionregistration.cel_environment import OUT_OF_BUDGET, PER_MATCH, Environment
from polykind.cel import CompilationError, Program
from polykind.contract import InterruptCheck, JsonObject

IGNORE = "Ignore"


class MatchConditionError(Exception):
    """Match conditions that failed to evaluate while the failure policy is Fail."""


class MatchConditions:
    """The compiled match conditions of one webhook or policy."""

    __slots__ = ("_conditions", "_ignore", "uses_authorizer")

    def __init__(self, conditions: Sequence[JsonObject], failure_policy: str, *, params: bool = False) -> None:
        environment = Environment(params=params)
        self._conditions = [(c["expression"], _compile(environment, c["expression"])) for c in conditions]
        self.uses_authorizer = environment.uses_authorizer
        """True if a condition uses the variable `authorizer`."""
        self._ignore = failure_policy == IGNORE

    async def match(self, values: Mapping[str, Any]) -> bool:
        """True if all conditions are true. `values` holds the CEL variables except `namespaceObject`.

        A false condition means no match, even if other conditions fail. Otherwise a failure means no match if the
        failure policy is Ignore, and raises MatchConditionError if it is Fail.
        """
        try:
            return await run_with_deadline(lambda check: self.evaluate(values, check))
        except EvaluationInterruptedError as error:
            return self._fail([str(error)])

    def evaluate(self, values: Mapping[str, Any], check: InterruptCheck) -> bool:
        """Evaluate the conditions like `match`, but synchronously. `check` may raise an error to interrupt it."""
        failures: list[str] = []
        remaining = PER_MATCH
        matched = True
        for text, program in self._conditions:
            if isinstance(program, str):
                failures.append(f"compilation error: {program}")
                continue
            outcome = program.run(values, check)
            if outcome.cost > remaining:
                return self._fail([OUT_OF_BUDGET])
            remaining -= outcome.cost
            if outcome.error is not None:
                failures.append(f"expression '{text}' resulted in error: {outcome.error}")
            elif outcome.value is False:
                matched = False
        return self._fail(failures) if failures and matched else matched

    def _fail(self, failures: list[str]) -> bool:
        if self._ignore:
            return False
        texts = list(dict.fromkeys(failures))
        raise MatchConditionError(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")


def _compile(environment: Environment, text: str) -> Program | str:
    """Return the compiled expression, or the text of the compilation error."""
    try:
        return environment.compile(text)
    except CompilationError as error:
        return str(error)
