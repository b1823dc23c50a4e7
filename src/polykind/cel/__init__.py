"""CEL (Common Expression Language) with Kubernetes' extensions, for CRD validation rules and admission policies."""

from __future__ import annotations

from polykind.cel.environment import CompilationError, compile_expression
from polykind.cel.program import EvaluationResult, Program
from polykind.cel.rule_compilation import RuleCompiler
from polykind.cel.validation_rules import Rules, compile_schema

__all__ = [
    "CompilationError",
    "EvaluationResult",
    "Program",
    "RuleCompiler",
    "Rules",
    "compile_expression",
    "compile_schema",
]
