"""Match conditions: expressions that decide whether a webhook or a policy is asked at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from polykind.admission import match_rules
from polykind.admission.expression import OUT_OF_BUDGET, PER_MATCH, Environment
from polykind.admission.patience import Interrupted, patiently
from polykind.cel import CompilationError, Program
from polykind.cel.activation import InterruptCheck
from polykind.cel.cel_types import BOOL, Type
from polykind.contract import JsonObject
from polykind.errors import FieldError, internal, invalid

IGNORE = "Ignore"


class MatchFailure(Exception):
    """Conditions that could not be evaluated, of a webhook or policy that shall fail then; says why."""


def condition_problems(conditions: Sequence[JsonObject], at: str, *, params: bool = False) -> list[FieldError]:
    """What is wrong with match conditions that are written; `params`: they may name some."""
    environment = Environment(params=params)
    return match_rules.condition_problems(conditions, at, partial(compile_problems, environment))


def compile_problems(
    environment: Environment, text: str, path: str, results: Sequence[Type] = (BOOL,)
) -> list[FieldError]:
    """What is wrong with an expression that must give one of the results."""
    try:
        environment.compile(text, results)
    except CompilationError as wrong:
        return [problem(path, text, wrong)]
    return []


def problem(path: str, text: str, wrong: CompilationError) -> FieldError:
    return internal(path, str(wrong)) if wrong.internal else invalid(path, text, str(wrong))


class Conditions:
    """The match conditions of one webhook or policy, compiled."""

    __slots__ = ("_conditions", "_ignore", "asks")

    def __init__(self, conditions: Sequence[JsonObject], failure_policy: str, *, params: bool = False) -> None:
        environment = Environment(params=params)
        self._conditions = [(c["expression"], _compiled(environment, c["expression"])) for c in conditions]
        self.asks = environment.asks
        """Whether they want an authorizer among their variables."""
        self._ignore = failure_policy == IGNORE

    async def match(self, values: Mapping[str, Any]) -> bool:
        """Whether all hold; `values` are the variables, `namespaceObject` not among them.

        One that is false decides, whatever became of others; without, a failure is no match where the failure policy
        is Ignore, and else raises MatchFailure.
        """
        try:
            return await patiently(lambda check: self.matched(values, check))
        except Interrupted as failure:
            return self._failed([str(failure)])

    def matched(self, values: Mapping[str, Any], check: InterruptCheck) -> bool:
        """The same, where the `check` may end it."""
        failures: list[str] = []
        remaining = PER_MATCH
        matched = True
        for text, program in self._conditions:
            if isinstance(program, str):
                failures.append(f"compilation error: {program}")
                continue
            outcome = program.run(values, check)
            if outcome.cost > remaining:
                return self._failed([OUT_OF_BUDGET])
            remaining -= outcome.cost
            if outcome.error is not None:
                failures.append(f"expression '{text}' resulted in error: {outcome.error}")
            elif outcome.value is False:
                matched = False
        return self._failed(failures) if failures and matched else matched

    def _failed(self, failures: list[str]) -> bool:
        if self._ignore:
            return False
        texts = list(dict.fromkeys(failures))
        raise MatchFailure(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")


def _compiled(environment: Environment, text: str) -> Program | str:
    try:
        return environment.compile(text)
    except CompilationError as wrong:
        return str(wrong)
