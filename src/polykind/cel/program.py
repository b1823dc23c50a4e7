"""Expressions ready to run: rules over a value and its old self, conditions over variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from polykind.cel.compiler import Compiler
from polykind.cel.declared import Declared
from polykind.cel.failures import FAILURES, NO_OVERLOAD, CostExceeded, InternalError, told
from polykind.cel.frame import LIMIT, SLOTS, Check, Frame, Run, tail
from polykind.cel.tree import Expr


class Program:
    """An expression ready to run."""

    __slots__ = ("_fixed", "_run", "_spare")

    def __init__(self, tree: Expr, declared: Declared, *, optional_old: bool) -> None:
        compiler = Compiler({"self": declared, "oldSelf": declared}, optional_old=optional_old)
        self._run, self._fixed = compiler.compile(tree)
        self._spare = ((None,) * (compiler.size - SLOTS)) + tail(None)

    def holds(self, value: Any, old: Any) -> int | None:
        """The cost of an evaluation that gives true, or costs more than the limit; None for all else."""
        frame: Frame = [self._fixed, value, old, *self._spare]
        try:
            return int(frame[0]) if self._run(frame) is True or frame[0] > LIMIT else None
        except (*FAILURES, InternalError, RecursionError):
            return None
        except CostExceeded:
            return max(int(frame[0]), LIMIT + 1)

    def run(self, value: Any, old: Any) -> Outcome:
        """An evaluation over JSON; `old` is None where there is no old value."""
        frame: Frame = [self._fixed, value, old, *self._spare]
        return _outcome(self._run, frame)


class Outcome(NamedTuple):
    """What came of an evaluation: a value, or why there is none."""

    value: Any
    failure: str | None
    cost: int


class Condition:
    """An expression about variables whose values are plain JSON, such as an admission policy's `object`."""

    __slots__ = ("_fixed", "_names", "_run", "_spare", "type")

    def __init__(self, tree: Expr, names: Sequence[str]) -> None:
        compiler = Compiler(dict.fromkeys(names), plain=True)
        self.type = tree.type
        self._names = tuple(names)
        self._run, self._fixed = compiler.compile(tree)
        self._spare = (None,) * (compiler.size - len(names) - 1)

    def run(self, values: Mapping[str, Any], check: Check | None = None) -> Outcome:
        """An evaluation over JSON; a variable that is not given is null.

        The `check` is called from time to time; what it raises ends the evaluation.
        """
        return _outcome(self._run, [self._fixed, *map(values.get, self._names), *self._spare, *tail(check)])


def _outcome(run: Run, frame: Frame) -> Outcome:
    try:
        result = run(frame)
        if frame[0] > LIMIT:
            raise CostExceeded
    except FAILURES as failure:
        # What fails costs as much as if it had not.
        return Outcome(None, told(failure) if frame[0] <= LIMIT else str(CostExceeded()), frame[0])
    except RecursionError:
        return Outcome(None, NO_OVERLOAD, frame[0])
    except InternalError as failure:
        return Outcome(None, str(failure), frame[0])
    except CostExceeded as failure:
        return Outcome(None, str(failure), max(frame[0], LIMIT + 1))
    return Outcome(result, None, frame[0])
