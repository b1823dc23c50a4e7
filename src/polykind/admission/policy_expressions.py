"""Compiled expressions of a policy, composition variables and the shared cost budget."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from polykind.apis.admissionregistration.cel_environment import Environment, composed_type
from polykind.cel import CompilationError, Program
from polykind.cel.cel_types import DYN, Type
from polykind.cel.evaluation_errors import EvalError
from polykind.cel.runtime_values import LazyMap
from polykind.contract import InterruptCheck, JsonObject
from polykind.golang.fmt import go_quote


class OutOfBudgetError(Exception):
    """The expressions of a policy exceed their cost budget."""


class Result(NamedTuple):
    """The value of an expression, or its error."""

    value: Any
    error: str


class Expression:
    """One compiled expression."""

    __slots__ = ("_program", "compilation_error", "text", "type")

    def __init__(self, text: str, environment: Environment, results: Sequence[Type]) -> None:
        self.text = text
        self._program: Program | None = None
        self.compilation_error = ""
        self.type = DYN
        try:
            self._program = environment.compile(text, results)
            self.type = self._program.type
        except CompilationError as error:
            # The server validates expressions when it stores a policy. So only another server can have stored this one.
            self.compilation_error = str(error)

    def evaluate_variable(self, name: str, scope: EvaluationScope) -> Any:
        """Return the value of the composition variable `name`. Raise EvalError if its evaluation fails."""
        if self._program is None:
            raise EvalError(f"composited variable {go_quote(name)} fails to compile: {self.compilation_error}")
        outcome = self._program.run(scope.values, scope.check)
        scope.variables_cost += outcome.cost
        if outcome.error is not None:
            raise EvalError(f"composited variable {go_quote(name)} fails to evaluate: {outcome.error}")
        return outcome.value

    def run(self, scope: EvaluationScope) -> Result:
        if self._program is None:
            return Result(None, f"compilation error: {self.compilation_error}")
        outcome = self._program.run(scope.values, scope.check)
        scope.charge(outcome.cost)
        if outcome.error is not None:
            return Result(None, f"expression '{self.text}' resulted in error: {outcome.error}")
        return Result(outcome.value, "")


class EvaluationScope:
    """The variables and the remaining cost budget of one evaluation. It evaluates each composition variable once."""

    __slots__ = ("__weakref__", "check", "remaining", "values", "variables_cost")

    def __init__(
        self, values: Mapping[str, Any], variables: Mapping[str, Expression], remaining: int, check: InterruptCheck
    ) -> None:
        # Without a cycle of references, the objects of the request are freed without the garbage collector.
        scope = weakref.proxy(self)
        lazy_variables = LazyMap(variables, lambda name: variables[name].evaluate_variable(name, scope))
        self.values: dict[str, Any] = {**values, "variables": lazy_variables}
        self.remaining = remaining
        self.check = check
        self.variables_cost = 0
        """The cost of composition variables since the last call of `charge`."""

    def charge(self, cost: int) -> None:
        """Subtract the cost of an expression and its variables. Raise OutOfBudgetError if the budget is exceeded."""
        variables_cost, self.variables_cost = self.variables_cost, 0
        self.remaining -= variables_cost + cost
        if self.remaining < 0:
            raise OutOfBudgetError


def compile_variables(
    variables: Iterable[JsonObject], environment: Environment, variable_types: dict[str, Type]
) -> dict[str, Expression]:
    """Compile composition variables. Add each to `variable_types`, so that later expressions can use it."""
    expressions: dict[str, Expression] = {}
    for variable in variables:
        expression = Expression(variable["expression"], environment, ())
        variable_types[variable["name"]] = composed_type(expression.type)
        expressions[variable["name"]] = expression
    return expressions
