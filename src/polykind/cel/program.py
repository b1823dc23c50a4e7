"""Expressions ready to run: rules over a value and its old self, conditions over variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from polykind.cel.activation import FIRST_FREE_SLOT, PER_CALL_LIMIT, Closure, Frame, InterruptCheck, interrupt_slots
from polykind.cel.ast import Expr
from polykind.cel.evaluation_errors import CEL_ERRORS, NO_OVERLOAD, CostExceededError, InternalError, error_message
from polykind.cel.planner import Planner
from polykind.cel.schema_types import DeclType


class RuleProgram:
    """An expression ready to run."""

    __slots__ = ("_fixed", "_run", "_spare")

    def __init__(self, tree: Expr, declared: DeclType, *, optional_old: bool) -> None:
        compiler = Planner({"self": declared, "oldSelf": declared}, optional_old=optional_old)
        self._run, self._fixed = compiler.plan(tree)
        self._spare = ((None,) * (compiler.size - FIRST_FREE_SLOT)) + interrupt_slots(None)

    def holds(self, value: Any, old: Any) -> int | None:
        """The cost of an evaluation that gives true, or costs more than the limit; None for all else."""
        frame: Frame = [self._fixed, value, old, *self._spare]
        try:
            return int(frame[0]) if self._run(frame) is True or frame[0] > PER_CALL_LIMIT else None
        except (*CEL_ERRORS, InternalError, RecursionError):
            return None
        except CostExceededError:
            return max(int(frame[0]), PER_CALL_LIMIT + 1)

    def run(self, value: Any, old: Any) -> EvaluationResult:
        """An evaluation over JSON; `old` is None where there is no old value."""
        frame: Frame = [self._fixed, value, old, *self._spare]
        return _outcome(self._run, frame)


class EvaluationResult(NamedTuple):
    """What came of an evaluation: a value, or why there is none."""

    value: Any
    error: str | None
    cost: int


class Program:
    """An expression about variables whose values are plain JSON, such as an admission policy's `object`."""

    __slots__ = ("_fixed", "_names", "_run", "_spare", "type")

    def __init__(self, tree: Expr, names: Sequence[str]) -> None:
        compiler = Planner(dict.fromkeys(names), plain=True)
        self.type = tree.type
        self._names = tuple(names)
        self._run, self._fixed = compiler.plan(tree)
        self._spare = (None,) * (compiler.size - len(names) - 1)

    def run(self, values: Mapping[str, Any], check: InterruptCheck | None = None) -> EvaluationResult:
        """An evaluation over JSON; a variable that is not given is null.

        The `check` is called from time to time; what it raises ends the evaluation.
        """
        return _outcome(self._run, [self._fixed, *map(values.get, self._names), *self._spare, *interrupt_slots(check)])


def _outcome(run: Closure, frame: Frame) -> EvaluationResult:
    try:
        result = run(frame)
        if frame[0] > PER_CALL_LIMIT:
            raise CostExceededError
    except CEL_ERRORS as failure:
        # What fails costs as much as if it had not.
        return EvaluationResult(
            None, error_message(failure) if frame[0] <= PER_CALL_LIMIT else str(CostExceededError()), frame[0]
        )
    except RecursionError:
        return EvaluationResult(None, NO_OVERLOAD, frame[0])
    except InternalError as failure:
        return EvaluationResult(None, str(failure), frame[0])
    except CostExceededError as failure:
        return EvaluationResult(None, str(failure), max(frame[0], PER_CALL_LIMIT + 1))
    return EvaluationResult(result, None, frame[0])
