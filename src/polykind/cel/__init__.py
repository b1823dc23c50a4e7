"""CEL: the rules (x-kubernetes-validations) of schemas, compiled and run; conditions over any variables."""

from __future__ import annotations

from polykind.cel.check import RuleCompiler
from polykind.cel.expression import ConditionError, condition
from polykind.cel.program import Condition, Outcome
from polykind.cel.rules import Rules, compile_schema

__all__ = ["Condition", "ConditionError", "Outcome", "RuleCompiler", "Rules", "compile_schema", "condition"]
