"""Programs: compiled expressions with a method that evaluates them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from polykind.cel.activation import FIRST_FREE_SLOT, PER_CALL_LIMIT, Closure, Frame, interrupt_slots
from polykind.cel.ast import Expr
from polykind.cel.evaluation_errors import CEL_ERRORS, NO_OVERLOAD, CostExceededError, InternalError, error_message
from polykind.cel.planner import Planner
from polykind.cel.schema_types import DeclType
from polykind.contract import InterruptCheck


class EvaluationResult(NamedTuple):
    """The value or the error message of an evaluation, and its runtime cost."""

    value: Any
    error: str | None
    cost: int


class RuleProgram:
    """A validation rule or message expression. A schema declares the types of its variables self and oldSelf."""

    __slots__ = ("_closure", "_fixed_cost", "_free_slots")

    def __init__(self, ast: Expr, decl_type: DeclType, *, optional_old: bool) -> None:
        planner = Planner({"self": decl_type, "oldSelf": decl_type}, optional_old=optional_old)
        self._closure, self._fixed_cost = planner.plan(ast)
        self._free_slots = (None,) * (planner.size - FIRST_FREE_SLOT)

    def cost_if_true(self, value: Any, old: Any, check: InterruptCheck | None = None) -> int | None:
        """Return the cost if the rule is true or exceeds the cost limit. Return None if the rule is false or fails.

        An exception from `check` ends the evaluation.
        """
        frame: Frame = [self._fixed_cost, value, old, *self._free_slots, *interrupt_slots(check)]
        try:
            return int(frame[0]) if self._closure(frame) is True or frame[0] > PER_CALL_LIMIT else None
        except (*CEL_ERRORS, InternalError, RecursionError):
            return None
        except CostExceededError:
            return max(int(frame[0]), PER_CALL_LIMIT + 1)

    def run(self, value: Any, old: Any, check: InterruptCheck | None = None) -> EvaluationResult:
        """Evaluate the expression for a JSON value. `old` is None if there is no old value.

        An exception from `check` ends the evaluation.
        """
        frame: Frame = [self._fixed_cost, value, old, *self._free_slots, *interrupt_slots(check)]
        return _evaluate(self._closure, frame)


class Program:
    """An expression over variables that hold untyped JSON, such as an admission policy's `object`."""

    __slots__ = ("_closure", "_fixed_cost", "_free_slots", "_names", "type")

    def __init__(self, ast: Expr, names: Sequence[str]) -> None:
        planner = Planner(dict.fromkeys(names), untyped=True)
        self.type = ast.type
        self._names = tuple(names)
        self._closure, self._fixed_cost = planner.plan(ast)
        self._free_slots = (None,) * (planner.size - len(names) - 1)

    def run(self, variables: Mapping[str, Any], check: InterruptCheck | None = None) -> EvaluationResult:
        """Evaluate the expression. `variables` are JSON values by name. A missing variable is null.

        An exception from `check` ends the evaluation.
        """
        values = map(variables.get, self._names)
        return _evaluate(self._closure, [self._fixed_cost, *values, *self._free_slots, *interrupt_slots(check)])


def _evaluate(run: Closure, frame: Frame) -> EvaluationResult:
    try:
        result = run(frame)
        if frame[0] > PER_CALL_LIMIT:
            raise CostExceededError
    except CEL_ERRORS as error:
        # The cost limit also applies to a failed evaluation.
        exceeded = frame[0] > PER_CALL_LIMIT
        return EvaluationResult(None, str(CostExceededError()) if exceeded else error_message(error), frame[0])
    except RecursionError:
        return EvaluationResult(None, NO_OVERLOAD, frame[0])
    except InternalError as error:
        return EvaluationResult(None, str(error), frame[0])
    except CostExceededError as error:
        return EvaluationResult(None, str(error), max(frame[0], PER_CALL_LIMIT + 1))
    return EvaluationResult(result, None, frame[0])
