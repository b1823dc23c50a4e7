"""CEL: the rules (x-kubernetes-validations) of schemas, compiled and run."""

from __future__ import annotations

from polykind.cel.check import RuleCompiler
from polykind.cel.rules import Rules, compile_schema

__all__ = ["RuleCompiler", "Rules", "compile_schema"]
