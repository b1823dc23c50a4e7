"""Expressions of policies at work: variables that are made once, and what may be spent on all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from polykind.admission.expression import Environment, composed_type
from polykind.cel import CompilationError, Program
from polykind.cel.activation import InterruptCheck
from polykind.cel.cel_types import DYN, Type
from polykind.cel.evaluation_errors import EvalError
from polykind.cel.runtime_values import LazyMap
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote


class OutOfBudget(Exception):
    """Expressions that together cost more than they may."""


class Result(NamedTuple):
    """What an expression gives, or why it gives nothing."""

    value: Any
    failure: str


class Expression:
    """One expression, compiled when the policy was read."""

    __slots__ = ("_program", "text", "type", "wrong")

    def __init__(self, text: str, environment: Environment, results: Sequence[Type]) -> None:
        self.text = text
        self._program: Program | None = None
        self.wrong = ""
        self.type = DYN
        try:
            self._program = environment.compile(text, results)
            self.type = self._program.type
        except CompilationError as wrong:
            # It was judged when it was written: only another server can have let it pass.
            self.wrong = str(wrong)

    def made(self, name: str, scope: Scope) -> Any:
        """As a variable of that name. Raises EvalError."""
        if self._program is None:
            raise EvalError(f"composited variable {go_quote(name)} fails to compile: {self.wrong}")
        outcome = self._program.run(scope.values, scope.check)
        scope.spent += outcome.cost
        if outcome.error is not None:
            raise EvalError(f"composited variable {go_quote(name)} fails to evaluate: {outcome.error}")
        return outcome.value

    def run(self, scope: Scope) -> Result:
        if self._program is None:
            return Result(None, f"compilation error: {self.wrong}")
        outcome = self._program.run(scope.values, scope.check)
        scope.spend(outcome.cost)
        if outcome.error is not None:
            return Result(None, f"expression '{self.text}' resulted in error: {outcome.error}")
        return Result(outcome.value, "")


class Scope:
    """What the expressions of one round see, and what is left for them to spend. Each variable is made once."""

    __slots__ = ("check", "left", "spent", "values")

    def __init__(
        self, values: Mapping[str, Any], variables: Mapping[str, Expression], left: int, check: InterruptCheck
    ) -> None:
        made = LazyMap(variables, lambda name: variables[name].made(name, self))
        self.values: dict[str, Any] = {**values, "variables": made}
        self.left = left
        self.check = check
        self.spent = 0
        """By variables, since the last expression ended."""

    def spend(self, cost: int) -> None:
        variables, self.spent = self.spent, 0
        self.left -= variables + cost
        if self.left < 0:
            raise OutOfBudget


def variables(
    listed: Iterable[JsonObject], environment: Environment, composed: dict[str, Type]
) -> dict[str, Expression]:
    """The variables of a policy by name; each is known, as `composed`, to those after it."""
    found: dict[str, Expression] = {}
    for variable in listed:
        expression = Expression(variable["expression"], environment, ())
        composed[variable["name"]] = composed_type(expression.type)
        found[variable["name"]] = expression
    return found
